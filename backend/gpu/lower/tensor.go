package lower

import (
	"cmp"
	"fmt"
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
	"ptc/ir"
)

// Map says how tiles of an argument are copied as those of a tensor. A kernel has its maps as arguments behind
// those of its buffers. Dimension 0 is the contiguous one.
type Map struct {
	Arg     int
	Offset  int64 // bytes, from the beginning of the argument
	DType   ir.DType
	Sizes   []int64 // elements
	Strides []int64 // bytes from one to the next, from dimension 1 on
	Box     []int64 // elements of a tile
	Swizzle int     // bytes of a row of the tile, whose pieces of 16 are exchanged
}

func (m *Map) equal(o *Map) bool {
	return m.Arg == o.Arg && m.Offset == o.Offset && m.DType == o.DType && m.Swizzle == o.Swizzle &&
		slices.Equal(m.Sizes, o.Sizes) && slices.Equal(m.Strides, o.Strides) && slices.Equal(m.Box, o.Box)
}

const (
	// mostMaps is how many maps a kernel may have: of the 4096 bytes of its arguments, others need some.
	mostMaps = 20
	mostDims = 5
	mostBox  = 256
	mostSize = 1 << 32
	mostStep = 1 << 40
	// mapAligned is what addresses and strides of a tensor that is copied are multiples of, in bytes.
	mapAligned = 16
)

// mapList is the maps of a kernel so far.
type mapList struct {
	all   []Map
	names []thread.Map
}

// of is the argument that m is.
func (x *mapList) of(b *thread.Builder, m Map) thread.Map {
	for i := range x.all {
		if x.all[i].equal(&m) {
			return x.names[i]
		}
	}
	x.all = append(x.all, m)
	x.names = append(x.names, b.ParamMap(fmt.Sprintf("m%d", len(x.all)-1)))
	return x.names[len(x.names)-1]
}

// source is which of the kernel's arguments a buffer is: the first, or the n-th of the others where its condition holds and
// none behind it does.
type source struct {
	args  []int
	conds []*thread.Value // of args[1:]
}

// tiling is a copy of a tile by one thread.
type tiling struct {
	m      thread.Map
	axes   []int // of the view, by dimension of the tensor
	fast   int   // the dimension of the tile that is contiguous
	pieces int   // copies, of a span each
	bytes  int   // of all
}

// tensor is how copy o puts a tile into memory that lies as products of warpgroups read it, or nil where
// a tensor map cannot say what it reads: positions that are looked up or not multiples of one range, strides
// that are not of 16 bytes, or ends that are not those of the tensor.
func (l *lowering) tensor(o *tile.Op, in *layout.Memory) *tiling {
	dims := o.Result().Type.Dims
	e := int64(elementwise.Elem(o.Result().Type.DType).Bytes())
	if in.Span == 0 || l.maps == nil || o.Result().Type.DType != o.View.Buffer.DType {
		return nil
	}
	x := &tiling{bytes: in.Elems * int(e), axes: []int{-1}}
	if in.Bits[1][0] == 1 {
		x.fast = 1
	}
	m := Map{Offset: int64(o.View.Offset) * e, DType: o.View.Buffer.DType, Swizzle: in.Span,
		Sizes: []int64{0}, Box: []int64{int64(in.Span) / e}}
	x.pieces = in.Sizes[x.fast] / int(m.Box[0])
	placed := 0
	// Further dimensions come by how far they are apart, as devices ask for.
	order := make([]int, len(o.View.Axes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(o.View.Axes[i].Stride, o.View.Axes[j].Stride) })
	for _, i := range order {
		a := o.View.Axes[i]
		d, ok := l.plain(o.At[i], int64(a.Size), dims)
		if !ok || int64(a.Size) > mostSize {
			return nil
		}
		if d >= 0 {
			placed++
		}
		switch stride := int64(a.Stride) * e; {
		case d == x.fast:
			if a.Stride != 1 || x.axes[0] >= 0 {
				return nil
			}
			x.axes[0], m.Sizes[0] = i, int64(a.Size)
		case a.Size == 1 && d < 0:
		case stride <= 0 || stride%mapAligned != 0 || stride >= mostStep:
			return nil
		default:
			box := int64(1)
			if d >= 0 {
				box = int64(in.Sizes[d])
			}
			x.axes = append(x.axes, i)
			m.Sizes, m.Strides, m.Box = append(m.Sizes, int64(a.Size)), append(m.Strides, stride), append(m.Box, box)
		}
	}
	if x.axes[0] < 0 || placed != len(dims) || len(x.axes) > mostDims || m.Offset%mapAligned != 0 || slices.Max(m.Box) > mostBox {
		return nil
	}
	return l.mapped(x, m, l.from[o.View.Buffer])
}

// mapped is x with the argument that m is, for each of the buffers that s may be.
func (l *lowering) mapped(x *tiling, m Map, s source) *tiling {
	if len(l.maps.all)+len(s.args) > mostMaps {
		return nil
	}
	for i, a := range s.args {
		m.Arg = a
		if of := l.maps.of(l.b, m); i == 0 {
			x.m = of
		} else {
			x.m = x.m.Or(s.conds[i-1], of)
		}
	}
	return x
}

// plain is which of dims an index of a view moves along, or -1, if it is one that a tensor map has: what the
// tile has beyond the end of the range is beyond the end of the tensor.
func (l *lowering) plain(at tile.Affine, size int64, dims []*tile.Range) (int, bool) {
	d := -1
	for _, t := range at.Terms {
		if t.Value != nil || t.Range == nil {
			return 0, false
		}
		i := slices.Index(dims, t.Range)
		if i < 0 {
			continue
		}
		if d >= 0 || t.Coef != 1 {
			return 0, false
		}
		d = i
	}
	if d < 0 {
		return d, true
	}
	r := dims[d]
	exact := int64(l.size(r)) == r.Size
	if r.Extent%r.Size == 0 && exact {
		return d, true
	}
	return d, len(at.Terms) == 1 && at.Const == 0 && r.Extent == size && (exact || r.Blocks() == 1)
}

// position is the index of a view's axis at the first positions of the present blocks.
func (l *lowering) position(at tile.Affine) *thread.Value {
	sum := l.i32(at.Const)
	for _, t := range at.Terms {
		sum = l.b.Add(sum, l.b.Mul(l.first[t.Range], l.i32(t.Coef)))
	}
	return sum
}

// lead holds for the thread that starts the copies of tiles.
func (l *lowering) lead() *thread.Value { return l.b.Eq(l.b.Special(thread.Thread), l.i32(0)) }

// tiles starts the copies of the present block into a slot, for which its barrier waits, by the thread for which lead
// holds; nil is the only one here.
func (x *pipeline) tiles(slot, lead *thread.Value) {
	if len(x.tensors) == 0 {
		return
	}
	full, bytes := x.barrier(slot), 0
	for _, o := range x.tensors {
		bytes += o.tensor.bytes
	}
	x.b.Expect(full, bytes, lead)
	for _, o := range x.tensors {
		t := o.tensor
		at := make([]*thread.Value, len(t.axes))
		for i, a := range t.axes {
			at[i] = x.position(o.v.Def.At[a])
		}
		first := at[0]
		to := x.slot(o, slot).mem
		each := o.in.Elems / t.pieces
		for p := range t.pieces {
			at[0] = x.b.Add(first, x.i32(int64(p*o.in.Sizes[t.fast]/t.pieces)))
			x.b.CopyTensor(to.Plus(int64(p*each)), t.m, at, full, lead)
		}
	}
}

// barrier is that of a slot.
func (x *pipeline) barrier(slot *thread.Value) thread.Shared {
	if x.stages == 1 {
		return x.full
	}
	return x.b.Within(x.full, slot)
}

// begin makes the barriers of the slots.
func (x *pipeline) begin() {
	if len(x.tensors) == 0 {
		return
	}
	lead := x.lead()
	for i := range x.stages {
		x.b.InitBarrier(x.full.Plus(int64(i)), 1, lead)
	}
	x.b.FenceBarriers()
}

// end has barriers made anew where the loop runs again.
func (x *pipeline) end() {
	if len(x.tensors) == 0 || x.depth == 0 {
		return
	}
	x.b.Sync() // no thread waits any more
	for i := range x.stages {
		x.b.EndBarrier(x.full.Plus(int64(i)), x.lead())
	}
}
