package train

import (
	"slices"

	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// optimizer is an optimizer of a train block, with the options that every one
// has.
type optimizer struct {
	value.OptimizerRef
	entry   *syntax.Entry
	own     []*syntax.Arg // arguments that the optimizer declares
	clip    *syntax.Arg
	chosen  []*syntax.Arg // decay and no_decay, as written
	decay   []string      // patterns of paths
	noDecay []string
	on      []string // patterns of the parameters that are its own; nil: all that are left
	average *syntax.Arg
	update  *syntax.Fn
}

// commonOptions are taken by the compiler from the arguments of any optimizer
// that does not declare them itself.
var commonOptions = []string{"average", "clip", "decay", "no_decay", "on"}

// optimizersOf resolves the entry of the train block: one optimizer, or several, of
// which each has the parameters of its `on` that none before it has.
func optimizersOf(f *eval.Frame, t *Block) []*optimizer {
	e := t.entries["optimizer"]
	if e == nil {
		return nil
	}
	v := f.Expr(e.Value)
	list, several := v.(value.Tuple)
	if !several {
		list = value.Tuple{v}
	}
	var out []*optimizer
	for i, v := range list {
		o := optimizerOf(f, e, v)
		if o == nil {
			return nil
		}
		if o.on == nil && i < len(list)-1 {
			f.Wants("E0506", o.At, "`on = …` in all but the last", "", "%s, without `on`, takes all parameters and leaves none for the next optimizer", o.What())
			return nil
		}
		out = append(out, o)
	}
	if len(out) == 0 {
		f.Wants("E0506", e.Value, "an optimizer with its options, such as `optim.AdamW(lr = 3e-4)`", "", "an empty list")
	}
	return out
}

// of is the optimizer of a parameter, nil where none has it.
func of(opts []*optimizer, p *value.Param) *optimizer {
	for _, o := range opts {
		if o.on == nil || value.MatchesAny(o.on, p.Path) {
			return o
		}
	}
	return nil
}

// namesOf is what the module says of its optimizers.
func namesOf(opts []*optimizer) ir.Attr {
	var names ir.Names
	for _, o := range opts {
		names = append(names, o.Decl.Name.Name)
	}
	if len(names) == 1 {
		return ir.Attr{Key: "optimizer", Val: ir.Name(names[0])}
	}
	return ir.Attr{Key: "optimizer", Val: names}
}

// optimizerOf is one optimizer of the entry.
func optimizerOf(f *eval.Frame, e *syntax.Entry, v value.Value) *optimizer {
	ref, ok := v.(value.OptimizerRef)
	if !ok {
		switch v := v.(type) {
		case value.Unknown:
		case value.Word:
			f.Undefined(v)
		default:
			f.Wants("E0506", e.Value, "an optimizer with its options, such as `optim.AdamW(lr = 3e-4)`", "", "found %s", v.What())
		}
		return nil
	}
	o := &optimizer{OptimizerRef: ref, entry: e, update: ref.Decl.Fn("update")}
	if o.update == nil || len(o.update.Params) != 2 {
		f.Wants("E0506", e.Value, "`fn update(w, g)` in it", "", "%s has no function `update` of two arguments", ref.What())
		return nil
	}
	declared := eval.ParamNames(ref.Decl.Params)
	for _, a := range ref.Args {
		if a.Name == nil || slices.Contains(declared, a.Name.Name) || !slices.Contains(commonOptions, a.Name.Name) {
			o.own = append(o.own, a)
			continue
		}
		switch a.Name.Name {
		case "clip":
			o.clip = a
			continue
		case "average":
			o.average = a
			continue
		case "on":
			if o.on = patterns(f, a.Value); o.on == nil {
				return nil
			}
			continue
		}
		if !slices.Contains(declared, "weight_decay") {
			f.Wants("E0506", a, "no `"+a.Name.Name+"`", "", "%s has no `weight_decay`, so that no parameter decays", ref.What())
			continue
		}
		o.chosen = append(o.chosen, a)
		if a.Name.Name == "decay" {
			o.decay = patterns(f, a.Value)
		} else {
			o.noDecay = patterns(f, a.Value)
		}
	}
	return o
}

// patterns are strings that select parameters by path.
func patterns(f *eval.Frame, x syntax.Expr) []string {
	v := f.Expr(x)
	list, ok := v.(value.Tuple)
	if !ok {
		list = value.Tuple{v}
	}
	var out []string
	for _, e := range list {
		s, ok := e.(value.Text)
		if !ok {
			f.NotA(x, e, "a string that selects parameters, such as \"blocks.*.ln1.gain\"")
			continue
		}
		if !f.Interp.Model.Selects(string(s)) {
			f.Errorf("E0412", x, "no parameter path matches `%s`", value.Clip(string(s)))
		}
		out = append(out, string(s))
	}
	return out
}

// differs is the path of an omitted parameter that decays where the one that it is like
// does not, or the other way about; empty where there is none.
func (o *optimizer) differs(trained []*value.Param) string {
	if len(o.decay)+len(o.noDecay) == 0 {
		return "" // alike in all that decides
	}
	for _, p := range trained {
		if p.Like != nil && o.decays(p) != o.decays(p.Like) {
			return p.Path
		}
	}
	return ""
}

// decays is whether weight decay applies: as a pattern says, else as the
// parameter's declaration does, else to parameters of two axes or more.
func (o *optimizer) decays(p *value.Param) bool {
	switch {
	case value.MatchesAny(o.noDecay, p.Path):
		return false
	case value.MatchesAny(o.decay, p.Path):
		return true
	case p.Decay != nil:
		return *p.Decay
	}
	return p.Type.Rank() >= 2
}
