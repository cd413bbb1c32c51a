package compiler

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// fieldUse says how a program reads the whole numbers of a field: as positions along an axis of
// Below elements, by which it takes rows or which it compares with; Compared is whether it does
// the latter, as a loss does with its targets; Guarded, whether it asks which are negative; and
// Own, whether it compares them with other numbers, so that it may treat any in its own way.
type fieldUse struct {
	Below                  int
	Compared, Guarded, Own bool
}

// keeps are the operations whose result has the numbers of the first operand.
var keeps = []string{op.Rename, op.Transpose, op.Broadcast, op.Split, op.Merge, op.Slice, op.Cast, op.Take}

// compares are those that compare two numbers.
var compares = []string{op.Eq, op.Ne, op.Lt, op.Le, op.Gt, op.Ge}

// reading is what is known of the whole numbers of one function.
type reading struct {
	fields    map[*ir.Value]*fieldUse // whose numbers a value has
	positions map[*ir.Value]int       // a value that is all positions along an axis of so many elements
	consts    map[*ir.Value]bool
	signs     map[*ir.Value]bool // constants that tell negative numbers from others
}

// fieldUses are those of the fields of data.
func fieldUses(m *ir.Module) map[string]*fieldUse {
	out := map[string]*fieldUse{}
	for _, f := range m.Funcs {
		n := reading{map[*ir.Value]*fieldUse{}, map[*ir.Value]int{}, map[*ir.Value]bool{}, map[*ir.Value]bool{}}
		for _, a := range f.Args {
			if a.Role == ir.RoleData && a.Value.Type.DType == ir.I32 {
				if out[a.Path] == nil {
					out[a.Path] = &fieldUse{}
				}
				n.fields[a.Value] = out[a.Path]
			}
		}
		for _, o := range f.Ops {
			n.read(o)
		}
	}
	return out
}

// read notes what o makes, and how it uses the numbers that it reads.
func (n *reading) read(o *ir.Op) {
	switch {
	case slices.Contains(keeps, o.Name) && o.Result().Type.DType != ir.Bool:
		n.keep(o)
	case o.Name == op.Index:
		n.positions[o.Result()] = int(o.Attrs.Int("size", 0))
	case o.Name == op.Const:
		v := o.Attrs.Float("value", 1)
		n.consts[o.Result()], n.signs[o.Result()] = true, v == 0 || v == -1
	case o.Name == op.Gather:
		if u := n.fields[o.Args[1]]; u != nil {
			u.bound(o.Args[0].Type.Size(o.Attrs.Text("axis")))
		}
	case slices.Contains(compares, o.Name):
		n.compare(o, o.Args[0], o.Args[1])
		n.compare(o, o.Args[1], o.Args[0])
	}
}

// keep has the result of o be what its operand is.
func (n *reading) keep(o *ir.Op) {
	x, r := o.Args[0], o.Result()
	if u := n.fields[x]; u != nil {
		n.fields[r] = u
	}
	if size := n.positions[x]; size > 0 && o.Name != op.Slice { // some positions are not all
		n.positions[r] = size
	}
	n.consts[r], n.signs[r] = n.consts[x], n.signs[x]
}

// compare notes that o compares the numbers of x, if they are a field's, with those of y.
func (n *reading) compare(o *ir.Op, x, y *ir.Value) {
	u := n.fields[x]
	switch {
	case u == nil:
	case o.Name == op.Eq && n.positions[y] > 0:
		u.bound(n.positions[y])
		u.Compared = true
	case n.signs[y]:
		u.Guarded = true
	case n.consts[y]:
		u.Own = true
	}
}

// bound takes the smallest bound.
func (n *fieldUse) bound(size int) {
	if size > 0 && (n.Below == 0 || size < n.Below) {
		n.Below = size
	}
}

// pinNumbers notes in the module which numbers arrays may have, so that a run refuses
// others: out of range, a row that is taken is 0 and a target that is compared is none. It warns
// of targets of -1 that are not left out.
func pinNumbers(r *Report, m *ir.Module) {
	term := m.MetaTerm("data")
	if term == nil {
		return
	}
	fields := fieldUses(m)
	sources := slices.Clone(term.Args.Terms(sourcesKey))
	for i := range sources {
		pinNumbersOf(r, m, &sources[i], fields)
	}
	if len(sources) > 0 {
		term.Args = term.Args.With(sourcesKey, ir.Terms(sources))
		return
	}
	pinNumbersOf(r, m, term, fields)
}

// tokenFields are the fields of sources that have tokens.
var tokenFields = map[string][]string{
	"tokens": {"tokens", "targets"}, "text": {"tokens", "targets"}, "chat": {"tokens", "targets"},
	"preferences": {"chosen", "chosen_targets", "rejected", "rejected_targets"},
}

func pinNumbersOf(r *Report, m *ir.Module, term *ir.Term, fields map[string]*fieldUse) {
	kind := term.Args.Text("kind")
	if names := tokenFields[kind]; names != nil {
		var all fieldUse
		for _, name := range names {
			if n := fields[name]; n != nil && !n.Own {
				all.bound(n.Below)
			}
		}
		// A run knows the axis vocab itself.
		if all.Below > 0 && all.Below != vocabulary(m) && term.Args.Get("below") == nil {
			term.Args = term.Args.With("below", ir.Int(int64(all.Below)))
		}
	}
	switch kind {
	case "tokens", "chat", "preferences":
		n := fields["targets"]
		why := ""
		if kind == "preferences" {
			n = fields["chosen_targets"]
		}
		switch {
		case n == nil || !n.Compared || n.Guarded || n.Own:
			return
		case kind != "tokens":
			why = "what the assistant does not say"
		case term.Args.Text("prompt") != "":
			why = "tokens of prompts"
		case term.Args.Bool("documents"):
			why = "the first tokens of documents"
		default:
			return
		}
		text := fmt.Sprintf("the targets of %s are -1, but the loss counts them: ignore them with `masked = true` of `nn.cross_entropy`", why)
		if !slices.Contains(r.Warnings, text) {
			r.Warnings = append(r.Warnings, text)
		}
	case "arrays", "stream":
		for name, n := range fields {
			if n.Below == 0 || n.Own || kind == "arrays" && term.Args.Get(name+"_file") == nil {
				continue
			}
			if term.Args.Get(name+"_below") == nil {
				term.Args = term.Args.With(name+"_below", ir.Int(int64(n.Below)))
			}
			if n.Compared && !n.Guarded && term.Args.Get(name+"_least") == nil {
				term.Args = term.Args.With(name+"_least", ir.Int(0))
			}
		}
	}
}
