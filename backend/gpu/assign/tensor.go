package assign

import (
	"cmp"
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/tile"
	"ptc/internal/order"
)

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

// Tensor is a copy of a tile by one thread.
type Tensor struct {
	Maps   []int // of the kernel's, one for each argument that the buffer may be
	Axes   []int // of the view, by dimension of the tensor
	Fast   int   // the dimension of the tile that is contiguous
	Pieces int   // copies, of a span each
	Bytes  int   // of all
}

// tensor is how copy o puts a tile into memory that lies as products of warpgroups read it, or nil where
// a tensor map cannot say what it reads: positions that are looked up or not multiples of one range, strides
// that are not of 16 bytes, or ends that are not those of the tensor.
func (c *chosen) tensor(o *tile.Op, in *layout.Memory) *Tensor {
	dims := o.Result().Type.Dims
	e := int64(elementwise.Elem(o.Result().Type.DType).Bytes())
	if in.Span == 0 || o.Result().Type.DType != o.View.Buffer.DType {
		return nil
	}
	x := &Tensor{Bytes: in.Elems * int(e), Axes: []int{-1}}
	if in.Bits[1][0] == 1 {
		x.Fast = 1
	}
	m := Map{Offset: int64(o.View.Offset) * e, DType: o.View.Buffer.DType, Swizzle: in.Span,
		Sizes: []int64{0}, Box: []int64{int64(in.Span) / e}}
	x.Pieces = in.Sizes[x.Fast] / int(m.Box[0])
	placed := 0
	// Further dimensions come by how far they are apart, as devices ask for.
	for _, i := range order.By(len(o.View.Axes), func(i, j int) int { return cmp.Compare(o.View.Axes[i].Stride, o.View.Axes[j].Stride) }) {
		axis := o.View.Axes[i]
		d, ok := c.plain(o.At[i], int64(axis.Size), dims)
		if !ok || int64(axis.Size) > mostSize {
			return nil
		}
		if d >= 0 {
			placed++
		}
		switch stride := int64(axis.Stride) * e; {
		case d == x.Fast:
			if axis.Stride != 1 || x.Axes[0] >= 0 {
				return nil
			}
			x.Axes[0], m.Sizes[0] = i, int64(axis.Size)
		case axis.Size == 1 && d < 0:
		case stride <= 0 || stride%mapAligned != 0 || stride >= mostStep:
			return nil
		default:
			box := int64(1)
			if d >= 0 {
				box = int64(in.Sizes[d])
			}
			x.Axes = append(x.Axes, i)
			m.Sizes, m.Strides, m.Box = append(m.Sizes, int64(axis.Size)), append(m.Strides, stride), append(m.Box, box)
		}
	}
	args := c.args[o.View.Buffer]
	if x.Axes[0] < 0 || placed != len(dims) || len(x.Axes) > mostDims || m.Offset%mapAligned != 0 || slices.Max(m.Box) > mostBox ||
		len(c.maps.All)+len(args) > mostMaps {
		return nil
	}
	for _, m.Arg = range args {
		x.Maps = append(x.Maps, c.maps.of(m))
	}
	return x
}

// plain is which of dims an index of a view moves along, or -1, if it is one that a tensor map has: what the
// tile has beyond the end of the range is beyond the end of the tensor.
func (t *Tiles) plain(at tile.Affine, size int64, dims []*tile.Range) (int, bool) {
	d := -1
	for _, x := range at.Terms {
		if x.Value != nil || x.Range == nil {
			return 0, false
		}
		i := slices.Index(dims, x.Range)
		if i < 0 {
			continue
		}
		if d >= 0 || x.Coef != 1 {
			return 0, false
		}
		d = i
	}
	if d < 0 {
		return d, true
	}
	r := dims[d]
	exact := int64(t.Size(r)) == r.Size
	if r.Extent%r.Size == 0 && exact {
		return d, true
	}
	return d, len(at.Terms) == 1 && at.Const == 0 && r.Extent == size && (exact || r.Blocks() == 1)
}
