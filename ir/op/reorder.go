package op

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir"
)

// Reorders reports whether o is a permute that brings its operand into another
// sharding of shards of the same size, its attribute `mesh`: each device gets the
// shard that is its own there. The tensor stays the same.
func Reorders(o *ir.Op) bool { return o.Name == "permute" && o.Attrs.Has("mesh") }

// Reordering is the attribute `mesh` of the permute into the sharding of t, and
// the mesh axes among which it exchanges shards, in the order of mesh: those of
// each axis from the first one on in which from and t differ.
func Reordering(mesh []ir.MeshAxis, from, t ir.Type) (pairs ir.Pairs, over ir.Names) {
	moved := moved(from, t)
	for _, a := range t.Axes {
		for _, m := range a.Mesh {
			pairs = append(pairs, ir.Pair{From: a.Name, To: m})
		}
	}
	for _, m := range mesh {
		if slices.Contains(moved, m.Name) {
			over = append(over, m.Name)
		}
	}
	return pairs, over
}

// moved are the mesh axes behind the ones that both shardings of an axis begin
// with alike.
func moved(from, t ir.Type) (out []string) {
	for i, a := range from.Axes {
		b, k := t.Axes[i], 0
		for k < len(a.Mesh) && k < len(b.Mesh) && a.Mesh[k] == b.Mesh[k] {
			k++
		}
		out = append(append(out, a.Mesh[k:]...), b.Mesh[k:]...)
	}
	return out
}

// resharded is t sharded as pairs of axes and mesh axes say, with shards of the
// same size.
func resharded(t ir.Type, pairs ir.Pairs) (ir.Type, error) {
	c := t.Clone()
	for i := range c.Axes {
		c.Axes[i].Mesh = nil
	}
	var all []string
	for _, p := range pairs {
		i := c.Index(p.From)
		if i < 0 {
			return t, unknownAxis(p.From, t)
		}
		c.Axes[i].Mesh = append(c.Axes[i].Mesh, p.To)
		all = append(all, p.To)
	}
	if m := repeated(all); m != "" {
		return t, &ShapeError{Msg: fmt.Sprintf("mesh axis `%s` shards twice", m)}
	}
	return c, nil
}

// reordersOver: the group has all devices that exchange shards, and the sum that
// the operand is a part of, if it is, is not over them.
func reordersOver(t ir.Type, o *ir.Op) error {
	to, err := resharded(t, o.Attrs.Pairs("mesh"))
	if err != nil {
		return err
	}
	over := o.Attrs.Names("over")
	for _, m := range moved(t, to) {
		if !slices.Contains(over, m) {
			return &ShapeError{Msg: fmt.Sprintf("`permute` over %s of %s to %s", strings.Join(over, ", "), t, to), Want: fmt.Sprintf("`%s` among them", m)}
		}
	}
	for _, p := range t.Partial {
		if slices.Contains(over, p.Mesh) {
			return &ShapeError{Msg: fmt.Sprintf("the operand, %s, is partial over `%s`", t, p.Mesh)}
		}
	}
	return nil
}

// Sources are the devices of o, a permute, that each one of its group receives
// from, -1 where from none. Where it [Reorders], a device that has its shard
// already keeps it, and each of the others gets it from a device of its own, in
// the order of the group: all shards have as many holders before as after.
func Sources(o *ir.Op, parts func(mesh string) int) ([]int64, error) {
	if !Reorders(o) {
		return o.Attrs.Ints("sources"), nil
	}
	over := o.Attrs.Names("over")
	from, to := o.Args[0].Type, o.Result().Type
	n := 1
	for _, m := range over {
		n *= parts(m)
	}
	holders, sources := map[string][]int{}, make([]int64, n)
	var seekers []int
	for i := range sources {
		has, needs := shardOf(from, over, parts, i), shardOf(to, over, parts, i)
		sources[i] = int64(i)
		if has != needs {
			holders[has] = append(holders[has], i)
			seekers = append(seekers, i)
		}
	}
	for _, i := range seekers {
		needs := shardOf(to, over, parts, i)
		if len(holders[needs]) == 0 {
			return nil, fmt.Errorf("op: permute of %s to %s: no device of the group has the shard of device %d", from, to, i)
		}
		sources[i] = int64(holders[needs][0])
		holders[needs] = holders[needs][1:]
	}
	return sources, nil
}

// shardOf says which shard of t, along each axis, device i of the group over
// these mesh axes has, among those that the group has.
func shardOf(t ir.Type, over []string, parts func(string) int, i int) string {
	at := map[string]int{}
	for k := len(over) - 1; k >= 0; k-- {
		at[over[k]] = i % parts(over[k])
		i /= parts(over[k])
	}
	var b strings.Builder
	for _, a := range t.Axes {
		shard := 0
		for _, m := range a.Mesh {
			if slices.Contains(over, m) {
				shard = shard*parts(m) + at[m]
			}
		}
		fmt.Fprintf(&b, "%d ", shard)
	}
	return b.String()
}
