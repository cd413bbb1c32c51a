package directive

import (
	"maps"
	"slices"

	"ptc/internal/diag"
	"ptc/ir/layout"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Recompute is `recompute Block { keep = [attn] }`; What may be `auto`.
type Recompute struct {
	line
	What    []*syntax.Path  `parser:"'recompute' @@ ( ',' @@ )*"`
	Options *syntax.Options `parser:"@@?"`
}

var _ = define(Form{Word: "recompute", Node: &Recompute{}, Keys: []Key{{Name: "keep", Paths: true}, {Name: "budget"}}})

// read names modules whose inner values are computed again in the
// backward pass, except those of the members kept; or leaves the choice to the
// compiler, under a budget of bytes.
func (d *Recompute) read(r *reading) {
	if len(d.What) == 1 && d.What[0].String() == "auto" {
		d.auto(r)
		return
	}
	for _, p := range d.What {
		if p.String() == "auto" {
			r.f.Wants("E0412", p, "`recompute auto` by itself, or the names of modules", "", "`auto` in a list of modules")
			return
		}
	}
	mods := r.modulesOf(d.What, "computed again")
	d.twice(r, mods)
	var keep []string
	r.options(d.Options, map[string]func(syntax.Expr){"keep": func(x syntax.Expr) {
		keep = r.words(x)
		for _, k := range keep {
			r.checkKept(x, k, mods)
		}
	}, "budget": func(x syntax.Expr) {
		r.f.Wants("E0415", x, "`recompute auto`, which chooses under a budget", "", "a rule that names modules has no budget")
	}})
	r.add(d, d, &layout.Recompute{Of: r.model.patterns(d.What), Keep: keep})
}

// twice reports instances that another rule of this kind names too:
// what one keeps, the other would compute again.
func (d *Recompute) twice(r *reading, mods []*value.Instance) {
	for _, i := range mods {
		if old := r.once[recomputes(i)]; old != nil && old != d {
			r.f.Report(source.Conflict("E0415", d, old.At(), "the first one", "one rule for each module", "", "`%s` is recomputed twice", i.Path))
			return
		}
	}
	for _, i := range mods {
		r.once[recomputes(i)] = d
	}
}

func recomputes(i *value.Instance) string { return "recompute of " + i.Path }

// auto leaves the choice to the compiler.
func (d *Recompute) auto(r *reading) {
	r.single(d, "recompute auto")
	l, given := &layout.Recompute{Of: []string{"auto"}}, false
	r.options(d.Options, map[string]func(syntax.Expr){"budget": func(x syntax.Expr) {
		given = true
		if n, ok := r.bytes(x, "E0420", "the budget of activations", "2 GiB", 1); ok {
			l.Budget = int64(n)
		}
	}, "keep": func(x syntax.Expr) {
		r.f.Wants("E0415", x, "names of modules to recompute: `recompute Block { keep = … }`", "", "`recompute auto` itself chooses what to keep")
	}})
	if !given && !r.hasMemory() {
		r.f.Wants("E0420", d, "`recompute auto { budget = 2 GiB }`, or `device memory = 80 GiB` in the layout", "", "`recompute auto` has no limit of memory")
	}
	r.add(d, d, l)
}

// checkKept checks that a name is a member of one of the modules.
func (r *reading) checkKept(x syntax.Expr, k string, mods []*value.Instance) {
	if len(mods) == 0 || r.model.unnamed {
		return
	}
	for _, i := range mods {
		if _, ok := i.Subs[k]; ok {
			return
		}
	}
	names := slices.Sorted(maps.Keys(mods[0].Subs))
	r.f.Wants("E0412", x, diag.OneOf(names), diag.DidYouMean(k, names), "%s has no module `%s`", mods[0].What(), k)
}
