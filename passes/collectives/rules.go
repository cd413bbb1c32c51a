package collectives

import (
	"fmt"
	"slices"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/partition"
)

// rules are tried in this order. A rule gives what stands for o's result, and emits
// what computes it; nil where it does not fit. What sends something and is replaced
// must have no other reader.
var rules []rule

type rule struct {
	name  string
	apply func(x *rewriter, o *ir.Op) *ir.Value
}

func init() { // the rules refer to a rewriter, which has them
	rules = []rule{{"alone", alone}, {"same", same}, {"replan", replan}, {"slice through", sliceThrough}, {"narrow", narrow}}
}

func over(o *ir.Op) []string { return o.Attrs.Names("over") }

func axis(o *ir.Op) string { return o.Attrs.Text("axis") }

// allowed reports whether no rule of the layout forbids collectives of the kind.
func (x *rewriter) allowed(kind string) bool { return !slices.Contains(x.l.forbidden, kind) }

// again emits o on another operand.
func (x *rewriter) again(o *ir.Op, v *ir.Value) *ir.Value {
	return x.b.EmitStated(o.Name, o.Attrs, v)
}

// alone: over a mesh axis of one device nothing is said.
func alone(x *rewriter, o *ir.Op) *ir.Value {
	if !exchange(o) {
		return nil
	}
	if op.Reorders(o) && op.SameState(o.Args[0].Type, o.Result().Type) {
		return o.Args[0]
	}
	rest := slices.DeleteFunc(slices.Clone(over(o)), func(m string) bool { return x.m.MeshSize(m) == 1 })
	switch {
	case len(rest) == len(over(o)):
		return nil
	case len(rest) > 0:
		return x.b.Emit(o.Name, o.Attrs.With("over", ir.Names(rest)), o.Args[0])
	case o.Name == collective.Permute && !op.Reorders(o) && o.Attrs.Ints("sources")[0] != 0:
		return nil // gives zeros
	}
	return o.Args[0]
}

// what says what a collective does, for those that read the same.
func what(o *ir.Op) string {
	return fmt.Sprintf("%s %d%s %v", o.Name, o.Args[0].ID, o.Attrs.With("why", nil), o.Slot)
}

// note remembers that the program has collective o.
func (x *rewriter) note(o *ir.Op) {
	if exchange(o) {
		x.seen[what(o)] = o.Result()
	}
}

// same: of two collectives that do the same in one phase, the second is not needed.
func same(x *rewriter, o *ir.Op) *ir.Value {
	if !exchange(o) {
		return nil
	}
	return x.seen[what(o)]
}

// replan: collectives that follow one another are one reshard, from the sharding of
// what the first one reads into that of the last one's result. The cheapest plan for
// it stands in their place, where it costs less than those that end with it; a slice
// of what others read may cost the same, since it then waits for less. Among others,
//
//	slice over M, along A (all_reduce over L, M (x))    all_reduce over L (reduce_scatter over M, along A (x))
//	slice over M, along B (all_gather over M, A (x))    all_to_all over M, from A to B (x)
//	all_gather over M (all_gather over N (x))           all_gather over (M, N) (x)
//	slice over M (all_gather over M (x))                x
func replan(x *rewriter, o *ir.Op) *ir.Value {
	if !reshards(o) {
		return nil
	}
	var had []string
	var best *partition.Reshard
	var from *ir.Value
	saved := partition.Cost{}
	for p := o; p != nil && p.Slot == o.Slot && len(p.Results) == 1 && reshards(p); p = p.Args[0].Def {
		had = append(had, p.Name)
		if p == o {
			continue
		}
		v := p.Args[0]
		was := x.ended(o, map[*ir.Value]bool{v: true})
		if was == (partition.Cost{}) {
			break
		}
		banned := slices.DeleteFunc(slices.Clone(x.l.forbidden), func(kind string) bool { return slices.Contains(had, kind) })
		r := x.planner.Plan(whole(x.m, v.Type), whole(x.m, o.Result().Type), banned)
		cost := r.Cost()
		less := partition.Cost{Sent: was.Sent - cost.Sent, Sends: was.Sends - cost.Sends, Ops: was.Ops - cost.Ops}
		if r.Uses(banned) || less.Compare(partition.Cost{}) < 0 || less == (partition.Cost{}) && (cost.Sends > 0 || was.Ops > 1) {
			continue
		}
		if best == nil || less.Compare(saved) >= 0 {
			best, from, saved = r, v, less
		}
	}
	if best == nil {
		return nil
	}
	return best.Emit(&x.b, from, o.Result().Type)
}
