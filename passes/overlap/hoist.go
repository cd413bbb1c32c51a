package overlap

import (
	"cmp"
	"slices"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// hoist moves each collective of a text up: behind the operation that makes its last
// operand, or for a gather of what is there for longer, to where it is to start.
func (o *options) hoist(t *text) {
	early := map[*ir.Op][]*ir.Op{} // gathers to stand before an operation
	moved := map[*ir.Op]bool{}
	var head []*ir.Op
	if t.run != nil {
		head = o.ahead(t)
		for _, x := range head {
			moved[x], o.early[x] = true, true
		}
	} else {
		head = t.given()
		for _, x := range head {
			moved[x] = true
		}
		start := o.gathers(t)
		for _, x := range t.ops {
			if before := start[x]; before != nil {
				early[before] = append(early[before], x)
				moved[x], o.early[x] = true, true
			}
		}
	}
	t.rings(early, moved)
	t.ops = t.order(head, early, moved)
}

// rings puts each exchange of what an exchange has brought, as from step to step of a
// ring, before the first kernel that reads that: so it runs concurrently with one step, and a
// device has what two steps read, not what all do.
func (t *text) rings(early map[*ir.Op][]*ir.Op, moved map[*ir.Op]bool) {
	reader := map[*ir.Value]*ir.Op{} // the first kernel
	var steps []*ir.Op
	for _, x := range t.ops {
		switch {
		case !group(x):
			for _, a := range x.Args {
				if reader[a] == nil {
					reader[a] = x
				}
			}
		case !moved[x] && passesOn(x):
			steps = append(steps, x)
		}
	}
	index := make(map[*ir.Op]int, len(t.ops))
	for i, x := range t.ops {
		index[x] = i
	}
	for _, x := range steps {
		before := reader[x.Args[0]]
		if before == nil || index[before] > index[x] {
			before = x // where it is
		}
		early[before] = append(early[before], x)
		moved[x] = true
	}
}

// passesOn reports whether x sends on what an exchange of the kind has brought.
func passesOn(x *ir.Op) bool {
	return x.Name == collective.Permute && !slices.ContainsFunc(x.Args, func(a *ir.Value) bool { return a.Def == nil || a.Def.Name != collective.Permute || a.Def.Run != x.Run })
}

// order is the text with the head first, the gathers of early before the operations
// that they are to stand before, and every other collective behind its last operand.
func (t *text) order(head []*ir.Op, early map[*ir.Op][]*ir.Op, moved map[*ir.Op]bool) []*ir.Op {
	waits := map[*ir.Op]int{}           // operands that are not there yet
	readers := map[*ir.Value][]*ir.Op{} // hoisted collectives that read a value
	made := t.made()
	for _, x := range t.ops {
		if moved[x] || !group(x) {
			continue
		}
		for _, a := range x.Args {
			if _, here := made[a]; here {
				waits[x]++
				readers[a] = append(readers[a], x)
			}
		}
		moved[x] = waits[x] > 0
	}
	out := make([]*ir.Op, 0, len(t.ops))
	var emit func(x *ir.Op)
	ready := func(x *ir.Op) {
		for _, r := range x.Results {
			for _, c := range readers[r] {
				if waits[c]--; waits[c] == 0 {
					emit(c)
				}
			}
		}
	}
	emit = func(x *ir.Op) {
		out = append(out, x)
		ready(x)
	}
	from, _ := t.body()
	out = append(out, t.ops[:from]...)
	for _, x := range head {
		emit(x)
	}
	for _, x := range t.ops[:from] {
		ready(x)
	}
	for _, x := range t.ops[from:] {
		for _, g := range early[x] {
			emit(g)
		}
		if !moved[x] {
			emit(x)
		}
	}
	return out
}

// given are the collectives of a task that runs once, but gathers, whose operands tasks
// before have made, such as the gradients that microbatches add up to: these are
// exchanged where the task begins, in few buckets. In tasks of microbatches they stay
// where they are, since there their results would take memory too early.
func (t *text) given() (out []*ir.Op) {
	if t.task == nil || !t.task.Once {
		return nil
	}
	made := t.made()
	for _, x := range t.ops {
		here := func(v *ir.Value) bool { _, here := made[v]; return here }
		before := func(v *ir.Value) bool { return v.Def != nil }
		if group(x) && !grows(x) && !slices.ContainsFunc(x.Args, here) && slices.ContainsFunc(x.Args, before) {
			out = append(out, x)
		}
	}
	return out
}

// gathers says before which operation outside of runs each gather is to stand of what
// is there for longer, as parameters are from the beginning and in the backward phase
// what the forward phase left in shards: where the layer begins that is `prefetch`
// layers before its own, in the order in which the function gathers them, but not
// before a run, during which it would take memory for all of it. A layer is the
// gathers, one after the other, for one instance of a repeated module.
func (o *options) gathers(t *text) map[*ir.Op]*ir.Op {
	out := map[*ir.Op]*ir.Op{}
	if o.prefetch <= 0 {
		return out
	}
	var begins []*ir.Op // of each layer: its first operation
	var fresh []int     // layers that have none yet
	least := 0          // the first layer behind the last run
	ahead := map[*ir.Op]int{}
	layer := ""
	for _, x := range t.ops {
		if !o.movable(x) {
			for _, k := range fresh {
				begins[k] = x
			}
			fresh = fresh[:0]
			if t.runs[x] != nil {
				least, layer = len(begins), ""
			}
			continue
		}
		if !grows(x) {
			continue
		}
		if l := layerOf(x.Scope); len(begins) == least || l != layer {
			layer = l
			fresh = append(fresh, len(begins))
			begins = append(begins, nil)
		}
		if len(t.runs) > 0 {
			o.layer[x] = len(begins)
		}
		ahead[x] = max(least, len(begins)-1-o.prefetch)
	}
	index := make(map[*ir.Op]int, len(t.ops))
	for i, x := range t.ops {
		index[x] = i
	}
	made := t.made()
	for x, k := range ahead {
		if begins[k] == nil {
			continue
		}
		late := func(v *ir.Value) bool { at, here := made[v]; return here && at >= index[begins[k]] }
		if !slices.ContainsFunc(x.Args, late) {
			out[x] = begins[k]
		}
	}
	return out
}

// ahead are the operations of a run that are issued iterations before their instance comes,
// in the order in which they stand at the head of its text: gathers of what is there
// for longer, and the kernels that make of it what they send, such as casts. What the
// run reads last is `prefetch` iterations ahead; of two gathers of which one reads the
// other, the first is an iteration further ahead, so that both run concurrently with kernels.
func (o *options) ahead(t *text) []*ir.Op {
	if o.prefetch <= 0 {
		return nil
	}
	made := t.made()
	there := map[*ir.Op]bool{} // all of whose operands are, or are made ahead
	for _, x := range t.ops {
		gathers := o.begins(x) && grows(x)
		if !gathers && !casts(x) {
			continue
		}
		late := func(v *ir.Value) bool {
			at, here := made[v]
			return here && !(there[t.ops[at]] && gathers)
		}
		there[x] = !slices.ContainsFunc(x.Args, late)
	}
	var out []*ir.Op
	iterations := map[*ir.Op]int{}
	for i := len(t.ops) - 1; i >= 0; i-- {
		x := t.ops[i]
		if there[x] && group(x) {
			iterations[x] = max(iterations[x], o.prefetch)
		}
		if iterations[x] == 0 {
			continue
		}
		x.Ahead = iterations[x]
		out = append(out, x)
		more := 0
		if group(x) {
			more = 1
		}
		for _, a := range x.Args {
			if at, here := made[a]; here {
				d := t.ops[at]
				iterations[d] = max(iterations[d], x.Ahead)
				if group(d) {
					iterations[d] = max(iterations[d], x.Ahead+more)
				}
			}
		}
	}
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b *ir.Op) int {
		return cmp.Or(cmp.Compare(b.Ahead, a.Ahead), cmp.Compare(rank(a), rank(b)))
	})
	return out
}

// rank is the order at the head of a run: kernels, so that gathers stand together.
func rank(x *ir.Op) int {
	if group(x) {
		return 1
	}
	return 0
}

// casts reports whether x is an elementwise kernel that does not add to what enters a
// tick.
func casts(x *ir.Op) bool {
	return op.Has(x, op.Calls) && x.First == nil && fusion.Class(x.Callee.Attrs.Text("kind")) == fusion.Map
}

// grows reports whether x is a gather, whose result takes more memory than what it
// reads.
func grows(x *ir.Op) bool { return op.Has(x, op.Gathers) && !op.Has(x, op.Scatters) }
