package offload

import (
	"slices"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/op"
)

// align is what the places of pieces are multiples of, in bytes, as those of all
// buffers.
const align = 64

// cut says how an update is done in pieces.
type cut struct {
	axis  string
	size  int64
	rows  int64       // of a piece, along the axis; the last may have fewer
	parts []*ir.Value // operands in device memory that are cut as well
	outs  []*ir.Value // results that others read, in device memory
	last  int         // index of the update's last operation
}

// cut is how u can be cut along the major axis of its states; nil where it is
// one piece, or some operation needs all of a state at once.
func (o *optimizer) cut(u *update) *cut {
	t := u.states[0].Value.Type
	at := slices.IndexFunc(t.Axes, func(a ir.Axis) bool { return a.Size > 1 })
	c := &cut{axis: t.Axes[at].Name, size: int64(t.Axes[at].Size)}
	for _, a := range u.states {
		r := o.result(a)
		if !sameAxes(a.Value.Type, t) || r == nil || r.Value.Def == nil || !u.in[r.Value.Def] {
			return nil
		}
	}
	if slices.ContainsFunc(u.ops, func(x *ir.Op) bool { return len(x.Results) != 1 || !sameAxes(x.Result().Type, t) }) {
		return nil
	}
	o.producers(u, t)
	if len(u.ops) == 0 || !u.together() || o.waits(u) || !o.boundary(u, c) {
		return nil
	}
	// Rows such that every piece of every tensor begins at a multiple of align.
	unit, bytes := int64(1), int64(0)
	row := func(v *ir.Value) int64 { return int64(v.Type.Bytes()) / c.size }
	for _, a := range u.states {
		unit = lcm(unit, align/gcd(align, row(a.Value)))
		bytes += row(a.Value)
	}
	for _, v := range append(slices.Clone(c.parts), c.outs...) {
		unit = lcm(unit, align/gcd(align, row(v)))
	}
	c.rows = max(1, o.rule.piece/bytes/unit) * unit
	if c.rows >= c.size {
		return nil
	}
	return c
}

func sameAxes(t, u ir.Type) bool { return t.WithDType(ir.F32).Equal(u.WithDType(ir.F32)) }

// together reports whether the operations of u are of one run and task.
func (u *update) together() bool {
	return !slices.ContainsFunc(u.ops, func(x *ir.Op) bool { return !together(x, u.ops[0]) })
}

// together reports whether x and y are of one run and task.
func together(x, y *ir.Op) bool { return x.Run == y.Run && x.Task == y.Task }

// producers adds to u the elementwise operations on the way to it whose results
// nobody else reads, so that they need not be stored whole.
func (o *optimizer) producers(u *update, t ir.Type) {
	outside := map[*ir.Value]bool{}
	for _, r := range o.f.Results {
		outside[r.Value] = true
	}
	used := map[*ir.Value]bool{}
	for i := len(o.f.Ops) - 1; i >= 0; i-- {
		x := o.f.Ops[i]
		if len(u.ops) > 0 && !u.in[x] && together(x, u.ops[0]) && op.Of(x).Class == op.Elementwise && used[x.Result()] && !outside[x.Result()] && sameAxes(x.Result().Type, t) {
			u.in[x] = true
		}
		for _, a := range x.Args {
			used[a] = used[a] || u.in[x]
			outside[a] = outside[a] || !u.in[x]
		}
	}
	u.ops = u.ops[:0]
	for _, x := range o.f.Ops {
		if u.in[x] {
			u.ops = append(u.ops, x)
		}
	}
}

// waits reports whether some operation of u needs what another operation makes
// of u's results: then no piece can be done before all have begun. It also does where a
// run before the last operation of u reads them, which would have to be behind it.
func (o *optimizer) waits(u *update) bool {
	after := map[*ir.Value]bool{} // outside of u, and depends on it
	of := map[*ir.Value]bool{}
	away := false
	for _, x := range o.f.Ops {
		late := false
		for _, a := range x.Args {
			late = late || after[a] || of[a] && !u.in[x]
		}
		if u.in[x] && (late || away) {
			return true
		}
		away = away || late && !together(x, u.ops[0])
		for _, r := range x.Results {
			of[r], after[r] = u.in[x], late
		}
	}
	return false
}

// boundary finds what u reads and what others read of it; false where that cannot
// be cut.
func (o *optimizer) boundary(u *update, c *cut) bool {
	read := map[*ir.Value]bool{}
	for i, x := range o.f.Ops {
		for _, a := range x.Args {
			switch {
			case !u.in[x]:
				if o.moved[a] != nil && slices.ContainsFunc(u.states, func(s *ir.Arg) bool { return s.Value == a }) {
					return false // another operation needs all of the state
				}
				read[a] = true
			case o.moved[a] == nil && (a.Def == nil || !u.in[a.Def]) && a.Type.Has(c.axis) && !slices.Contains(c.parts, a):
				if first := slices.IndexFunc(a.Type.Axes, func(y ir.Axis) bool { return y.Size > 1 }); a.Type.Axes[first].Name != c.axis {
					return false
				}
				c.parts = append(c.parts, a)
			}
		}
		if u.in[x] {
			c.last = i
		}
	}
	for _, i := range o.other {
		read[o.f.Results[i].Value] = true
	}
	for _, x := range u.ops {
		if read[x.Result()] {
			c.outs = append(c.outs, x.Result())
		}
	}
	return true
}

// split does u piece by piece, where its last operation stood. What others make
// of its results comes behind that.
func (o *optimizer) split(u *update, c *cut) {
	var pieces []*ir.Op
	stored := make([][]*ir.Value, len(u.states))
	made := make([][]*ir.Value, len(c.outs))
	last := o.f.Ops[c.last]
	emit := func(name string, args []*ir.Value, attrs ir.Attrs) *ir.Op {
		x := o.operation(name, args, attrs)
		return o.append(&pieces, x, last)
	}
	for from := int64(0); from < c.size; from += c.rows {
		o.pieces += u.states[0].Value.Count()
		limit := min(c.size, from+c.rows)
		piece := ir.A("axis", ir.Name(c.axis), "from", ir.Int(from), "limit", ir.Int(limit))
		at := map[*ir.Value]*ir.Value{}
		var states []*ir.Value
		for _, a := range u.states {
			states = append(states, a.Value)
		}
		for i, r := range emit(collective.HostToDevice, states, piece.With("why", o.rule.why)).Results {
			at[states[i]] = r
		}
		for _, v := range c.parts {
			at[v] = emit(op.Subview, []*ir.Value{v}, piece).Result()
		}
		for _, x := range u.ops {
			n := o.again(x, at, c.axis, int(limit-from))
			pieces = append(pieces, n)
			at[x.Result()] = n.Result()
		}
		var fresh []*ir.Value
		for _, a := range u.states {
			fresh = append(fresh, at[o.result(a).Value])
		}
		for i, r := range o.append(&pieces, o.store(fresh), last).Results {
			stored[i] = append(stored[i], r)
		}
		for i, v := range c.outs {
			made[i] = append(made[i], at[v])
		}
	}
	hold := ir.A("axis", ir.Name(c.axis))
	for i, v := range c.outs {
		o.whole[v] = emit(op.ConcatInPlace, made[i], hold).Result()
	}
	for i, a := range u.states {
		o.result(a).Value = emit(op.ConcatInPlace, stored[i], hold).Result()
	}
	all := &ir.Op{Name: op.ConcatInPlace, Results: c.outs, Slot: last.Slot}
	for _, x := range u.ops {
		for _, a := range x.Args {
			if a.Def == nil || !u.in[a.Def] {
				all.Args = append(all.Args, a)
			}
		}
	}
	o.instead[all] = pieces
	o.f.Ops = o.around(u, c, all)
}

// expand writes the pieces of all updates that are done so. Until then one operation
// stands for those of an update, which reads what they read and makes what they make:
// what follows goes through the function for each update, and pieces are many.
func (o *optimizer) expand() {
	var out []*ir.Op
	for _, x := range o.f.Ops {
		if pieces, ok := o.instead[x]; ok {
			out = append(out, pieces...)
		} else {
			out = append(out, x)
		}
	}
	o.f.Ops = out
	o.f.Replace(o.whole)
}

func (o *optimizer) append(list *[]*ir.Op, x, like *ir.Op) *ir.Op {
	x.Scope, x.Pos, x.Run, x.Task = like.Scope, like.Pos, like.Run, like.Task
	*list = append(*list, x)
	return x
}

// again is operation x of a piece.
func (o *optimizer) again(x *ir.Op, at map[*ir.Value]*ir.Value, axis string, size int) *ir.Op {
	args := slices.Clone(x.Args)
	for i, a := range args {
		if w := at[a]; w != nil {
			args[i] = w
		}
	}
	t := x.Result().Type.Clone()
	t.Axes[t.Index(axis)].Size = size
	n := o.f.NewOp(x.Name, args, x.Attrs, t)
	n.Scope, n.Pos, n.Slot = x.Scope, x.Pos, x.Slot
	return n
}

// around is the function's operations with u's replaced by all, and behind
// that what stood before u's last operation and depends on u.
func (o *optimizer) around(u *update, c *cut, all *ir.Op) []*ir.Op {
	late := map[*ir.Value]bool{}
	var out, behind []*ir.Op
	for i, x := range o.f.Ops {
		if i == c.last {
			out = append(append(out, all), behind...)
		}
		depends := slices.ContainsFunc(x.Args, func(v *ir.Value) bool { return late[v] })
		if u.in[x] || depends {
			for _, r := range x.Results {
				late[r] = true
			}
		}
		switch {
		case u.in[x]:
		case depends && i < c.last:
			behind = append(behind, x)
		default:
			out = append(out, x)
		}
	}
	return out
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int64) int64 { return a / gcd(a, b) * b }
