package train

import (
	"math"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// stopEntries are the entries of a `stop` block.
var stopEntries = []string{"best", "least", "on", "patience"}

// StopEntries are the names of the entries of a `stop` block.
func StopEntries() []string { return slices.Clone(stopEntries) }

// stopAttrs reads when training ends early: after so many validations in a row (patience)
// in which the loss, or the metric `on`, was not better than the best so far by more than
// `least`.
func (l *Lowerer) stopAttrs(f *eval.Frame, t *Block) ir.Attrs {
	if len(t.Node.Stops) == 0 {
		return nil
	}
	x := t.Node.Stops[0]
	for _, y := range t.Node.Stops[1:] {
		l.Errs.Add(source.Conflict("E0515", y, x.At(), "the first one", "", "", "a second `stop` block"))
	}
	said := map[string]*syntax.Entry{}
	for _, e := range x.Entries {
		k := e.Key.Name
		switch {
		case !slices.Contains(stopEntries, k):
			f.Wants("E0503", e.Key, diag.OneOf(stopEntries), diag.DidYouMean(k, stopEntries), "`stop` has no entry `%s`", k)
		case said[k] != nil:
			l.Errs.Add(source.Twice(e.Key, said[k]))
		default:
			said[k] = e
		}
	}
	if said["patience"] == nil {
		f.Wants("E0504", x, "`patience = 3`", "", "`stop` lacks `patience`")
		return nil
	}
	out := ir.Attrs{}
	if n, ok := l.whole(f, "patience", said["patience"].Value, 1); ok {
		out = out.With("patience", ir.Int(n))
	}
	if e := said["least"]; e != nil {
		c, ok := f.Number(e.Value)
		if ok && (!(c.V >= 0) || math.IsInf(c.V, 0)) {
			f.Wants("E0515", e.Value, "a number of at least 0", "", "`least` is %s", value.FormatNumber(c))
		}
		out = out.With("least", ir.Float(c.V))
	}
	return t.watched(f, x, said, out)
}

// watched adds to out what a `stop` block looks at.
func (t *Block) watched(f *eval.Frame, x *syntax.Stop, said map[string]*syntax.Entry, out ir.Attrs) ir.Attrs {
	if e := said["on"]; e != nil {
		names := []string{ir.RoleLoss}
		for _, m := range t.metrics {
			names = append(names, m.Key.Name)
		}
		name := wordOf(e.Value)
		if !slices.Contains(names, name) {
			f.Wants("E0515", e.Value, diag.OneOf(names), diag.DidYouMean(name, names), "`on` is neither the loss nor a metric of `metrics { … }`")
		} else if name != ir.RoleLoss {
			if out = out.With("on", ir.Str(name)); said["best"] == nil {
				f.Wants("E0504", x, "`best = max` or `best = min`", "", "`stop` lacks `best`: is a large or a small `%s` better?", name)
			}
		}
	}
	if e := said["best"]; e != nil {
		switch w := wordOf(e.Value); w {
		case "max", "min":
			out = out.With("highest", ir.BoolVal(w == "max"))
		default:
			f.Wants("E0515", e.Value, "`max` or `min`", "", "`best` says whether a large number is good, or a small one")
		}
	}
	return out
}

// wordOf is the name that an expression is; empty where it is none.
func wordOf(x syntax.Expr) string {
	if n, ok := x.(*syntax.Name); ok {
		return n.Name
	}
	return ""
}
