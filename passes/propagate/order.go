package propagate

import (
	"slices"

	"ptc/ir"
	"ptc/passes/propagate/factor"
)

// order is the mesh axes in the order in which an axis is sharded over several of
// them, major first: as the mesh lists them, but
//
//   - what two axes of tensors share comes last, so that it moves from the one to
//     the other by an exchange: of `shard batch over (dp, ep)` and `shard experts
//     over dp`, dp is minor;
//   - then as the rules list them: `shard batch over (ep, dp)` has ep major;
//   - what `zero` shards over is minor to what other rules do, so that the shards of
//     a tensor's shard are gathered and scattered where they are: of `zero 1 over
//     dp` and `shard ffn over tp`, w[ffn=64@tp@dp] is gathered over dp alone.
//
// Of wishes that contradict one another, the first ones count. One order serves
// all tensors, so that shards of the same axis are the same everywhere.
func order(mesh []ir.MeshAxis, lists map[string][]string, axes, zero []string) factor.Mesh {
	before := map[string][]string{} // what must come before a mesh axis
	var comes func(a, b string) bool
	comes = func(a, b string) bool {
		return a == b || slices.ContainsFunc(before[b], func(m string) bool { return comes(a, m) })
	}
	want := func(a, b string) {
		if !comes(b, a) {
			before[b] = append(before[b], a)
		}
	}
	for _, x := range axes {
		for _, y := range axes {
			for _, shared := range lists[x] {
				for _, own := range lists[x] {
					if slices.Contains(lists[y], shared) && !slices.Contains(lists[y], own) {
						want(own, shared)
					}
				}
			}
		}
	}
	for _, x := range axes {
		for i, m := range lists[x] {
			if i > 0 {
				want(lists[x][i-1], m)
			}
		}
	}
	for i, z := range zero {
		for _, x := range axes {
			for _, m := range lists[x] {
				if !slices.Contains(zero, m) {
					want(m, z)
				}
			}
		}
		if i > 0 {
			want(zero[i-1], z)
		}
	}
	var out factor.Mesh
	placed := map[string]bool{}
	for len(out) < len(mesh) {
		for _, m := range mesh {
			if !placed[m.Name] && !slices.ContainsFunc(before[m.Name], func(b string) bool { return !placed[b] }) {
				placed[m.Name] = true
				out = append(out, m)
				break
			}
		}
	}
	return out
}
