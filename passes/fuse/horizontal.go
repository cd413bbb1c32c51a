package fuse

import (
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/pass"
)

const (
	mostOpen    = 16   // launches that a call may join
	maxSections = 64   // of one kernel: what its code and its list of arguments grow with
	smallResult = 4096 // bytes that a kernel may leave in memory earlier than it would have
	shrinks     = 8    // or a part this small of what it reads
	near        = 6    // calls that a product moves up by at most
	nearCasts   = 16   // and casts of weights: those of a layer, whose copies are little compared with its activations
	underWay    = 16   // operations after a collective, in which it may be under way
)

// joinCalls makes one launch of calls that do not wait for each other and are little
// work each: the updates of all tensors of a layer, the sums of squares of their
// gradients. ("Horizontal" fusion: Wang et al., "Horizontally fused training array",
// 2021, section 3.)
//
// A call moves up to the first one that it joins, where what it reads must be there. So
// that values are not kept for longer, what it writes must be a result of the step,
// which takes the place of an argument, or small; products and casts of weights write
// more, and move past a few calls at most. A call does not move up to where a collective
// that it reads may still be under way.
func joinCalls(c *pass.Context, f *ir.Func, shared *kernels) {
	j := newJoining(c, f, shared)
	var out []*ir.Op
	for at := 0; at < len(f.Ops); {
		end := at + 1
		for end < len(f.Ops) && f.Ops[at].Callee != nil && f.Ops[end].Callee != nil && together(f.Ops[at], f.Ops[end]) {
			end++
		}
		out = append(out, j.stretch(f.Ops[at:end])...)
		at = end
	}
	f.Ops = out
	f.Replace(j.same)
}

// once are calls without those that do what another one of them does: casts of a weight for both phases, of
// which the loss is computed in one sweep.
func (j *joining) once(calls []*ir.Op) []*ir.Op {
	var out []*ir.Op
	for _, c := range calls {
		i := slices.IndexFunc(out, func(x *ir.Op) bool {
			return x.Callee == c.Callee && slices.Equal(x.Args, c.Args) && x.First == nil && c.First == nil
		})
		if i < 0 || slices.ContainsFunc(c.Results, func(v *ir.Value) bool { return j.result[v] }) {
			out = append(out, c)
			continue
		}
		for n, v := range c.Results {
			j.same[v] = out[i].Results[n]
		}
	}
	return out
}

// together reports whether a and b are of one run and one task.
func together(a, b *ir.Op) bool { return a.Run == b.Run && a.Task == b.Task }

// joining is what is known of the calls of a function.
type joining struct {
	context *pass.Context
	shared  *kernels
	at      map[*ir.Op]int
	readers map[*ir.Value][]*ir.Op
	result  map[*ir.Value]bool
	same    map[*ir.Value]*ir.Value // results of calls that are done once, and of those in whose place that is
}

func newJoining(c *pass.Context, f *ir.Func, shared *kernels) *joining {
	j := &joining{context: c, shared: shared, at: map[*ir.Op]int{}, readers: map[*ir.Value][]*ir.Op{}, result: map[*ir.Value]bool{}, same: map[*ir.Value]*ir.Value{}}
	for i, o := range f.Ops {
		j.at[o] = i
		for _, v := range o.Args {
			j.readers[v] = append(j.readers[v], o)
		}
	}
	for _, r := range f.Results {
		j.result[r.Value] = true
	}
	return j
}

// stretch joins calls that follow each other.
func (j *joining) stretch(ops []*ir.Op) []*ir.Op {
	var open [][]*ir.Op
	for _, c := range ops {
		kind := j.kind(c)
		if kind == stays {
			continue
		}
		late := max(0, len(open)-mostOpen)
		k := slices.IndexFunc(open[late:], func(with []*ir.Op) bool {
			return kind == j.kind(with[0]) && len(with) < maxSections && j.joins(c, with, kind)
		})
		if k < 0 || !j.context.May("one launch with the next", open[late+k][0]) {
			open = append(open, []*ir.Op{c})
			continue
		}
		k += late
		open[k] = append(open[k], c)
		j.at[c] = j.at[open[k][0]]
	}
	open = j.later(open)
	instead, gone := map[*ir.Op]*ir.Op{}, map[*ir.Op]bool{}
	for _, calls := range open {
		if len(calls) == 1 {
			continue
		}
		for _, c := range calls {
			gone[c] = true
		}
		if calls = j.once(calls); len(calls) > 1 {
			instead[calls[0]] = j.join(calls)
		} else {
			instead[calls[0]] = calls[0]
		}
	}
	if len(instead) == 0 {
		return ops
	}
	var out []*ir.Op
	for _, c := range ops {
		if all := instead[c]; all != nil {
			c = all
		} else if gone[c] {
			continue
		}
		out = append(out, c)
	}
	return out
}

// later joins a light call that is alone to the next launch of such calls that it can
// wait for: nobody reads what it makes before, and what it reads is kept until then
// without it.
func (j *joining) later(open [][]*ir.Op) [][]*ir.Op {
	for k := len(open) - 1; k >= 0; k-- {
		if c := open[k][0]; len(open[k]) == 1 && j.kind(c) == light {
			for n := k + 1; n < min(len(open), k+1+mostOpen); n++ {
				if with := open[n]; len(with) > 0 && len(with) < maxSections && j.kind(with[0]) == light && j.waitsFor(c, with[0]) && j.context.May("one launch with a later one", c) {
					j.at[c] = j.at[with[0]]
					open[n], open[k] = append(with, c), nil
					break
				}
			}
		}
	}
	return slices.DeleteFunc(open, func(calls []*ir.Op) bool { return len(calls) == 0 })
}

// waitsFor reports whether c can be done where first stands, behind it.
func (j *joining) waitsFor(c, first *ir.Op) bool {
	to := j.at[first]
	for _, v := range c.Results {
		if slices.ContainsFunc(j.readers[v], func(r *ir.Op) bool { return j.at[r] <= to }) {
			return false
		}
	}
	for _, v := range c.Args {
		kept := v.Def == nil
		for _, r := range j.readers[v] {
			if r == c {
				continue
			}
			if at := j.at[r]; v.Def == nil && at > j.at[c] && at <= to && j.overwrites(r, slices.Index(r.Args, v)) {
				return false
			}
			kept = kept || j.at[r] >= to
		}
		if !kept && v.Type.Bytes() > smallResult {
			return false
		}
	}
	return true
}

// kind is what makes a call one that others may join.
type kind uint8

const (
	stays   kind = iota
	light        // little is written
	brief        // elementwise work on arguments of the function, as a cast of a weight: it may be done a little earlier
	product      // a contraction, adjacent to another one with the same large operand
)

func (j *joining) kind(c *ir.Op) kind {
	if c.Callee == nil || j.special(c) {
		return stays
	}
	switch fusion.Class(c.Callee.Attrs.Text("kind")) {
	case fusion.Gemm:
		return product
	case fusion.Map, fusion.Row, fusion.Column:
	default:
		return stays
	}
	switch {
	case j.writesLittle(c):
		return light
	case !slices.ContainsFunc(c.Args, func(v *ir.Value) bool { return v.Def != nil }):
		return brief
	}
	return stays
}

// writesLittle reports whether what c leaves in memory is small: but for results of the
// step, which have a place anyway.
func (j *joining) writesLittle(c *ir.Op) bool {
	var read, written int
	for _, v := range c.Args {
		read += v.Type.Bytes()
	}
	for _, v := range c.Results {
		if !j.result[v] {
			written += v.Type.Bytes()
		}
	}
	return written <= max(smallResult, read/shrinks)
}

// share reports whether two contractions have a large operand in common.
func share(a, b *ir.Op) bool {
	most := 0
	for _, v := range a.Args {
		most = max(most, v.Type.Elems())
	}
	return slices.ContainsFunc(a.Args, func(v *ir.Value) bool { return 2*v.Type.Elems() >= most && slices.Contains(b.Args, v) })
}

// special reports whether c has another kernel in the first tick, or makes what other
// devices wait for, which starts on its way as soon as it is there. What is put together
// in place goes nowhere.
func (j *joining) special(c *ir.Op) bool {
	return slices.ContainsFunc(c.Args, func(v *ir.Value) bool { return v.Def != nil && v.Def.Name == op.EnterTick }) ||
		slices.ContainsFunc(c.Results, func(v *ir.Value) bool { return slices.ContainsFunc(j.readers[v], moves) })
}

// joins reports whether c can be done where first stands: what it reads is there, and
// nobody from there on reads an argument over which it writes. Products that make
// queries, keys and values are needed together, and so have to be there together.
func (j *joining) joins(c *ir.Op, with []*ir.Op, k kind) bool {
	first := with[0]
	from := j.at[first]
	if k == product && j.at[c]-from > near || k == brief && j.at[c]-from > nearCasts {
		return false
	}
	if k == product && !slices.ContainsFunc(with, func(x *ir.Op) bool { return share(c, x) }) {
		return false
	}
	waits := max(from-underWay, j.waits(first))
	for n, v := range c.Args {
		if v.Def != nil {
			if at := j.at[v.Def]; at >= from || at > waits && moves(v.Def) {
				return false
			}
			continue
		}
		if len(j.readers[v]) > 1 && j.overwrites(c, n) {
			if slices.ContainsFunc(j.readers[v], func(r *ir.Op) bool { return r != c && j.at[r] >= from }) {
				return false
			}
		}
	}
	return true
}

// waits is the place of the last collective that c reads, or -1.
func (j *joining) waits(c *ir.Op) int {
	at := -1
	for _, v := range c.Args {
		if v.Def != nil && moves(v.Def) {
			at = max(at, j.at[v.Def])
		}
	}
	return at
}

// moves reports whether o is no kernel and may take a while.
func moves(o *ir.Op) bool { return alone(o) && !op.Has(o, op.InPlace) }

// overwrites reports whether a result of c may lie in the place of its operand n.
func (j *joining) overwrites(c *ir.Op, n int) bool {
	return slices.ContainsFunc(c.Results, func(r *ir.Value) bool {
		return r.Type.Bytes() == c.Args[n].Type.Bytes() && r.Type.Rank() == c.Args[n].Type.Rank()
	})
}

// join is one call in the place of all.
func (j *joining) join(calls []*ir.Op) *ir.Op {
	first := calls[0]
	all := &ir.Op{Name: op.Call, Scope: first.Scope, Pos: first.Pos}
	all.Run, all.Task = first.Run, first.Task
	f := &ir.Func{Class: ir.Kernel, Attrs: ir.A("kind", ir.Name(string(fusion.Horizontal)))}
	args := map[*ir.Value]*ir.Value{}
	for _, c := range calls {
		all.Scope = common(all.Scope, c.Scope)
		j.section(f, c, func(n int) *ir.Value {
			v := c.Args[n]
			if args[v] == nil {
				a := c.Callee.Args[n]
				args[v] = f.AddArg(a.Value.Type.Clone(), a.Role, a.Path, nil, diag.Pos{})
				all.Args = append(all.Args, v)
			}
			return args[v]
		})
		for _, v := range c.Results {
			v.Def = all
			all.Results = append(all.Results, v)
		}
	}
	f.Renumber()
	all.Callee = j.shared.add(f)
	j.at[all] = j.at[first]
	return all
}

// section puts what c does into f; arg is the argument that its operand n is there.
func (j *joining) section(f *ir.Func, c *ir.Op, arg func(n int) *ir.Value) {
	k := c.Callee
	if mesh := k.Attrs.Get("mesh"); mesh != nil {
		f.Attrs = f.Attrs.With("mesh", mesh)
	}
	at := map[*ir.Value]*ir.Value{}
	read := map[*ir.Value]bool{}
	for _, o := range k.Ops {
		for _, v := range o.Args {
			read[v] = true
		}
	}
	for n, a := range k.Args {
		if read[a.Value] || a.Path == fusion.Coordinates {
			at[a.Value] = arg(n)
		}
	}
	for _, o := range k.Ops {
		operands := make([]*ir.Value, len(o.Args))
		for i, v := range o.Args {
			operands[i] = at[v]
		}
		appendCopy(f, o, operands, at)
	}
	for _, r := range k.Results {
		f.Results = append(f.Results, ir.Result{Value: at[r.Value], Role: ir.RoleOut})
	}
}

// common is the module that both scopes are in.
func common(a, b string) string {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return strings.Join(x[:n], ".")
}

// keepCalled drops the kernels of m that nothing calls any more, and numbers the others
// by class, in order.
func keepCalled(m *ir.Module) {
	called := map[*ir.Func]bool{}
	for _, f := range m.Funcs {
		for _, o := range f.Ops {
			called[o.Callee], called[o.First] = true, true
		}
	}
	m.Funcs = slices.DeleteFunc(m.Funcs, func(f *ir.Func) bool { return f.Class == ir.Kernel && !called[f] })
	count := map[string]int{}
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			f.Name = kernelName(f.Attrs.Text("kind"), count)
		}
	}
}
