package propagate

import (
	"slices"

	"ptc/ir"
	"ptc/passes/propagate/factor"
)

// sent is how many bytes a device sends to bring a value from one state into
// another, in the order of package partition: it slices, scatters sums, exchanges,
// reduces the other sums and gathers. Over n devices and a whole of S bytes these
// are (n−1)/n · S, of sums that all have twice that. Patarasuk, Yuan, "Bandwidth
// optimal all-reduce algorithms for clusters of workstations" (2009).
func sent(mesh factor.Mesh, from, to ir.Type) (bytes int64) {
	size := mesh.Bytes(from)
	gathered, reduced := int64(1), int64(1)
	steps := []func(m string, n int64, partial, over, want bool){
		func(m string, n int64, partial, over, want bool) {
			if !partial && !over && want {
				size /= n
			}
		},
		func(m string, n int64, partial, over, want bool) {
			if partial && want {
				bytes += size / n * (n - 1)
				size /= n
			}
		},
		func(m string, n int64, partial, over, want bool) {
			switch {
			case over && want && !sameAxis(from, to, m):
				bytes += size / n * (n - 1)
			case over && !want:
				gathered *= n
			case partial && !want && !factor.Partial(to, m):
				reduced *= n
			}
		},
	}
	for _, step := range steps {
		for _, m := range mesh {
			step(m.Name, int64(m.Size), factor.Partial(from, m.Name), factor.Over(from, m.Name), factor.Over(to, m.Name))
		}
	}
	bytes += 2 * size * (reduced - 1) / reduced
	return bytes + size*(gathered-1)
}

// sameAxis reports whether the same axis of both types is sharded over m.
func sameAxis(a, b ir.Type, m string) bool {
	for i := range a.Axes {
		if slices.Contains(a.Axes[i].Mesh, m) {
			return slices.Contains(b.Axes[i].Mesh, m)
		}
	}
	return false
}
