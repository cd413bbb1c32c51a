package directive

import (
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir/layout"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// shard records each axis of `shard a, b over m`; checkShards looks at them
// together.
func (y *Layout) shard(d *syntax.Shard) {
	mesh := y.meshNames(d.Over)
	of := y.paramsOf(d.Of)
	var between []*syntax.Module
	var names []string
	for _, p := range d.Between {
		m := y.module(p.String())
		if m == nil {
			y.notModule(p)
			continue
		}
		between = append(between, m)
		names = append(names, m.Name.Name)
	}
	var axes []string
	for _, a := range d.Axes {
		if !y.axisExists(a.Name) {
			if y.incomplete {
				continue
			}
			all := y.allAxes()
			y.f.Wants("E0402", a, diag.OneOf(all), diag.DidYouMean(a.Name, all), "no tensor of the model has an axis `%s`", a.Name)
			continue
		}
		axes = append(axes, a.Name)
		if len(mesh) == len(d.Over) {
			y.shards = append(y.shards, shardRule{a.Name, a, d.Over, d.Of, between, false})
		}
	}
	r := &layout.Shard{Axes: axes, Over: mesh, Of: of, Between: names}
	y.sequence(d, r)
	y.rule(d, r)
}

// notModule reports what stands after `between` and names no module: perhaps a
// path to instances of one.
func (y *Layout) notModule(p *syntax.Path) {
	for _, i := range y.in.Instances {
		s := p.String()
		if i.Path != "" && (value.MatchPath(s, i.Path) || value.MatchPath(s+".*", i.Path) && matchesRepeated(y.in.Model, p)) {
			n := i.Decl.Name.Name
			y.f.Wants("E0412", p, "the name of a module: `"+n+"`", "`between "+n+"` is about what passes between its instances", "`%s` is a path", p)
			return
		}
	}
	y.unknownPath(p)
}

// sequence reads how the positions of a sequence lie and meet in attention:
// options of a rule about one axis, everywhere, over one mesh axis.
func (y *Layout) sequence(d *syntax.Shard, r *layout.Shard) {
	if d.Options == nil {
		return
	}
	given := map[string]syntax.Expr{}
	choose := func(k string, to *string, from []string) func(syntax.Expr) {
		return func(x syntax.Expr) {
			w, ok := y.word(x)
			if ok && !slices.Contains(from, w) {
				y.f.Wants("E0415", x, diag.OneOf(from), diag.DidYouMean(w, from), "`%s` cannot be %s", k, value.Clip(w))
				return
			}
			given[w] = x
			if *to = w; w == "zigzag" && len(y.shards) > 0 {
				y.shards[len(y.shards)-1].zigzag = true
			}
		}
	}
	switch {
	case len(d.Of) > 0:
		y.f.Wants("E0415", d.Options, "a rule for all tensors, without `of`", "", "`attention` and `order` in a rule for parameters")
	case len(d.Between) > 0:
		y.f.Wants("E0415", d.Options, "a rule for all tensors, without `between`", "", "`attention` and `order` in a rule with `between`")
	case len(d.Axes) > 1:
		y.f.Wants("E0415", d.Options, "a separate rule for the sequence", "", "`attention` and `order` in a rule for %d axes", len(d.Axes))
	case len(d.Over) > 1:
		y.f.Wants("E0415", d.Options, "one mesh axis: the devices of a ring", "", "`attention` and `order` over %d mesh axes", len(d.Over))
	default:
		y.options(d.Options, map[string]func(syntax.Expr){
			"attention": choose("attention", &r.Attention, layout.Attentions),
			"order":     choose("order", &r.Order, layout.Orders),
		})
		if given["zigzag"] != nil && given["gather"] != nil {
			y.f.Wants("E0415", given["zigzag"], "`attention = ring`, or `order = contiguous`", "", "an order that shares the work of a ring, where attention gathers")
		}
	}
}

func (y *Layout) collectives(ids []*syntax.Ident) []string {
	var out []string
	for _, id := range ids {
		if !slices.Contains(layout.Collectives, id.Name) {
			y.f.Wants("E0417", id, diag.OneOf(layout.Collectives), diag.DidYouMean(id.Name, layout.Collectives), "unknown collective `%s`", id.Name)
			continue
		}
		out = append(out, id.Name)
	}
	return out
}

// overlap lists the collectives that may run concurrently with computation; `none` leaves
// an empty list.
func (y *Layout) overlap(d *syntax.Overlap) {
	y.single(d, "overlap")
	y.options(d.Options, nil)
	none := slices.IndexFunc(d.What, func(id *syntax.Ident) bool { return id.Name == "none" })
	if none < 0 {
		y.rule(d, &layout.Overlap{Collectives: y.collectives(d.What)})
		return
	}
	if len(d.What) > 1 {
		y.f.Wants("E0417", d.What[none], "`overlap none`, or only collectives", "", "`none` in a list of collectives")
	}
	y.rule(d, &layout.Overlap{})
}

// entry is a plain option of the layout.
func (y *Layout) entry(d *syntax.Entry) {
	e, words := layout.OptionOf(d.Key.Name)
	if e == nil {
		y.f.Wants("E0415", d.Key, "`"+strings.Join(words, "`, `")+"`, or a directive", diag.DidYouMean(d.Key.Name, layout.Words()), "unknown option `%s` of a layout", d.Key.Name)
		return
	}
	y.single(d, d.Key.Name)
	if e.Counts {
		if n, ok := y.count(d.Value, "E0415", e.What, 1, source.MaxSize); ok {
			y.rounds = d
			y.rule(d, e.Rule(int64(n)))
		}
		return
	}
	if n, ok := y.bytes(d.Value, "E0415", e.What, e.Example, 0); ok {
		y.rule(d, e.Rule(int64(n)))
	}
}
