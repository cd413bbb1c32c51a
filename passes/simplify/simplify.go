package simplify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// maxSweeps bounds the sweeps over a function. Operands are simplified before
// their readers, so two sweeps nearly always reach the fixpoint; a rule that
// needs more than this feeds itself.
const maxSweeps = 100

// Run simplifies every function of m.
func Run(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		before := len(f.Ops)
		fired := Func(c, f)
		if after := len(f.Ops); after != before || len(fired) > 0 {
			c.Remarkf(nil, "@%s: %d of %d operations left%s", f.Name, after, before, summary(fired))
		}
	}
	return nil
}

// summary lists how often each rule fired, the busiest first.
func summary(fired map[string]int) string {
	names := slices.SortedFunc(maps.Keys(fired), func(a, b string) int { return cmp.Or(fired[b]-fired[a], strings.Compare(a, b)) })
	var b strings.Builder
	for i, n := range names {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%d %s", sep, fired[n], n)
	}
	return b.String()
}

// Func simplifies one function to a fixpoint and returns how often each rule
// fired, by name.
func Func(c *pass.Context, f *ir.Func) map[string]int {
	fired := map[string]int{}
	f.DropDead(nil)
	for range maxSweeps {
		if !sweep(c, f, fired) {
			return fired
		}
	}
	last := map[string]int{}
	if !sweep(c, f, last) {
		return fired
	}
	panic(fmt.Sprintf("simplify: rules rewrite @%s for ever%s", f.Name, summary(last)))
}

// rewriter is the state of one sweep.
type rewriter struct {
	c    *pass.Context
	f    *ir.Func
	out  []*ir.Op                // the operations so far
	repl map[*ir.Value]*ir.Value // values replaced in this sweep
	uses map[*ir.Value]int       // readers, kept up to date
	seen map[string]*ir.Op       // operations so far by structure
	// symbolic: a gradient is still to be taken in this function, so what
	// means something to differentiation alone must stay.
	symbolic bool
	fired    map[string]int
	changed  bool
	key      []byte
	within   int // rules that are being applied, of which each emits for the one before
	rule     string
	refused  []refusal
}

// refusal is why the condition of a rule refuses an operation that is what it rewrites.
type refusal struct {
	o         *ir.Op
	rule, why string
}

// sweep visits the operations once in order, operands first, and then drops
// what became dead. It reports whether anything changed.
func sweep(c *pass.Context, f *ir.Func, fired map[string]int) bool {
	r := &rewriter{c: c, f: f, repl: map[*ir.Value]*ir.Value{}, uses: f.Uses(),
		seen: make(map[string]*ir.Op, len(f.Ops)), fired: fired,
		out: make([]*ir.Op, 0, len(f.Ops))}
	for _, o := range f.Ops {
		r.symbolic = r.symbolic || op.Of(o).Class == op.Symbolic
	}
	for _, o := range f.Ops {
		for i, a := range o.Args {
			o.Args[i] = r.at(a)
		}
		r.visit(o)
	}
	f.Ops = r.out
	for i := range f.Results {
		f.Results[i].Value = r.at(f.Results[i].Value)
	}
	if f.DropDead(nil) || r.changed {
		return true
	}
	for _, x := range r.refused { // of the last sweep, in which every rule has seen what there is
		c.Because(x.o, "%s does not rewrite `%s`: %s", x.rule, x.o.Name, x.why)
	}
	return false
}

// readByOthers is a reason: what an operand computes would be computed twice.
const readByOthers = "others read its operand as well"

// refuse notes why the rule that is tried leaves o as it is. It returns nil, as the rule does.
func (r *rewriter) refuse(o *ir.Op, format string, args ...any) *ir.Value {
	if r.c.Asked() {
		r.refused = append(r.refused, refusal{o, r.rule, fmt.Sprintf(format, args...)})
	}
	return nil
}

// at is what v has become.
func (r *rewriter) at(v *ir.Value) *ir.Value {
	for {
		w, ok := r.repl[v]
		if !ok {
			return v
		}
		v = w
	}
}

// visit applies the first rule that matches o, or else finds o's twin, or
// else keeps o. It returns what o's results have become.
func (r *rewriter) visit(o *ir.Op) []*ir.Value {
	if op.Of(o).Class == op.Boundary || r.within == 0 && r.c.Spent() {
		r.out = append(r.out, o)
		return o.Results
	}
	if len(o.Results) == 1 {
		r.within++
		v, name := r.apply(o)
		if r.within--; v != nil {
			r.fire(name, o)
			r.replace(o, []*ir.Value{v})
			return []*ir.Value{v}
		}
	}
	key := r.structure(o)
	if twin := r.seen[key]; twin != nil {
		r.fire("cse", o)
		r.replace(o, twin.Results)
		return twin.Results
	}
	r.seen[key] = o
	r.out = append(r.out, o)
	return o.Results
}

// apply tries the rules of o's row, then those for every row.
func (r *rewriter) apply(o *ir.Op) (*ir.Value, string) {
	for _, set := range [2][]rule{rules[o.Name], anyOp} {
		for _, x := range set {
			r.rule = x.name
			v := x.apply(r, o)
			if v == nil {
				continue
			}
			if !v.Type.Equal(o.Results[0].Type) {
				panic("simplify: rule " + x.name + " turned " + o.Results[0].Type.String() +
					" into " + v.Type.String())
			}
			return v, x.name
		}
	}
	return nil, ""
}

// fire counts an application to o. One within another is part of that.
func (r *rewriter) fire(name string, o *ir.Op) {
	r.fired[name]++
	r.changed = true
	if r.within == 0 {
		r.c.May(name, o)
	}
}

// replace lets readers of o's results read others.
func (r *rewriter) replace(o *ir.Op, with []*ir.Value) {
	for i, v := range o.Results {
		r.repl[v] = with[i]
		r.uses[with[i]] += r.uses[v]
	}
	for _, a := range o.Args {
		r.uses[a]--
	}
}

// emit makes an operation in place of o, simplified in turn. Its operands are
// values that are there already. It returns nil where the row's inference
// refuses the operands.
func (r *rewriter) emit(o *ir.Op, name string, attrs ir.Attrs, args ...*ir.Value) *ir.Value {
	var sink []*ir.Op
	b := op.Builder{F: r.f, Scope: o.Scope, Pos: o.Pos, Slot: ir.Slot{Run: o.Run}, Sink: &sink}
	if _, err := b.TryEmit(name, args, attrs); err != nil {
		return nil
	}
	for _, a := range args {
		r.uses[a]++
	}
	return r.visit(sink[0])[0]
}

// infer is the type that the row of o gives over other operands, or false.
func infer(o *ir.Op, args []*ir.Value, attrs ir.Attrs) (ir.Type, bool) {
	types := make([]ir.Type, len(args))
	for i, a := range args {
		types[i] = a.Type
	}
	t, err := op.Of(o).Infer(types, attrs)
	if err != nil || len(t) != 1 {
		return ir.Type{}, false
	}
	return t[0], true
}
