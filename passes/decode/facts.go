package decode

import (
	"maps"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// digit is what an axis counts of a position p: p / div % size. The axis of positions
// itself has the digit {1, length}; of its parts by `split`, each has one:
//
//	seq=12 {1, 12}  split  major=3 {4, 3}, minor=4 {1, 4}
type digit struct{ div, size int }

// fact is what is known of a value of the function with all positions.
type fact struct {
	tokens bool             // it depends on tokens
	axes   map[string]digit // axes along which it has one row for each position, or digit
}

// factsOf goes through the function once. That an axis has a digit is where to cache,
// no proof: that is of the function that is derived. So where parts are merged to an axis
// of positions by its name, as in a sum over what is before, they are taken at their word.
func factsOf(f *ir.Func, tokens *ir.Value) map[*ir.Value]fact {
	facts := map[*ir.Value]fact{}
	axis := tokens.Type.Axes[1]
	facts[tokens] = fact{true, map[string]digit{axis.Name: {1, axis.Size}}}
	for _, o := range f.Ops {
		for _, r := range o.Results {
			f := through(o, r, facts)
			if o.Name == op.Merge && f.tokens && o.Attrs.Text("into") == axis.Name && r.Type.Size(axis.Name) == axis.Size {
				f.axes[axis.Name] = digit{1, axis.Size}
			}
			facts[r] = f
		}
	}
	return facts
}

// through is the fact of a result from those of the operands.
func through(o *ir.Op, r *ir.Value, facts map[*ir.Value]fact) fact {
	out := fact{axes: map[string]digit{}}
	for _, a := range o.Args {
		f := facts[a]
		out.tokens = out.tokens || f.tokens
		for name, d := range moved(o, a, f.axes) {
			if r.Type.Size(name) == d.size {
				out.axes[name] = d
			}
		}
	}
	return out
}

// moved are the axes of an operand by their names in the result.
func moved(o *ir.Op, a *ir.Value, axes map[string]digit) map[string]digit {
	out := map[string]digit{}
	maps.Copy(out, axes)
	switch o.Name {
	case op.Rename:
		clear(out)
		for name, d := range axes {
			out[renamed(o, name)] = d
		}
	case op.Split:
		axis := o.Attrs.Text("axis")
		if d, ok := axes[axis]; ok {
			delete(out, axis)
			maps.Copy(out, partsOf(d, o.Attrs.Sizes("into")))
		}
	case op.Merge:
		names := o.Attrs.Names("axes")
		whole, ok := wholeOf(names, axes)
		for _, n := range names {
			delete(out, n)
		}
		if ok {
			out[o.Attrs.Text("into")] = whole
		}
	case op.Slice, op.Pad, op.Concat, op.Take, op.Gather, op.ScatterAdd:
		if axis := o.Attrs.Text("axis"); a == o.Args[0] || o.Name == op.Concat {
			delete(out, axis)
		}
	}
	return out
}

func renamed(o *ir.Op, name string) string {
	for _, p := range o.Attrs.Pairs("axes") {
		if p.From == name {
			return p.To
		}
	}
	return name
}

// partsOf are the digits of the parts of an axis.
func partsOf(d digit, into ir.Sizes) map[string]digit {
	out, div := map[string]digit{}, d.div
	for _, s := range slices.Backward(into) {
		out[s.Name] = digit{div, s.N}
		div *= s.N
	}
	return out
}

// wholeOf is the digit of axes that are merged, major first.
func wholeOf(names []string, axes map[string]digit) (digit, bool) {
	var whole digit
	for i, n := range slices.Backward(names) {
		d, ok := axes[n]
		switch {
		case !ok || i < len(names)-1 && d.div != whole.div*whole.size:
			return digit{}, false
		case i == len(names)-1:
			whole = d
		default:
			whole.size *= d.size
		}
	}
	return whole, true
}
