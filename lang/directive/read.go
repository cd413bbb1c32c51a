package directive

import (
	"maps"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// context is what directives are read and checked against.
type context struct {
	f     *eval.Frame // evaluates options, and reports mistakes
	decl  *syntax.Layout
	mod   *ir.Module // whose mesh the layout declares
	model *model
	// free are the mesh axes whose size an auto layout leaves open; here it is 1. It is nil
	// for an ordinary layout.
	free map[string]bool
}

// reading reads one directive after the other.
type reading struct {
	context
	unsized   map[string]bool        // mesh axes that are declared, in a size with a mistake
	once      map[string]syntax.Node // directives that may occur once
	rules     []rule
	precision layout.Precision
}

// rule is what a directive says, and the line that says it.
type rule struct {
	layout.Rule
	node syntax.Directive
}

// readAll reads the mesh and then the directives, in order.
func (r *reading) readAll() {
	for _, d := range of[*Mesh](r.decl) {
		d.read(r)
	}
	for _, d := range r.decl.Directives {
		switch d := d.(type) {
		case *Mesh:
		case directive:
			d.read(r)
		case *syntax.Entry:
			r.option(d)
		}
	}
}

// add appends a rule of a directive; at is its place.
func (r *reading) add(d syntax.Directive, at syntax.Node, l layout.Rule) {
	l.Place(at.At())
	r.rules = append(r.rules, rule{l, d})
}

// single reports a directive that occurs twice.
func (r *reading) single(n syntax.Node, what string) {
	if old := r.once[what]; old != nil {
		r.f.Report(source.Conflict("E0415", n, old.At(), "the first one", "", "", "a second `%s`", what))
	}
	r.once[what] = n
}

// option is an option of the layout.
func (r *reading) option(d *syntax.Entry) {
	var options, all []string
	for _, f := range Forms() {
		if all = append(all, f.Word); f.Option != nil {
			options = append(options, f.Word)
		}
	}
	if !slices.Contains(options, d.Key.Name) {
		slices.Sort(all)
		r.f.Wants("E0415", d.Key, "`"+strings.Join(options, "`, `")+"`, or a directive", diag.DidYouMean(d.Key.Name, all), "unknown option `%s` of a layout", d.Key.Name)
		return
	}
	r.single(d, d.Key.Name)
	o := FormOf(d).Option
	if o.Counts {
		if n, ok := r.count(d.Value, "E0415", o.What, 1, source.MaxSize); ok {
			r.add(d, d, o.rule(int64(n)))
		}
	} else if n, ok := r.bytes(d.Value, "E0415", o.What, o.Example, 0); ok {
		r.add(d, d, o.rule(int64(n)))
	}
}

// options reads `{ key = expr … }` with the readers of the known keys, and
// reports the others.
func (r *reading) options(o *syntax.Options, readers map[string]func(syntax.Expr)) {
	if o == nil {
		return
	}
	known := slices.Sorted(maps.Keys(readers))
	seen := map[string]syntax.Node{}
	for _, e := range o.Entries {
		k := e.Key.Name
		switch {
		case seen[k] != nil:
			r.f.Report(source.Twice(e.Key, seen[k]))
		case readers[k] == nil:
			want := diag.OneOf(known)
			if len(known) == 0 {
				want = "no options"
			}
			r.f.Wants("E0415", e.Key, want, diag.DidYouMean(k, known), "unknown option `%s`", k)
		default:
			readers[k](e.Value)
		}
		seen[k] = e.Key
	}
}

// word is the plain word that an option must be: 1f1b, bf16, attn.
func (r *reading) word(x syntax.Expr) (string, bool) {
	switch x := x.(type) {
	case *syntax.Name:
		return x.Name, true
	case *syntax.String:
		return x.Value, true
	}
	r.f.Wants("E0415", x, "a word", "", "the option is an expression")
	return "", false
}

// elems are the elements of a list or tuple; ok is false for what is neither.
func elems(x syntax.Expr) (xs []syntax.Expr, ok bool) {
	switch x := x.(type) {
	case *syntax.List:
		return x.Elems, true
	case *syntax.Tuple:
		return x.Elems, true
	}
	return nil, false
}

// words is one word or a list of them.
func (r *reading) words(x syntax.Expr) (out []string) {
	xs, ok := elems(x)
	if !ok {
		xs = []syntax.Expr{x}
	}
	for _, e := range xs {
		if w, ok := r.word(e); ok {
			out = append(out, w)
		}
	}
	return out
}

// paths is one path of modules or a list of them: a word, or a string where the path has
// points.
func (r *reading) paths(x syntax.Expr) []*syntax.Path {
	xs := []syntax.Expr{x}
	if l, ok := x.(*syntax.List); ok {
		xs = l.Elems
	}
	var out []*syntax.Path
	for _, e := range xs {
		w, ok := r.word(e)
		if !ok {
			continue
		}
		p := &syntax.Path{Span: e.Extent(), Parts: strings.Split(w, ".")}
		if slices.Contains(p.Parts, "") {
			r.f.Wants("E0412", e, "a module such as `Block`, or the path of one, \"blocks.*.mlp\"", "", "`%s` is not a path", value.Clip(w))
			continue
		}
		out = append(out, p)
	}
	return out
}

// count is an option that must be a number from lo to hi.
func (r *reading) count(x syntax.Expr, code, what string, lo, hi int) (int, bool) {
	c, ok := r.f.Number(x)
	if !ok {
		return 0, false
	}
	n, ok := c.Int()
	if !ok || n < lo || n > hi {
		r.f.Wants(code, x, "a whole number from "+value.FormatNumber(value.Whole(lo))+" to "+value.FormatNumber(value.Whole(hi)), "", "%s is %s", what, value.FormatNumber(c))
		return 0, false
	}
	return n, true
}

// bytes is an option that must be a size of at least lo bytes, such as the
// example.
func (r *reading) bytes(x syntax.Expr, code, what, example string, lo int) (int, bool) {
	c, ok := r.f.Number(x)
	if !ok {
		return 0, false
	}
	if !(c.V >= float64(lo) && c.V <= 1<<53) || !value.WholeBytes(c.V) {
		want := "a size such as `" + example + "`, in whole bytes"
		if lo == 0 {
			want += ", or 0"
		}
		r.f.Wants(code, x, want, "", "%s is %s", what, value.FormatNumber(c))
		return 0, false
	}
	return int(c.V), true
}

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
			r.f.Wants("E0412", p, "a module such as `Block`, or the path of one", "", "`%s` is a parameter: only values that modules compute can be %s", p, to)
		default:
			r.unknownPath(p)
		}
	}
	return out
}

func (r *reading) unknownPath(p *syntax.Path) {
	if !r.model.unnamed {
		r.f.Wants("E0412", p, "a module such as `Block`, or a path such as `blocks.*.attn`", diag.DidYouMean(p.String(), r.model.names()), "the model has no module or parameter `%s`", p)
	}
}
