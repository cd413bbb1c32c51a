package stage

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
)

// names are those of the axes by which rows are cut. A batch of B rows that the layout
// cuts into S shards is
//
//	batch = B   →   batch = S, microbatch = m, row = B/(S·m)
//
// and microbatch i is number i of the axis in the middle: consecutive rows of each shard.
// A batch sharded over devices stays where it is, and rows that belong together, such as
// pairs of preferences, are in one microbatch if they fit within its rows of a shard.
// The same holds for every axis that comes from the batch: operations are cut by the
// factors of their sharding rules, as if the batch were in S·m shards.
type names struct {
	micro string
	block string // the rows of one shard
	row   string // the rows of one shard that a microbatch has
}

// namesFor are names that no axis of f has.
func namesFor(f *ir.Func) names {
	taken := map[string]bool{}
	see := func(v *ir.Value) {
		for _, a := range v.Type.Axes {
			taken[a.Name] = true
		}
	}
	for _, a := range f.Args {
		see(a.Value)
	}
	for _, o := range f.Ops {
		for _, r := range o.Results {
			see(r)
		}
	}
	fresh := func(name string) string {
		for taken[name] {
			name += "_"
		}
		return name
	}
	return names{fresh("microbatch"), fresh("microbatch_block"), fresh("microbatch_row")}
}

// grid is how the rows of a batch lie, and writes operations that cut and join them.
type grid struct {
	names
	f      *ir.Func
	m      int // microbatches
	shards int // of the batch, each of which has rows of every microbatch
	at     diag.Pos
	b      op.Builder
	num    *ir.Value // the number of the microbatch, once something reads it
}

// number is the number of the microbatch.
func (g *grid) number() *ir.Value {
	if g.num == nil {
		g.num = g.f.AddArg(ir.Scalar(ir.I32), ir.RoleIndex, "microbatch.{i}", nil, g.at)
		g.num.Micro = true
	}
	return g.num
}

// fields cuts the batch's fields.
func (s *splitter) fields(m *ir.Module) error {
	var rows []int // of a microbatch, by field
	for _, a := range s.f.Args {
		if a.Role != ir.RoleData {
			continue
		}
		t := a.Value.Type
		if t.Rank() == 0 || t.Axes[0].Size%s.grid.m != 0 {
			return &diag.Error{Code: "E0608", Pos: s.at, Msg: fmt.Sprintf("the field `%s` of %s cannot be cut into %d microbatches", a.Path, t, s.grid.m)}
		}
		s.batch[t.Axes[0].Name] = true
		rows = append(rows, t.Axes[0].Size/s.grid.m)
	}
	s.grid.shards = s.shardsOf(m, rows)
	for _, a := range slices.Clone(s.f.Args) {
		if a.Role != ir.RoleData {
			continue
		}
		s.grid.b.Pos = a.Pos
		axis := a.Value.Type.Axes[0].Name
		s.of[a.Value] = &state{part: s.cut(a.Value, axis, s.home[a.Value]), axis: axis}
	}
	s.grid.b.Slot, s.grid.b.Pos = ir.Slot{}, diag.Pos{}
	return nil
}

// shardsOf is into how many shards the layout cuts the batch, over mesh axes that divide a
// microbatch's rows of every field.
func (s *splitter) shardsOf(m *ir.Module, rows []int) int {
	shards, seen := 1, map[string]bool{}
	if s.rule != nil {
		seen[s.rule.Over] = true
	}
	for _, r := range layout.All[*layout.Shard](layout.Of(m)) {
		if len(r.Of) > 0 || !slices.ContainsFunc(r.Axes, func(a string) bool { return s.batch[a] }) {
			continue
		}
		for _, x := range r.Over {
			more := shards * max(1, m.MeshSize(x))
			if !seen[x] && !slices.ContainsFunc(rows, func(n int) bool { return n%more != 0 }) {
				seen[x], shards = true, more
			}
		}
	}
	return shards
}

// inner is the axis along which the rows of one shard are: axis itself, if there is one
// shard.
func (g *grid) inner(axis, name string) string {
	if g.shards == 1 {
		return axis
	}
	return name
}

// intoShards is v with axis in two, of shards and of what each has, which is called inner.
func (g *grid) intoShards(v *ir.Value, axis, inner string) *ir.Value {
	if g.shards == 1 {
		return v
	}
	return g.b.Emit(op.Split, ir.A("axis", ir.Name(axis), "into", ir.Sizes{{Name: axis, N: g.shards}, {Name: inner, N: v.Type.Size(axis) / g.shards}}), v)
}

// fromShards is the inverse of intoShards.
func (g *grid) fromShards(v *ir.Value, axis, inner string) *ir.Value {
	if g.shards == 1 {
		return v
	}
	return g.b.Emit(op.Merge, ir.A("axes", ir.Names{axis, inner}, "into", ir.Name(axis)), v)
}

// related is the code of an error for what relates the rows of several microbatches.
const related = "E0609"

// cause is why a value is known only after the last microbatch: it is rows of all of them,
// which of has made; or of combines microbatches, by a sum or because it relates rows.
type cause struct {
	of            *ir.Op
	rows, relates bool
}

// isLate reports whether v is known only after the last microbatch.
func (s *splitter) isLate(v *ir.Value) bool { _, late := s.late[v]; return late }

// lateness is why the results of o are late, and false where they are not: o relates the
// rows that it reads of all microbatches.
func (s *splitter) lateness(o *ir.Op) (why cause, late bool) {
	for _, v := range o.Args {
		c, ok := s.late[v]
		if ok && c.rows {
			return cause{of: o, relates: true}, true
		}
		if ok && !late {
			why, late = c, true
		}
	}
	return why, late
}

// tooLate says that o, of one microbatch, needs v, which is known after all of them.
func (s *splitter) tooLate(o *ir.Op, v *ir.Value) error {
	c := s.late[v]
	if c.rows {
		c = cause{of: o, relates: true}
	}
	if c.relates {
		return &diag.Error{Code: related, Pos: c.of.Pos, Msg: fmt.Sprintf("`%s` relates rows of the batch that are in different microbatches", c.of.Name),
			Want: "operations on each row, or on groups of consecutive rows that one microbatch has of one shard of the batch", Note: notes(s.at)}
	}
	e := &diag.Error{Code: related, Pos: o.Pos, Msg: fmt.Sprintf("`%s` works on one microbatch but needs a value of all of them", o.Name),
		Want: "a loss and gradients that are sums over the batch, of terms that need one microbatch of what depends on parameters"}
	if c.of != nil && c.of.Pos != o.Pos && c.of.Pos.IsValid() {
		e.Note = append(e.Note, diag.Note{Pos: c.of.Pos, Msg: fmt.Sprintf("`%s` combines all microbatches", c.of.Name)})
	}
	e.Note = append(e.Note, notes(s.at)...)
	return e
}
