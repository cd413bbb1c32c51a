package tensor

import (
	"fmt"
	"slices"

	"ptc/ir"
)

// Coord is the coordinates of a device on the mesh axes: devices are numbered
// row-major, the last axis fastest.
func Coord(mesh []ir.MeshAxis, device int) map[string]int {
	c := make(map[string]int, len(mesh))
	for i := len(mesh) - 1; i >= 0; i-- {
		c[mesh[i].Name] = device % mesh[i].Size
		device /= mesh[i].Size
	}
	return c
}

// cut is which part of axis a the device at coord holds, of how many.
func cut(a ir.Axis, mesh []ir.MeshAxis, coord map[string]int) (part, parts int, err error) {
	parts = 1
	for _, name := range a.Mesh {
		size := 0
		for _, m := range mesh {
			if m.Name == name {
				size = m.Size
			}
		}
		if size == 0 {
			return 0, 0, fmt.Errorf("tensor: axis `%s` is sharded over `%s`, which the mesh does not have", a.Name, name)
		}
		part = part*size + coord[name]
		parts *= size
	}
	return part, parts, nil
}

// Shard is what the device at coord holds of a global tensor under the
// sharding of t, whose axes have global's names in any order; t's sizes are
// not looked at. Of a partial value, "sum" puts the value on the devices
// with coordinate 0 and zeros on others, "max" puts it on all.
func Shard(global *Tensor, t ir.Type, mesh []ir.MeshAxis, coord map[string]int) (*Tensor, error) {
	local := t.Clone()
	src := 0
	own := global.Type.Strides()
	if len(t.Axes) != len(global.Type.Axes) {
		return nil, fmt.Errorf("tensor: sharding %s as %s", global.Type, t)
	}
	for i, a := range local.Axes {
		j := global.Type.Index(a.Name)
		if j < 0 {
			return nil, fmt.Errorf("tensor: sharding %s as %s", global.Type, t)
		}
		part, parts, err := cut(a, mesh, coord)
		if err != nil {
			return nil, err
		}
		size := global.Type.Axes[j].Size
		if size%parts != 0 {
			return nil, fmt.Errorf("tensor: axis `%s` of size %d does not divide into %d parts", a.Name, size, parts)
		}
		local.Axes[i].Size = size / parts
		src += part * (size / parts) * own[j]
	}
	out := New(local)
	if slices.ContainsFunc(t.Partial, func(p ir.Partial) bool { return p.Reduce == "sum" && coord[p.Mesh] != 0 }) {
		return out, nil
	}
	CopyStrided(Sizes(local.Axes), out.Data, local.Strides(), global.Data[src:], AlignedStrides(global.Type, local.Axes))
	return out, nil
}

// Assemble is the inverse of [Shard]: the global tensor of which parts[d] is
// what device d holds, under the sharding of t. A nil part is a device that
// holds nothing. Partial values are reduced. Devices that should hold
// the same part and do not, by more than 1e-6 of its norm, are an error.
func Assemble(parts []*Tensor, t ir.Type, mesh []ir.MeshAxis) (*Tensor, error) {
	if slices.ContainsFunc(t.Partial, func(p ir.Partial) bool { return p.Reduce != t.Partial[0].Reduce }) {
		return nil, fmt.Errorf("tensor: %s is partial in two ways, whose order matters", t)
	}
	a := assembler{t: t, mesh: mesh, held: map[string]*Tensor{}}
	for d, p := range parts {
		if p == nil {
			continue
		}
		if err := a.add(p, d); err != nil {
			return nil, err
		}
	}
	if len(a.parts) == 0 {
		return nil, fmt.Errorf("tensor: no device holds any of %s", t)
	}
	return a.join()
}

type assembler struct {
	t    ir.Type
	mesh []ir.MeshAxis
	// held is the parts by position and by coordinates on the mesh axes of
	// partial values; parts has them in order of arrival.
	held  map[string]*Tensor
	parts []heldPart
}

type heldPart struct {
	at []int // part number along each axis
	n  []int // number of parts along each axis
	p  *Tensor
}

func (a *assembler) add(p *Tensor, device int) error {
	coord := Coord(a.mesh, device)
	h := heldPart{p: p}
	for _, ax := range a.t.Axes {
		at, n, err := cut(ax, a.mesh, coord)
		if err != nil {
			return err
		}
		if !p.Type.Has(ax.Name) || len(p.Type.Axes) != len(a.t.Axes) {
			return fmt.Errorf("tensor: device %d holds %s of %s", device, p.Type, a.t)
		}
		h.at, h.n = append(h.at, at), append(h.n, n)
	}
	key := fmt.Sprint(h.at)
	for _, o := range a.t.Partial {
		key += fmt.Sprintf(" %s%d", o.Mesh, coord[o.Mesh])
	}
	if other := a.held[key]; other != nil {
		if d := RelDiff(other, p); d > 1e-6 {
			return fmt.Errorf("tensor: replicas of %s differ by %.3g of their norm on device %d", a.t, d, device)
		}
		return nil
	}
	a.held[key] = p
	a.parts = append(a.parts, h)
	return nil
}

// join places the parts, the first of each position as it is and the others
// of a reduction on top.
func (a *assembler) join() (*Tensor, error) {
	g := ir.Type{DType: a.t.DType, Axes: a.t.Clone().Axes}
	want := 1
	for i := range g.Axes {
		g.Axes[i].Size = a.parts[0].p.Type.Size(g.Axes[i].Name) * a.parts[0].n[i]
		g.Axes[i].Mesh = nil
		want *= a.parts[0].n[i]
	}
	for _, o := range a.t.Partial { // every device has its share
		for _, m := range a.mesh {
			if m.Name == o.Mesh {
				want *= m.Size
			}
		}
	}
	if len(a.parts) != want {
		return nil, fmt.Errorf("tensor: %d of the %d parts of %s are missing", want-len(a.parts), want, a.t)
	}
	out := New(g)
	seen := map[string]bool{}
	for _, h := range a.parts {
		pos := fmt.Sprint(h.at)
		combine := func(_, v float64) float64 { return v }
		switch {
		case seen[pos] && a.t.Partial[0].Reduce == "max":
			combine = func(x, y float64) float64 { return max(x, y) }
		case seen[pos]:
			combine = func(x, y float64) float64 { return x + y }
		}
		if err := h.place(out, combine); err != nil {
			return nil, err
		}
		seen[pos] = true
	}
	return out, nil
}

// place combines the part with what out has in its place.
func (h heldPart) place(out *Tensor, combine func(x, y float64) float64) error {
	strides, first := out.Type.Strides(), 0
	part := make([]ir.Axis, len(out.Type.Axes))
	for i, ax := range out.Type.Axes {
		size := h.p.Type.Size(ax.Name)
		if size*h.n[i] != ax.Size {
			return fmt.Errorf("tensor: parts of axis `%s` differ in size", ax.Name)
		}
		part[i] = ir.Axis{Name: ax.Name, Size: size}
		first += h.at[i] * size * strides[i]
	}
	dst := out.Data[first:]
	Walk(Sizes(part), [][]int{strides, AlignedStrides(h.p.Type, part)}, func(at, step []int, n int) {
		for i := 0; i < n; i++ {
			d := &dst[at[0]+i*step[0]]
			*d = combine(*d, h.p.Data[at[1]+i*step[1]])
		}
	})
	return nil
}
