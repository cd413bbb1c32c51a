package remat

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/targetinfo"
)

// sweep finds what passes/chunk makes for some rows at a time, in both phases: the result
// of a large product of rows and a weight, as logits are, and whatever is about as large
// and made of it or for it. Its place is that of one range. The pass decides itself, of
// the operations of one device; where it refuses, a plan takes more than is counted here.
func (l *local) sweep(f *ir.Func, limit targetinfo.Chunk) {
	if limit.Most < 2 {
		return
	}
	data := map[*ir.Value]bool{}
	for _, a := range f.Args {
		data[a.Value] = a.Role == ir.RoleData
	}
	users := map[*ir.Value][]*ir.Op{}
	for _, o := range f.Ops {
		is := slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return data[v] })
		for _, v := range o.Results {
			data[v] = is
		}
		for _, v := range o.Args {
			users[v] = append(users[v], o)
		}
	}
	for _, o := range f.Ops {
		if op.Of(o).Class != op.Contraction || o.Run != nil || len(o.Args) != 2 || l.bytes(o.Result()) < limit.Bytes {
			continue
		}
		for i, x := range o.Args {
			axes, n := l.rowsOf(o, x, o.Args[1-i])
			if data[o.Args[1-i]] || len(axes) == 0 || 2*l.elems(x) >= l.elems(o.Result()) {
				continue
			}
			if n = min(n/int64(max(1, limit.Rows)), int64(limit.Most)); n > 1 {
				l.spread(o.Result(), axes[0], n, users)
			}
			break
		}
	}
}

// rowsOf are the axes of o's result that operand x has and the weight does not, and the
// number of rows along them and those that both have.
func (l *local) rowsOf(o *ir.Op, x, weight *ir.Value) (axes []string, n int64) {
	n = 1
	for _, a := range o.Result().Type.Axes {
		if x.Type.Has(a.Name) {
			size := int64(a.Size)
			for _, m := range a.Mesh {
				size /= int64(max(1, l.m.MeshSize(m)))
			}
			if n *= size; !weight.Type.Has(a.Name) && size > 1 {
				axes = append(axes, a.Name)
			}
		}
	}
	return axes, n
}

// spread notes that root is made in n ranges of rows, and what has rows, is about as large
// and reads it, or has a common reader.
func (l *local) spread(root *ir.Value, rows string, n int64, users map[*ir.Value][]*ir.Op) {
	least := l.elems(root)
	work := []*ir.Value{root}
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		if l.rows[v.ID] > 0 || !v.Type.Has(rows) || 2*l.elems(v) <= least || v.Def == nil || v.Def.Run != nil {
			continue
		}
		l.rows[v.ID] = n
		for _, o := range append([]*ir.Op{v.Def}, users[v]...) {
			work = append(append(work, o.Args...), o.Results...)
		}
	}
}

func (l *local) elems(v *ir.Value) int64 { return l.share(v, int64(v.Type.Elems())) }

// swept reports whether v, of the module itself, is never there in full.
func (l *local) swept(v *ir.Value) bool { return l.rows[v.ID] > 0 }
