package roll

import (
	"slices"

	"ptc/ir"
)

// Functions have many thousands of values, so what is known of each is in slices, by
// the numbers that the values had when the search began. What is made since then has
// higher numbers, and nothing is known of it.

// table is something of values; without an entry it is the zero T.
type table[T any] []T

func (t table[T]) get(v *ir.Value) (x T) {
	if v.ID < len(t) {
		x = t[v.ID]
	}
	return x
}

// opTable is something of operations, by their first results.
type opTable[T any] []T

func (t opTable[T]) get(o *ir.Op) (x T) { return table[T](t).get(o.Results[0]) }

func (t opTable[T]) set(o *ir.Op, x T) { t[o.Results[0].ID] = x }

// readers are the operations that read each value.
type readers struct {
	first []int32 // of value i: from first[i] to first[i+1] in ops
	ops   []*ir.Op
}

func readersOf(f *ir.Func, values int) readers {
	r := readers{first: make([]int32, values+1)}
	for _, o := range f.Ops {
		for _, a := range o.Args {
			r.first[a.ID+1]++
		}
	}
	for i := range values {
		r.first[i+1] += r.first[i]
	}
	r.ops = make([]*ir.Op, r.first[values])
	next := append([]int32(nil), r.first...)
	for _, o := range f.Ops {
		for _, a := range o.Args {
			r.ops[next[a.ID]] = o
			next[a.ID]++
		}
	}
	return r
}

func (r readers) of(v *ir.Value) []*ir.Op {
	if v.ID+1 >= len(r.first) {
		return nil
	}
	return r.ops[r.first[v.ID]:r.first[v.ID+1]]
}

// count is how many values f has.
func count(f *ir.Func) int {
	n := len(f.Args)
	for _, o := range f.Ops {
		n += len(o.Results)
	}
	return n
}

// results is whether every operation has some.
func results(f *ir.Func) bool {
	return !slices.ContainsFunc(f.Ops, func(o *ir.Op) bool { return len(o.Results) == 0 })
}
