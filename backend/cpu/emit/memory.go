package emit

import (
	"fmt"
	"math"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"ptc/backend/kernel"
)

// place is the address of lane 0 of r, without its gather offsets.
//
// Only accesses that certainly happen may promise that it lies in the buffer.
func (fn *function) place(r kernel.Ref) value.Value {
	base, elem := fn.bufs[r.Buf], memType(r.Buf.Elem)
	at := func(p, i value.Value) value.Value {
		gep := fn.b.NewGetElementPtr(elem, p, i)
		gep.InBounds = r.Mask == nil && r.Gather == nil
		return gep
	}
	// The constant comes last: unrolled accesses then share the rest.
	if c := r.Index.Const; c != 0 && !r.Index.IsConst() && r.Mask == nil && r.Gather == nil {
		gep := fn.b.NewGetElementPtr(elem, base, fn.index(r.Index.Plus(-c)))
		return at(gep, constant.NewInt(types.I64, c))
	}
	return at(base, fn.index(r.Index))
}

// places are the addresses of all lanes of a strided or gathered access.
func (fn *function) places(r kernel.Ref, lanes int) value.Value {
	base := fn.place(r)
	elem := memType(r.Buf.Elem)
	if r.Gather == nil {
		it := types.I64
		if span := r.Stride * int64(lanes); span == int64(int32(span)) && abs(span) < math.MaxInt32/8 {
			it = types.I32
		}
		return fn.b.NewGetElementPtr(elem, base, steps(it, r.Stride, lanes))
	}
	offsets := fn.vals[r.Gather]
	if r.Stride != 1 {
		wide := like(offsets.Type(), types.I64)
		if r.Gather.Type.Elem == kernel.I32 {
			offsets = fn.b.NewSExt(offsets, wide)
		}
		offsets = fn.b.NewMul(offsets, intOf(wide, r.Stride))
	}
	return fn.b.NewGetElementPtr(elem, base, offsets)
}

func abs(n int64) int64 { return max(n, -n) }

// alignment of an element, as the masked intrinsics take it.
func alignment(e kernel.Elem) constant.Constant {
	return constant.NewInt(types.I32, int64(e.Bytes()))
}

func lowerLoad(fn *function, s *kernel.Stmt) value.Value {
	r, t := s.Ref, s.Result().Type
	raw := fn.loadRaw(r, t.Lanes)
	if r.Buf.Elem == kernel.BF16 && t.Lanes > 1 {
		fn.halves[s.Result()] = raw
	}
	return fn.widen(r.Buf.Elem, raw)
}

// loadRaw reads lanes elements as they lie in memory.
func (fn *function) loadRaw(r kernel.Ref, lanes int) value.Value {
	elem := memType(r.Buf.Elem)
	vt := vector(elem, lanes)
	zero := constant.NewZeroInitializer(vt)
	switch {
	case r.Stride == 0:
		one := kernel.Ref{Buf: r.Buf, Index: r.Index, Stride: 1}
		v := fn.splat(fn.loadRaw(one, 1), lanes)
		if r.Mask != nil {
			v = fn.b.NewSelect(fn.vals[r.Mask], v, zero)
		}
		return v
	case lanes == 1:
		return fn.loadOne(r)
	case r.Gather == nil && r.Stride == 1:
		p := fn.b.NewBitCast(fn.place(r), types.NewPointer(vt))
		if r.Mask == nil {
			load := fn.b.NewLoad(vt, p)
			load.Align = ir.Align(r.Buf.Elem.Bytes())
			return load
		}
		name := fmt.Sprintf("llvm.masked.load.%s.p0", mangle(vt))
		f := fn.m.intrinsic(name, vt, types.NewPointer(vt), types.I32, vector(types.I1, lanes), vt)
		return fn.b.NewCall(f, p, alignment(r.Buf.Elem), fn.vals[r.Mask], zero)
	}
	pt := vector(types.NewPointer(elem), lanes)
	name := fmt.Sprintf("llvm.masked.gather.%s.v%dp0", mangle(vt), lanes)
	f := fn.m.intrinsic(name, vt, pt, types.I32, vector(types.I1, lanes), vt)
	return fn.b.NewCall(f, fn.places(r, lanes), alignment(r.Buf.Elem), fn.mask(r, lanes), zero)
}

// loadOne reads a scalar: under a mask, from a branch.
func (fn *function) loadOne(r kernel.Ref) value.Value {
	elem := memType(r.Buf.Elem)
	read := func() value.Value {
		load := fn.b.NewLoad(elem, fn.scalarPlace(r))
		load.Align = ir.Align(r.Buf.Elem.Bytes())
		return load
	}
	if r.Mask == nil {
		return read()
	}
	pre := fn.b
	then, exit := fn.f.NewBlock(""), fn.f.NewBlock("")
	pre.NewCondBr(fn.vals[r.Mask], then, exit)
	fn.b = then
	v := read()
	fn.b.NewBr(exit)
	fn.b = exit
	return exit.NewPhi(ir.NewIncoming(constant.NewZeroInitializer(elem), pre), ir.NewIncoming(v, then))
}

// scalarPlace is the address of the only lane of r.
func (fn *function) scalarPlace(r kernel.Ref) value.Value {
	p := fn.place(r)
	if r.Gather == nil {
		return p
	}
	off := fn.vals[r.Gather]
	if r.Gather.Type.Elem == kernel.I32 {
		off = fn.b.NewSExt(off, types.I64)
	}
	return fn.b.NewGetElementPtr(memType(r.Buf.Elem), p, fn.b.NewMul(off, constant.NewInt(types.I64, r.Stride)))
}

// mask is r's, or all lanes.
func (fn *function) mask(r kernel.Ref, lanes int) value.Value {
	if r.Mask != nil {
		return fn.vals[r.Mask]
	}
	return splatOf(vector(types.I1, lanes), constant.NewBool(true))
}

// lowerPrefetch asks for a line in L2: the nearest cache has what is in use.
func lowerPrefetch(fn *function, s *kernel.Stmt) value.Value {
	p := fn.b.NewBitCast(fn.place(s.Ref), types.I8Ptr)
	f := fn.m.intrinsic("llvm.prefetch.p0", types.Void, types.I8Ptr, types.I32, types.I32, types.I32)
	const read, second, data = 0, 2, 1
	fn.b.NewCall(f, p, constant.NewInt(types.I32, read), constant.NewInt(types.I32, second), constant.NewInt(types.I32, data))
	return nil
}

func lowerStore(fn *function, s *kernel.Stmt) value.Value {
	r, lanes := s.Ref, s.Args[0].Type.Lanes
	v := fn.narrow(r.Buf.Elem, fn.vals[s.Args[0]])
	vt := v.Type()
	switch {
	case lanes == 1:
		fn.storeOne(r, v)
	case r.Gather == nil && r.Stride == 1:
		p := fn.b.NewBitCast(fn.place(r), types.NewPointer(vt))
		if r.Mask == nil {
			store := fn.b.NewStore(v, p)
			store.Align = ir.Align(r.Buf.Elem.Bytes())
			return nil
		}
		name := fmt.Sprintf("llvm.masked.store.%s.p0", mangle(vt))
		f := fn.m.intrinsic(name, types.Void, vt, types.NewPointer(vt), types.I32, vector(types.I1, lanes))
		fn.b.NewCall(f, v, p, alignment(r.Buf.Elem), fn.vals[r.Mask])
	default:
		pt := vector(types.NewPointer(memType(r.Buf.Elem)), lanes)
		name := fmt.Sprintf("llvm.masked.scatter.%s.v%dp0", mangle(vt), lanes)
		f := fn.m.intrinsic(name, types.Void, vt, pt, types.I32, vector(types.I1, lanes))
		fn.b.NewCall(f, v, fn.places(r, lanes), alignment(r.Buf.Elem), fn.mask(r, lanes))
	}
	return nil
}

func (fn *function) storeOne(r kernel.Ref, v value.Value) {
	var exit *ir.Block
	if r.Mask != nil {
		then := fn.f.NewBlock("")
		exit = fn.f.NewBlock("")
		fn.b.NewCondBr(fn.vals[r.Mask], then, exit)
		fn.b = then
	}
	store := fn.b.NewStore(v, fn.scalarPlace(r))
	store.Align = ir.Align(r.Buf.Elem.Bytes())
	if exit != nil {
		fn.b.NewBr(exit)
		fn.b = exit
	}
}
