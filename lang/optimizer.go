package lang

import (
	"slices"

	"ptc/lang/syntax"
)

// optimizer is an optimizer of a train block, with the options that every one
// has.
type optimizer struct {
	optimizerRef
	entry   *syntax.Entry
	own     []*syntax.Arg // arguments that the optimizer declares
	clip    *syntax.Arg
	chosen  []*syntax.Arg // decay and no_decay, as written
	decay   []string      // patterns of paths
	noDecay []string
	update  *syntax.Fn
}

// commonOptions are taken by the compiler from the arguments of any optimizer
// that does not declare them itself.
var commonOptions = []string{"clip", "decay", "no_decay"}

// optimizer resolves the entry of the train block.
func optimizerOf(f *frame, t *training) *optimizer {
	e := t.entries["optimizer"]
	if e == nil {
		return nil
	}
	v := f.expr(e.Value)
	ref, ok := v.(optimizerRef)
	if !ok {
		switch v := v.(type) {
		case unknown:
		case word:
			f.undefined(v)
		default:
			f.wants("E0506", e.Value, "an optimizer with its options, such as `optim.AdamW(lr = 3e-4)`", "", "found %s", v.what())
		}
		return nil
	}
	o := &optimizer{optimizerRef: ref, entry: e}
	for _, m := range ref.decl.Members {
		if fn, ok := m.(*syntax.Fn); ok && fn.Name.Name == "update" {
			o.update = fn
		}
	}
	if o.update == nil || len(o.update.Params) != 2 {
		f.wants("E0506", e.Value, "`fn update(w, g)` in it", "", "%s has no function `update` of two arguments", ref.what())
		return nil
	}
	declared := formalNames(formalsOf(ref.decl.Params))
	for _, a := range ref.args {
		if a.Name == nil || slices.Contains(declared, a.Name.Name) || !slices.Contains(commonOptions, a.Name.Name) {
			o.own = append(o.own, a)
			continue
		}
		if a.Name.Name == "clip" {
			o.clip = a
			continue
		}
		if !slices.Contains(declared, "weight_decay") {
			f.wants("E0506", a, "no `"+a.Name.Name+"`", "", "%s has no `weight_decay`, so that no parameter decays", ref.what())
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

// checkDecay warns of a choice of what decays where nothing does.
func (u *updater) checkDecay() {
	c, ok := u.inst.args["weight_decay"].(number)
	if !ok || c.v != 0 {
		return
	}
	for _, a := range u.o.chosen {
		u.l.warnings = append(u.l.warnings, "`"+a.Name.Name+"` of "+u.o.what()+" has no effect: `weight_decay` is 0")
	}
}

// patterns are strings that select parameters by path.
func patterns(f *frame, x syntax.Expr) []string {
	v := f.expr(x)
	list, ok := v.(tuple)
	if !ok {
		list = tuple{v}
	}
	var out []string
	for _, e := range list {
		s, ok := e.(text)
		if !ok {
			f.notA(x, e, "a string that selects parameters, such as \"blocks.*.ln1.gain\"")
			continue
		}
		if !f.in.selects(string(s)) {
			f.errorf("E0412", x, "no parameter has a path like `%s`", clip(string(s)))
		}
		out = append(out, string(s))
	}
	return out
}

// decays is whether weight decay applies: as a pattern says, else as the
// parameter's declaration does, else to parameters of two axes or more.
func (o *optimizer) decays(p *param) bool {
	switch {
	case matchesAny(o.noDecay, p.path):
		return false
	case matchesAny(o.decay, p.path):
		return true
	case p.decay != nil:
		return *p.decay
	}
	return p.typ.Rank() >= 2
}
