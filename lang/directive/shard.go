package directive

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir/layout"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Shard is `shard axis, … over mesh_axis`; `of path` limits it to the
// parameters that the path selects, `between Block` to the values between
// instances of these modules, and `over (a, b)` names several mesh axes, the
// first one outermost.
type Shard struct {
	line
	Axes    []*syntax.Ident `parser:"'shard' @@ ( ',' @@ )*"`
	Of      []*syntax.Path  `parser:"( 'of' @@ ( ',' @@ )* )?"`
	Over    []*syntax.Ident `parser:"'over' ( '(' @@ ( ',' @@ )* ')' | @@ )"`
	Between []*syntax.Path  `parser:"( 'between' @@ ( ',' @@ )* )?"`
	Options *syntax.Options `parser:"@@?"`
}

var _ = define(Form{Word: "shard", Node: &Shard{}, Clauses: []string{"of", "over"},
	Keys: []Key{{Name: "attention", Words: layout.Attentions}, {Name: "order", Words: layout.Orders}}})

// Names are the axes that are sharded, and the mesh axes over which they are.
func (d *Shard) Names() (axes, mesh []*syntax.Ident) { return d.Axes, d.Over }

func (d *Shard) read(r *reading) {
	l := &layout.Shard{Over: r.meshNames(d.Over), Of: r.paramsOf(d.Of)}
	for _, p := range d.Between {
		if m := r.model.module(p.String()); m != nil {
			l.Between = append(l.Between, m.Name.Name)
		} else {
			r.notModule(p)
		}
	}
	for _, a := range d.Axes {
		if all := r.model.allAxes(); slices.Contains(all, a.Name) {
			l.Axes = append(l.Axes, a.Name)
		} else if !r.model.incomplete {
			r.f.Wants("E0402", a, diag.OneOf(all), diag.DidYouMean(a.Name, all), "no tensor of the model has an axis `%s`", a.Name)
		}
	}
	d.sequence(r, l)
	r.add(d, d, l)
}

// notModule reports what stands after `between` and names no module: perhaps a
// path to instances of one.
func (r *reading) notModule(p *syntax.Path) {
	if mods := r.model.modules(p); len(mods) > 0 {
		n := mods[0].Decl.Name.Name
		r.f.Wants("E0412", p, "the name of a module: `"+n+"`", "`between "+n+"` is about what passes between its instances", "`%s` is a path", p)
		return
	}
	r.unknownPath(p)
}

// sequence reads how the positions of a sequence lie and meet in attention:
// options of a rule about one axis, everywhere, over one mesh axis.
func (d *Shard) sequence(r *reading, l *layout.Shard) {
	if d.Options == nil {
		return
	}
	given := map[string]syntax.Expr{}
	choose := func(k string, to *string, from []string) func(syntax.Expr) {
		return func(x syntax.Expr) {
			w, ok := r.word(x)
			if ok && !slices.Contains(from, w) {
				r.f.Wants("E0415", x, diag.OneOf(from), diag.DidYouMean(w, from), "`%s` cannot be %s", k, value.Clip(w))
				return
			}
			given[w], *to = x, w
		}
	}
	switch {
	case len(d.Of) > 0:
		r.f.Wants("E0415", d.Options, "a rule for all tensors, without `of`", "", "`attention` and `order` in a rule for parameters")
	case len(d.Between) > 0:
		r.f.Wants("E0415", d.Options, "a rule for all tensors, without `between`", "", "`attention` and `order` in a rule with `between`")
	case len(d.Axes) > 1:
		r.f.Wants("E0415", d.Options, "a separate rule for the sequence", "", "`attention` and `order` in a rule for %d axes", len(d.Axes))
	case len(d.Over) > 1:
		r.f.Wants("E0415", d.Options, "one mesh axis: the devices of a ring", "", "`attention` and `order` over %d mesh axes", len(d.Over))
	default:
		r.options(d.Options, map[string]func(syntax.Expr){
			"attention": choose("attention", &l.Attention, layout.Attentions),
			"order":     choose("order", &l.Order, layout.Orders),
		})
		if given["zigzag"] != nil && given["gather"] != nil {
			r.f.Wants("E0415", given["zigzag"], "`attention = ring`, or `order = contiguous`", "", "an order that shares the work of a ring, where attention gathers")
		}
	}
}

// check warns of a rule over single devices, and of one about the borders of
// modules that a rule about every tensor has anyway.
func (d *Shard) check(c *checking) {
	if alone(c.mod, d.Over) {
		c.noEffect(d, "shard", "its mesh axes have one device")
		return
	}
	if len(d.Between) == 0 {
		return
	}
	for _, a := range d.Axes {
		if !slices.ContainsFunc(c.shards, func(r shardRule) bool {
			return r.axis == a.Name && len(r.of)+len(r.between) == 0 && slices.EqualFunc(r.mesh, d.Over, func(a, b *syntax.Ident) bool { return a.Name == b.Name })
		}) {
			return
		}
	}
	c.noEffect(d, "shard", "another rule shards the same in all modules")
}
