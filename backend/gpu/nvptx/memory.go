package nvptx

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// memory is global and shared memory.
type memory struct {
	*arithmetic
	shared   int // bytes of dynamic shared memory so far
	overlaid int // and of what ended
}

// global is the operand of an access at p, and local of one at s.
func (b *memory) global(p thread.Pointer) ptx.Operand { return ptx.At(b.operand(p.Base).Reg, p.Plus) }
func (b *memory) local(s thread.Shared) ptx.Operand   { return ptx.At(b.operand(s.Base).Reg, s.Offset) }

func (b *memory) Param(name string, e kernel.Elem) thread.Pointer {
	b.out.Params = append(b.out.Params, ptx.Param{Name: name})
	at := b.pure(ptx.B64, "ld.param.u64", ptx.AtSym(name, 0))
	return thread.Pointer{Elem: e, Base: b.value(kernel.I64, b.pure(ptx.B64, "cvta.to.global.u64", at))}
}

func (b *memory) At(p thread.Pointer, x kernel.Index) thread.Pointer {
	size := int64(p.Elem.Bytes())
	p.Plus += x.Const * size
	x.Const = 0
	if !x.IsConst() {
		p.Base = b.value(kernel.I64, b.sum(kernel.I64, b.operand(p.Base), b.product(kernel.I64, b.index(x), ptx.Imm(size))))
	}
	return p
}

func (b *memory) Choose(cond *thread.Value, p, q thread.Pointer) thread.Pointer {
	if p.Plus != 0 || q.Plus != 0 {
		b.Fail(fmt.Errorf("a choice of pointers into arrays"))
	}
	p.Base = b.value(kernel.I64, b.pure(ptx.B64, "selp.b64", b.operand(p.Base), b.operand(q.Base), b.operand(cond)))
	return p
}

func (b *memory) Overlay(body func()) {
	from := b.shared
	body()
	b.overlaid = max(b.overlaid, b.shared)
	b.shared = from
}

func (b *memory) UsesShared() bool { return b.shared > 0 || b.overlaid > 0 }

func (b *memory) NewShared(e kernel.Elem, n int, align int) thread.Shared {
	b.shared = (b.shared + align - 1) / align * align
	s := thread.Shared{Elem: e, Base: b.value(kernel.I32, b.pure(ptx.B32, "mov.u32", ptx.Sym(ptx.DynamicName))), Offset: int64(b.shared)}
	b.shared += n * e.Bytes()
	return s
}

func (b *memory) Within(s thread.Shared, x *thread.Value) thread.Shared {
	o := b.product(kernel.I32, b.operand(x), ptx.Imm(int64(s.Elem.Bytes())))
	if isInt(o) {
		s.Offset += o.Imm
	} else {
		s.Base = b.value(kernel.I32, b.sum(kernel.I32, b.operand(s.Base), o))
	}
	return s
}

func (b *memory) LoadGlobal(p thread.Pointer, a thread.Access) []*thread.Value {
	return b.load("ld.global", p.Elem, b.global(p), a)
}

func (b *memory) LoadShared(s thread.Shared, a thread.Access) []*thread.Value {
	return b.load("ld.shared", s.Elem, b.local(s), a)
}

func (b *memory) StoreGlobal(p thread.Pointer, a thread.Access, vs []*thread.Value) {
	b.store("st.global", p.Elem, b.global(p), a, vs)
}

func (b *memory) StoreShared(s thread.Shared, a thread.Access, vs []*thread.Value) {
	b.store("st.shared", s.Elem, b.local(s), a, vs)
}

// words is how n elements e are moved: so many registers of a class, each of which has several.
func words(e kernel.Elem, n int) (count, each int, c ptx.Class, typ string) {
	bytes := e.Bytes() * n
	switch {
	case e.Bytes() == 8:
		return n, 1, ptx.B64, "b64"
	case e.Bytes() < 4 && bytes < 4:
		if bytes == 1 {
			return 1, 1, ptx.B16, "u8"
		}
		return n * e.Bytes() / 2, 2 / e.Bytes(), ptx.B16, "b16"
	}
	return bytes / 4, 4 / e.Bytes(), ptx.B32, "b32"
}

func (b *memory) load(name string, e kernel.Elem, at ptx.Operand, a thread.Access) []*thread.Value {
	n := max(1, a.N)
	count, each, c, typ := words(e, n)
	if n*e.Bytes() > 16 || count > 4 || count == 3 {
		b.Fail(fmt.Errorf("a load of %d %s", n, e))
		return nil
	}
	regs := make([]ptx.Operand, count)
	for i := range regs {
		regs[i] = ptx.R(b.reg(c))
		if a.If != nil {
			b.op(moves[c], regs[i], ptx.Imm(0))
		}
	}
	to := regs[0]
	if count > 1 {
		name += fmt.Sprintf(".v%d", count)
		to = ptx.Vec(regs...)
	}
	b.guarded(a.If, name+"."+typ, to, at)
	var out []*thread.Value
	for _, r := range regs {
		out = append(out, b.unpack(e, r, each)...)
	}
	return out
}

// unpack is the elements of a register, as arithmetic has them.
func (b *memory) unpack(e kernel.Elem, r ptx.Operand, each int) []*thread.Value {
	half := halfName(e)
	switch {
	case e.DType().IsScaled():
		return b.widenFloat8s(e, r, each)
	case e == kernel.BF16 && each == 2: // a shift and a mask, where moves of halves are two instructions
		return []*thread.Value{b.value(kernel.F32, b.pure(ptx.B32, "shl.b32", r, ptx.Imm(16))),
			b.value(kernel.F32, b.pure(ptx.B32, "and.b32", r, ptx.Imm(-65536)))}
	case e.IsNarrow() && each == 2:
		low, high := ptx.R(b.reg(ptx.B16)), ptx.R(b.reg(ptx.B16))
		b.op("mov.b32", ptx.Vec(low, high), r)
		return []*thread.Value{b.value(kernel.F32, b.widen(half, low)), b.value(kernel.F32, b.widen(half, high))}
	case e.IsNarrow():
		return []*thread.Value{b.value(kernel.F32, b.widen(half, r))}
	case e.Bytes() == 1: // truth values
		var out []*thread.Value
		wide := r
		if r.Reg.Class == ptx.B16 {
			wide = b.pure(ptx.B32, "cvt.u32.u16", r)
		}
		for i := range each {
			x := b.pure(ptx.B32, "and.b32", wide, ptx.Imm(0xff<<(8*i)))
			out = append(out, b.value(kernel.I1, b.pure(ptx.Pred, "setp.ne.u32", x, ptx.Imm(0))))
		}
		return out
	}
	return []*thread.Value{b.value(e.Register(), r)}
}

func (b *memory) store(name string, e kernel.Elem, at ptx.Operand, a thread.Access, vs []*thread.Value) {
	count, each, c, typ := words(e, len(vs))
	if len(vs)*e.Bytes() > 16 || count > 4 || count == 3 || len(vs) == 0 {
		b.Fail(fmt.Errorf("a store of %d %s", len(vs), e))
		return
	}
	regs := make([]ptx.Operand, count)
	for i := range regs {
		regs[i] = b.pack(e, c, vs[i*each:(i+1)*each])
	}
	from := regs[0]
	if count > 1 {
		name += fmt.Sprintf(".v%d", count)
		from = ptx.Vec(regs...)
	}
	b.guarded(a.If, name+"."+typ, at, from)
}

// pack is elements in one register, as memory has them.
func (b *memory) pack(e kernel.Elem, c ptx.Class, vs []*thread.Value) ptx.Operand {
	half := halfName(e)
	switch {
	case e.DType().IsScaled():
		return b.narrowFloat8s(e, c, vs)
	case e.IsNarrow() && len(vs) == 2:
		return b.pure(ptx.B32, "cvt.rn."+half+"x2.f32", b.inReg(vs[1]), b.inReg(vs[0]))
	case e.IsNarrow():
		return b.pure(ptx.B16, "cvt.rn."+half+".f32", b.inReg(vs[0]))
	case e.Bytes() == 1:
		sum := ptx.Imm(0)
		for i, v := range vs {
			bit := b.pure(ptx.B32, "selp.b32", ptx.Imm(1<<(8*i)), ptx.Imm(0), b.operand(v))
			if i == 0 {
				sum = bit
			} else {
				sum = b.pure(ptx.B32, "or.b32", sum, bit)
			}
		}
		if c == ptx.B16 {
			return b.pure(ptx.B16, "cvt.u16.u32", sum)
		}
		return sum
	}
	return b.inReg(vs[0])
}
