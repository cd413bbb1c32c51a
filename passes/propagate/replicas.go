package propagate

import (
	"slices"
	"strings"

	"ptc/internal/wide"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// refineZero writes a mesh axis of zero as two where the sizes of tensors do not divide
// by all of it, but do by a factor: of dp = 800 = 25 · 32 most axes divide by 32 alone.
//
//	zero 1 over dp = 800
//	→ dp = dp_replicate = 25 times dp_shard = 32, zero over dp_shard
//
// So a device has a 32nd of the optimizer's state, not all of it (hybrid sharding: Zhao
// et al., "PyTorch FSDP", 2023, section 3.2.2). Shards are of neighbours, since dp_shard is
// minor. Of all factors the one is taken that leaves a device the fewest elements.
func (l *layout) refineZero(c *pass.Context, m *ir.Module, lists map[string][]string) {
	for _, x := range slices.Clone(l.zero) {
		n := m.MeshSize(x)
		if l.stages[x] || rotates(m, x) {
			continue
		}
		all := l.kept(m, x, n)
		best, least := n, all
		for q := n / 2; q > 1; q-- {
			if n%q != 0 {
				continue
			}
			if k := l.kept(m, x, q); k < least {
				best, least = q, k
			}
		}
		by := []ir.MeshAxis{{Name: x + "_replicate", Size: n / best}, {Name: x + "_shard", Size: best}}
		if wide.MulDiv(all, 7, 8) < least || m.MeshSize(by[0].Name) != 0 || m.MeshSize(by[1].Name) != 0 {
			continue // as good as nothing is gained
		}
		c.Remarkf(nil, "zero over %s = %d shards over %s = %d only: most sizes do not divide into %d shards", x, n, by[1].Name, best, n)
		op.RefineMesh(m, x, by)
		l.mesh = m.Mesh
		l.rename(x, by, lists)
		l.zero = slices.DeleteFunc(slices.Clone(l.zero), func(z string) bool { return z == by[0].Name })
	}
}

// kept is how many elements of parameters a device has the state of if mesh axis x had
// the size q.
func (l *layout) kept(m *ir.Module, x string, q int) (sum int64) {
	as := *l
	as.mesh = append(as.mesh[:0:0], m.Mesh...)
	for i := range as.mesh {
		if as.mesh[i].Name == x {
			as.mesh[i].Size = q
		}
	}
	for _, f := range m.Funcs {
		if f.Name != "step" {
			continue
		}
		for _, a := range f.Args {
			if a.Role != ir.RoleParam {
				continue
			}
			n := int64(1)
			for _, axis := range as.stored(ir.OfInstance(a.Path, 0), a.Value.Type, true).Axes {
				n = wide.Mul(n, int64(axis.Size/as.mesh.Shards(axis.Mesh)))
			}
			sum = wide.Add(sum, wide.Mul(n, int64(a.Value.Count())))
		}
	}
	return sum
}

// rotates reports whether blocks go round over mesh axis x, as in ring attention: their
// exchange is over one mesh axis.
func rotates(m *ir.Module, x string) bool {
	for _, f := range m.Funcs {
		for _, o := range f.Ops {
			if o.Name == op.Take && strings.HasPrefix(o.Attrs.Text("axis"), x+"_") {
				return true
			}
		}
	}
	return false
}
