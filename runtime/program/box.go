package program

import "ptc/internal/dtype"

// Coordinates is the place of a rank in the mesh, one number for each axis.
// Ranks are row-major, the last axis fastest.
func (p *Plan) Coordinates(rank int) []int {
	at := make([]int, len(p.Mesh))
	for i := len(p.Mesh) - 1; i >= 0; i-- {
		at[i] = rank % p.Mesh[i].Size
		rank /= p.Mesh[i].Size
	}
	return at
}

// Ranks is the number of logical devices: the product of the mesh's sizes, 1
// without a mesh.
func (p *Plan) Ranks() int {
	n := 1
	for _, a := range p.Mesh {
		n *= a.Size
	}
	return n
}

// Box is the part [lo, hi) of the whole tensor with these axes that a rank
// holds. An axis sharded over several mesh axes is cut by the first of them,
// each part by the second, and so on.
func (p *Plan) Box(rank int, axes []Axis) (lo, hi []int) {
	at := p.Coordinates(rank)
	lo, hi = make([]int, len(axes)), make([]int, len(axes))
	for i, a := range axes {
		part := 0
		for _, name := range a.Mesh {
			for j, m := range p.Mesh {
				if m.Name == name {
					part = part*m.Size + at[j]
				}
			}
		}
		lo[i] = part * a.Size
		hi[i] = lo[i] + a.Size
	}
	return lo, hi
}

// Elems is the number of elements that the device holds of a tensor with these
// axes.
func Elems(axes []Axis) int {
	n := 1
	for _, a := range axes {
		n *= a.Size
	}
	return n
}

// Size is the number of bytes of the buffer's elements, and of what pads their rows.
func (b *Buffer) Size() int64 {
	n := Elems(b.Axes)
	if last := len(b.Axes) - 1; b.Pad > 0 && last >= 0 {
		n = n / b.Axes[last].Size * (b.Axes[last].Size + b.Pad)
	}
	return int64(n * DTypeSize(b.DType))
}

// DTypeSize is the number of bytes of one element, or 0 for an unknown dtype.
func DTypeSize(name string) int {
	d, _ := dtype.Parse(name)
	return d.Size()
}
