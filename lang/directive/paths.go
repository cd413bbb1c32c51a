package directive

import (
	"ptc/internal/diag"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// paramsOf are the paths of the parameters that patterns select, in the order
// of declaration: by their own paths, or as part of instances or modules.
func (r *reading) paramsOf(ps []*syntax.Path) []string {
	params := r.model.made.Params
	hit := map[*value.Param]bool{}
	for _, p := range ps {
		before := len(hit)
		for _, q := range params {
			if r.model.covered(p, q.Path) {
				hit[q] = true
			}
		}
		switch {
		case !r.model.selects(p):
			r.unknownPath(p)
		case len(hit) == before && len(ps) == 1:
			r.f.Errorf("E0412", p, "`%s` has no parameters", p)
		}
	}
	out := []string{}
	for _, q := range params {
		if hit[q] {
			out = append(out, q.Path)
		}
	}
	return out
}

// modulesOf are the instances that patterns select, by their path or their
// module's name. A pattern must select one: to, what a parameter cannot be.
func (r *reading) modulesOf(ps []*syntax.Path, to string) (out []*value.Instance) {
	for _, p := range ps {
		mods := r.model.modules(p)
		switch out = append(out, mods...); {
		case len(mods) > 0, r.model.repeats(p):
		case r.model.selects(p):
			r.f.Wants("E0412", p, "a module such as `Block`, or the path of one", "", "`%s` is a parameter: only what modules compute can be %s", p, to)
		default:
			r.unknownPath(p)
		}
	}
	return out
}

func (r *reading) unknownPath(p *syntax.Path) {
	if !r.model.unnamed {
		r.f.Wants("E0412", p, "a module such as `Block`, or a path such as `blocks.*.attn`", diag.DidYouMean(p.String(), r.model.names()), "nothing in the model is called `%s`", p)
	}
}
