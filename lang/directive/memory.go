package directive

import (
	"math"
	"slices"
	"sort"

	"ptc/internal/diag"
	dtypes "ptc/internal/dtype"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

func (y *Layout) zero(d *syntax.Zero) {
	y.single(d, "zero")
	mesh := y.meshNames(d.Over)
	level, ok := y.count(d.Stage, "E0411", "the level of `zero`", 1, 3)
	r := &layout.Zero{Level: level, Over: mesh, Prefetch: layout.Unsaid}
	y.options(d.Options, map[string]func(syntax.Expr){"prefetch": func(x syntax.Expr) {
		n, good := y.count(x, "E0415", "the number of blocks to gather ahead", 0, layout.MaxPrefetch)
		if ok && level < 3 {
			y.f.Wants("E0415", x, "`zero 3`, which shards parameters and gathers them", "", "`zero %d` has nothing to prefetch", level)
		} else if o := y.excludes("all_gather"); good && n > 0 && o != nil {
			e := source.ErrorAt("E0415", x, "gathers ahead of their use, where `overlap` lets none run concurrently with computation")
			e.Want, e.Note = "`overlap all_gather`, or `prefetch = 0`", []diag.Note{{Pos: o.At(), Msg: "the directive"}}
			y.in.Errs.Add(e)
		} else if good {
			r.Prefetch = n
		}
	}})
	if ok {
		y.rule(d, r)
	}
}

// recompute names modules whose inner values are computed again in the
// backward pass, except those of the members kept; or leaves the choice to the
// compiler, under a budget of bytes.
func (y *Layout) recompute(d *syntax.Recompute) {
	if len(d.What) == 1 && d.What[0].String() == "auto" {
		y.recomputeAuto(d)
		return
	}
	for _, p := range d.What {
		if p.String() == "auto" {
			y.f.Wants("E0412", p, "`recompute auto` by itself, or the names of modules", "", "`auto` in a list of modules")
			return
		}
	}
	mods := y.modulesOf(d.What, "computed again")
	y.recomputedTwice(d, mods)
	var keep []string
	y.options(d.Options, map[string]func(syntax.Expr){"keep": func(x syntax.Expr) {
		keep = y.words(x)
		for _, k := range keep {
			y.checkKept(x, k, mods)
		}
	}, "budget": func(x syntax.Expr) {
		y.f.Wants("E0415", x, "`recompute auto`, which chooses under a budget", "", "a rule that names modules has no budget")
	}})
	y.rule(d, &layout.Recompute{Of: y.patterns(d.What), Keep: keep})
}

// recomputedTwice reports instances that another rule of this kind names too:
// what one keeps, the other would compute again.
func (y *Layout) recomputedTwice(d *syntax.Recompute, mods []*value.Instance) {
	for _, i := range mods {
		if old := y.recomputed[i]; old != nil && old != d {
			e := source.ErrorAt("E0415", d, "`%s` is recomputed twice", i.Path)
			e.Want, e.Note = "one rule for each module", []diag.Note{{Pos: old.At(), Msg: "the first one"}}
			y.in.Errs.Add(e)
			return
		}
	}
	for _, i := range mods {
		y.recomputed[i] = d
	}
}

func (y *Layout) recomputeAuto(d *syntax.Recompute) {
	y.single(d, "recompute auto")
	r, given := &layout.Recompute{Of: []string{"auto"}}, false
	y.options(d.Options, map[string]func(syntax.Expr){"budget": func(x syntax.Expr) {
		given = true
		if n, ok := y.bytes(x, "E0420", "the budget of activations", "2 GiB", 1); ok {
			r.Budget = int64(n)
		}
	}, "keep": func(x syntax.Expr) {
		y.f.Wants("E0415", x, "names of modules to recompute: `recompute Block { keep = … }`", "", "`recompute auto` itself chooses what to keep")
	}})
	if !given && !y.hasMemory() {
		y.f.Wants("E0420", d, "`recompute auto { budget = 2 GiB }`, or `device memory = 80 GiB` in the layout", "", "`recompute auto` has no limit of memory")
	}
	y.rule(d, r)
}

// hasMemory is whether the layout says how much memory a device has.
func (y *Layout) hasMemory() bool {
	for _, d := range y.decl.Directives {
		if d, ok := d.(*syntax.Device); ok {
			for _, e := range d.Entries {
				if e.Key.Name == "memory" {
					return true
				}
			}
		}
	}
	return false
}

// modulesOf are the instances that patterns select, by their path or their
// module's name. A pattern must select one: to, what a parameter cannot be.
func (y *Layout) modulesOf(ps []*syntax.Path, to string) (out []*value.Instance) {
	for _, p := range ps {
		before := len(out)
		for _, i := range y.in.Instances {
			if i.Path != "" && (i.Decl.Name.Name == p.String() || value.MatchPath(p.String(), i.Path)) {
				out = append(out, i)
			}
		}
		switch {
		case len(out) > before:
		case matchesRepeated(y.in.Model, p):
			list, _ := repeatedAt(y.in.Model, p.Parts)
			out = append(out, list...)
		case y.selects(p):
			y.f.Wants("E0412", p, "a module such as `Block`, or the path of one", "", "`%s` is a parameter: only values that modules compute can be %s", p, to)
		default:
			y.unknownPath(p)
		}
	}
	return out
}

// patterns are patterns of modules; `blocks` alone is each of them.
func (y *Layout) patterns(ps []*syntax.Path) []string {
	var out []string
	for _, p := range ps {
		s := p.String()
		if matchesRepeated(y.in.Model, p) {
			s += ".*"
		}
		out = append(out, s)
	}
	return out
}

// checkKept checks that a name is a member of one of the modules.
func (y *Layout) checkKept(x syntax.Expr, k string, mods []*value.Instance) {
	if len(mods) == 0 || y.unnamed {
		return
	}
	var names []string
	for _, i := range mods {
		if _, ok := i.Subs[k]; ok {
			return
		}
	}
	for n := range mods[0].Subs {
		names = append(names, n)
	}
	sort.Strings(names)
	y.f.Wants("E0412", x, diag.OneOf(names), diag.DidYouMean(k, names), "%s has no module `%s`", mods[0].What(), k)
}

// ownDType is the name here of a dtype that others call so, or the name itself.
func ownDType(name string) string {
	if d, ok := dtypes.Alias(name); ok {
		return d.String()
	}
	return name
}

func (y *Layout) setPrecision(d *syntax.Precision) {
	y.single(d, "precision")
	readers := map[string]func(syntax.Expr){}
	for k, dtypes := range layout.Precisions {
		var names []string
		for _, t := range dtypes {
			names = append(names, t.String())
		}
		readers[k] = func(x syntax.Expr) {
			w, ok := y.word(x)
			if ok && !slices.Contains(names, w) {
				y.f.Wants("E0413", x, diag.OneOf(names), diag.DidYouMean(ownDType(w), names), "`%s` cannot be %s", k, value.Clip(w))
				return
			}
			*y.precision.Set(k), _ = ir.ParseDType(w)
		}
	}
	var scaled, on syntax.Expr
	readers["loss_scale"] = func(x syntax.Expr) { scaled = x }
	readers["on"] = func(x syntax.Expr) { on = x }
	readers["products"] = func(x syntax.Expr) {
		if w, ok := y.word(x); ok && w != layout.Float8 {
			y.f.Wants("E0413", x, "`"+layout.Float8+"`, or no `products`: they are of the dtype of `compute` then", "", "`products` cannot be %s", value.Clip(w))
		} else if ok {
			y.precision.Products = layout.Float8
		}
	}
	y.options(d.Options, readers)
	if scaled != nil {
		y.setScale(scaled)
	}
	if on != nil {
		y.setProducts(on)
	}
}

// setProducts reads `on = [Block, "head.*"]`: the modules of whose products `products`
// speaks. A path with points is a string.
func (y *Layout) setProducts(x syntax.Expr) {
	if y.precision.Products == "" {
		y.f.Wants("E0413", x, "`products = f8`, or no `on`", "", "`on` names modules, but there is no `products`")
		return
	}
	ps := y.paths(x)
	y.modulesOf(ps, "computed in "+layout.Float8)
	y.precision.On = y.patterns(ps)
}

// setScale reads `loss_scale = dynamic` or a number. Only in f16 do gradients
// vanish for want of range, so elsewhere it is a mistake.
func (y *Layout) setScale(x syntax.Expr) {
	if c := y.precision.Compute; c != ir.F16 {
		y.f.Wants("E0413", x, "`compute = f16`, or no `loss_scale`", "", "gradients in %s have enough range without a scale", c)
		return
	}
	if n, ok := x.(*syntax.Name); ok && n.Name == "dynamic" {
		y.precision.Scale.Dynamic = true
		return
	}
	var c value.Number
	switch v := y.f.Expr(x).(type) {
	case value.Unknown:
		return
	case value.Number:
		c = v
	case value.Word:
		y.f.Wants("E0413", x, "`dynamic`, or a number such as 1024", diag.DidYouMean(v.Name, []string{"dynamic"}), "`loss_scale` cannot be %s", value.Clip(v.Name))
		return
	default:
		y.f.Wants("E0413", x, "`dynamic`, or a number such as 1024", "", "`loss_scale` is %s", v.What())
		return
	}
	if !(c.V > 0) || math.IsInf(c.V, 0) {
		y.f.Wants("E0413", x, "a positive finite number, or `dynamic`", "", "`loss_scale` is %s", value.FormatNumber(c))
		return
	}
	y.precision.Scale.Static = c.V
}

// offload moves kinds of tensors out of device memory: of the modules named,
// or all.
func (y *Layout) offload(d *syntax.Offload) {
	kinds, places := layout.Offloaded, layout.Memories
	var what []string
	for _, p := range d.What {
		k := p.String()
		switch {
		case !slices.Contains(kinds, k):
			y.f.Wants("E0418", p, diag.OneOf(kinds), diag.DidYouMean(k, kinds), "`%s` cannot be offloaded", p)
			continue
		case len(d.Of) > 0 && k != "activations":
			y.f.Wants("E0418", d.Of[0], "`offload "+k+" to "+d.To.Name+"`: all of it", "", "only activations can be offloaded for some modules")
		}
		y.single(p, "offload "+k)
		what = append(what, k)
	}
	if !slices.Contains(places, d.To.Name) {
		y.f.Wants("E0418", d.To, diag.OneOf(places), diag.DidYouMean(d.To.Name, places), "unknown memory `%s`", d.To.Name)
	}
	y.modulesOf(d.Of, "offloaded")
	r := &layout.Offload{What: what, Of: y.patterns(d.Of), To: d.To.Name}
	y.options(d.Options, map[string]func(syntax.Expr){"piece": func(x syntax.Expr) {
		n, ok := y.bytes(x, "E0418", "the size of a piece", "4 MiB", 1)
		if ok && len(what) > 0 && !slices.Contains(what, "optimizer") {
			y.f.Wants("E0418", x, "`offload optimizer`, whose states are fetched in pieces", "", "activations are not cut into pieces")
		} else if ok {
			r.Piece = int64(n)
		}
	}})
	y.rule(d, r)
}

func (y *Layout) device(d *syntax.Device) {
	for _, e := range d.Entries {
		if e.Key.Name != "memory" {
			y.f.Wants("E0415", e.Key, "`memory`", diag.DidYouMean(e.Key.Name, []string{"memory"}), "`device` has no option `%s`", e.Key.Name)
			continue
		}
		y.single(e, "device memory")
		if n, ok := y.bytes(e.Value, "E0416", "the memory of a device", "80 GiB", 1024); ok {
			y.rule(d, &layout.Device{Memory: int64(n)})
		}
	}
}
