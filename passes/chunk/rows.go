package chunk

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// how is what an operation does to the rows of its operands.
type how uint8

const (
	mixes how = iota // it needs more than one row at a time
	rows             // each row of its results is made of that row of its operands
	sums             // its result is a sum over rows
	maxes            // or a maximum
)

// treats says what o does to rows, which are along axes; all of them have one name in
// all values. The sharding rule says it: what could be done for the shards of an axis on
// as many devices can be done for ranges of it one after the other.
func treats(o *ir.Op, axes []string) how {
	d := op.Of(o)
	switch d.Class {
	case op.Elementwise, op.Reduction, op.Contraction, op.Movement, op.Indexed:
	case op.Collective:
		return exchanges(o, d, axes)
	default:
		return mixes
	}
	rule := d.Shard(o)
	var is how
	for i, axis := range axes {
		h := along(o, &rule, axis)
		if h == mixes || i > 0 && h != is {
			return mixes
		}
		is = h
	}
	return is
}

// along is what o, of this rule, does to the rows along one axis.
func along(o *ir.Op, rule *op.Rule, axis string) how {
	var at *op.Factor
	for i := range rule.Factors {
		f := &rule.Factors[i]
		if !slices.Contains(f.Args, axis) && !slices.Contains(f.Results, axis) {
			continue
		}
		if at != nil {
			return mixes // two dimensions of one name
		}
		at = f
	}
	other := func(n string) bool { return n != "" && n != axis }
	switch {
	case at == nil || slices.ContainsFunc(at.Args, other) || slices.ContainsFunc(at.Results, other) || at.Minor != nil || op.Placed(o, at):
		return mixes
	case at.Kind == op.PassThrough && !slices.Contains(at.Results, ""):
		return rows
	case at.Kind == op.Reduce && !slices.Contains(at.Results, axis):
		if at.Reduction == op.Max {
			return maxes
		}
		return sums
	}
	return mixes
}

// exchanges is rows for a collective that moves nothing along axes, as the sum over the
// shards of the vocabulary.
func exchanges(o *ir.Op, d *op.Def, axes []string) how {
	if !op.Has(o, op.Exchanges) || o.Start {
		return mixes
	}
	for _, axis := range axes {
		for _, v := range append(slices.Clone(o.Args), o.Results...) {
			if !v.Type.Has(axis) {
				return mixes
			}
		}
		for _, a := range d.Attrs {
			if o.Attrs.Text(a.Key) == axis || slices.Contains(o.Attrs.Names(a.Key), axis) {
				return mixes
			}
		}
	}
	return rows
}

// channel is what messages between the devices of a pipeline are told apart by.
type channel struct {
	of            string
	from, to, tag int64
}

// data says which values are made of the data of the step; the others are weights and
// what is made of them.
type data map[channel]bool // what is sent that is

// dataOf follows data through the messages of m.
func dataOf(m *ir.Module) data {
	d := data{}
	for n := -1; n < len(d); {
		n = len(d)
		for _, f := range m.Funcs {
			of := d.in(f)
			for _, o := range f.Ops {
				if op.Has(o, op.Sends) && of[o.Args[0]] {
					d[channel{f.Of, int64(f.Stage.Or(0)), o.Attrs.Int("peer", 0), o.Attrs.Int("tag", 0)}] = true
				}
			}
		}
	}
	return d
}

// in are the values of f that are made of data.
func (d data) in(f *ir.Func) map[*ir.Value]bool {
	of := map[*ir.Value]bool{}
	for _, a := range f.Args {
		of[a.Value] = a.Role == ir.RoleData
	}
	for _, o := range f.Ops {
		is := op.Of(o).Class == op.Boundary ||
			op.Has(o, op.Receives) && d[channel{f.Of, o.Attrs.Int("peer", 0), int64(f.Stage.Or(0)), o.Attrs.Int("tag", 0)}] ||
			slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return of[v] })
		for _, v := range o.Results {
			of[v] = is
		}
	}
	return of
}
