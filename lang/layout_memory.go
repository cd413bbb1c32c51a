package lang

import (
	"math"
	"sort"
	"strings"

	"ptc/internal/diag"
	dtypes "ptc/internal/dtype"
	"ptc/ir"
	"ptc/lang/syntax"
)

// maxPrefetch bounds how many blocks ahead of their use parameters are gathered.
const maxPrefetch = 64

func (y *layout) zero(d *syntax.Zero) {
	y.single(d, "zero")
	mesh := y.meshNames(d.Over)
	level, ok := y.count(d.Stage, "E0411", "the level of `zero`", 1, 3)
	kv := []any{"level", ir.Int(level), "over", mesh}
	y.options(d.Options, map[string]func(syntax.Expr){"prefetch": func(x syntax.Expr) {
		n, good := y.count(x, "E0415", "the number of blocks to gather ahead", 0, maxPrefetch)
		if ok && level < 3 {
			y.f.wants("E0415", x, "`zero 3`, which shards parameters and gathers them", "", "`zero %d` has nothing to prefetch", level)
		} else if o := y.excludes("all_gather"); good && n > 0 && o != nil {
			e := at("E0415", x, "gathers ahead of their use, where `overlap` lets none run beside computation")
			e.Want, e.Note = "`overlap all_gather`, or `prefetch = 0`", []diag.Note{{Pos: o.At(), Msg: "the directive"}}
			y.l.errs.add(e)
		} else if good {
			kv = append(kv, "prefetch", ir.Int(n))
		}
	}})
	if ok {
		y.rule(d, "zero", kv...)
	}
}

// recompute names modules whose inner values are computed again in the
// backward pass, except those of the members kept; or leaves the choice to the
// compiler, under a budget of bytes.
func (y *layout) recompute(d *syntax.Recompute) {
	if len(d.What) == 1 && d.What[0].String() == "auto" {
		y.recomputeAuto(d)
		return
	}
	for _, p := range d.What {
		if p.String() == "auto" {
			y.f.wants("E0412", p, "`recompute auto` by itself, or the names of modules", "", "`auto` in a list of modules")
			return
		}
	}
	mods := y.modulesOf(d.What, "computed again")
	y.recomputedTwice(d, mods)
	keep := ir.Names{}
	y.options(d.Options, map[string]func(syntax.Expr){"keep": func(x syntax.Expr) {
		keep = y.words(x)
		for _, k := range keep {
			y.checkKept(x, k, mods)
		}
	}, "budget": func(x syntax.Expr) {
		y.f.wants("E0415", x, "`recompute auto`, which chooses under a budget", "", "a budget for modules that are named")
	}})
	y.rule(d, "recompute", "of", y.joined(d.What), "keep", keep)
}

// recomputedTwice reports instances that another rule of this kind names too:
// what one keeps, the other would compute again.
func (y *layout) recomputedTwice(d *syntax.Recompute, mods []*instance) {
	for _, i := range mods {
		if old := y.recomputed[i]; old != nil && old != d {
			e := at("E0415", d, "`%s` is recomputed twice", i.path)
			e.Want, e.Note = "one rule for each module", []diag.Note{{Pos: old.At(), Msg: "the first one"}}
			y.l.errs.add(e)
			return
		}
	}
	for _, i := range mods {
		y.recomputed[i] = d
	}
}

func (y *layout) recomputeAuto(d *syntax.Recompute) {
	y.single(d, "recompute auto")
	kv, given := []any{"of", ir.Str("auto")}, false
	y.options(d.Options, map[string]func(syntax.Expr){"budget": func(x syntax.Expr) {
		given = true
		if n, ok := y.bytes(x, "E0420", "the budget of activations", "2 GiB", 1); ok {
			kv = append(kv, "budget", ir.Int(n))
		}
	}, "keep": func(x syntax.Expr) {
		y.f.wants("E0415", x, "names of modules to recompute: `recompute Block { keep = … }`", "", "`recompute auto` chooses what is kept")
	}})
	if !given && !y.hasMemory() {
		y.f.wants("E0420", d, "`recompute auto { budget = 2 GiB }`, or `device memory = 80 GiB` in the layout", "", "nothing says how much may be kept")
	}
	y.rule(d, "recompute", kv...)
}

// hasMemory is whether the layout says how much memory a device has.
func (y *layout) hasMemory() bool {
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
func (y *layout) modulesOf(ps []*syntax.Path, to string) (out []*instance) {
	for _, p := range ps {
		before := len(out)
		for _, i := range y.l.instances {
			if i.path != "" && (i.decl.Name.Name == p.String() || matchPath(p.String(), i.path)) {
				out = append(out, i)
			}
		}
		switch {
		case len(out) > before:
		case matchesRepeated(y.l.model, p):
			list, _ := repeatedAt(y.l.model, p.Parts)
			out = append(out, list...)
		case y.selects(p):
			y.f.wants("E0412", p, "a module such as `Block`, or the path of one", "", "`%s` is a parameter: only what modules compute can be %s", p, to)
		default:
			y.unknownPath(p)
		}
	}
	return out
}

// joined are patterns of modules as one string; `blocks` alone is each of them.
func (y *layout) joined(ps []*syntax.Path) ir.Str {
	var out []string
	for _, p := range ps {
		s := p.String()
		if matchesRepeated(y.l.model, p) {
			s += ".*"
		}
		out = append(out, s)
	}
	return ir.Str(strings.Join(out, ", "))
}

// checkKept checks that a name is a member of one of the modules.
func (y *layout) checkKept(x syntax.Expr, k string, mods []*instance) {
	if len(mods) == 0 || y.unnamed {
		return
	}
	var names []string
	for _, i := range mods {
		if _, ok := i.subs[k]; ok {
			return
		}
	}
	for n := range mods[0].subs {
		names = append(names, n)
	}
	sort.Strings(names)
	y.f.wants("E0412", x, diag.OneOf(names), diag.DidYouMean(k, names), "%s has no module `%s`", mods[0].what(), k)
}

// ownDType is the name here of a dtype that others call so, or the name itself.
func ownDType(name string) string {
	if d, ok := dtypes.Alias(name); ok {
		return d.String()
	}
	return name
}

func (y *layout) setPrecision(d *syntax.Precision) {
	y.single(d, "precision")
	allowed := map[string][]string{"compute": dtypes.Names(dtypes.Compute()), "params": dtypes.Names(dtypes.Compute()), "reduce": dtypes.Names(dtypes.Reduce())}
	readers := map[string]func(syntax.Expr){}
	for k, names := range allowed {
		readers[k] = func(x syntax.Expr) {
			w, ok := y.word(x)
			if ok && !contains(names, w) {
				y.f.wants("E0413", x, diag.OneOf(names), diag.DidYouMean(ownDType(w), names), "`%s` cannot be %s", k, clip(w))
				return
			}
			y.precision[k], _ = ir.ParseDType(w)
		}
	}
	var scaled syntax.Expr
	readers["loss_scale"] = func(x syntax.Expr) { scaled = x }
	y.options(d.Options, readers)
	if scaled != nil {
		y.setScale(scaled)
	}
}

// setScale reads `loss_scale = dynamic` or a number. Only in f16 do gradients
// vanish for want of range, so elsewhere it is a mistake.
func (y *layout) setScale(x syntax.Expr) {
	if c := y.precision["compute"]; c != ir.F16 {
		y.f.wants("E0413", x, "`compute = f16`, or no `loss_scale`", "", "gradients in %s have the range that they need without a scale", c)
		return
	}
	if n, ok := x.(*syntax.Name); ok && n.Name == "dynamic" {
		y.scale = ir.Name("dynamic")
		return
	}
	var c number
	switch v := y.f.expr(x).(type) {
	case unknown:
		return
	case number:
		c = v
	case word:
		y.f.wants("E0413", x, "`dynamic`, or a number such as 1024", diag.DidYouMean(v.name, []string{"dynamic"}), "`loss_scale` cannot be %s", clip(v.name))
		return
	default:
		y.f.wants("E0413", x, "`dynamic`, or a number such as 1024", "", "`loss_scale` is %s", v.what())
		return
	}
	if !(c.v > 0) || math.IsInf(c.v, 0) {
		y.f.wants("E0413", x, "a positive finite number, or `dynamic`", "", "`loss_scale` is %s", formatNumber(c))
		return
	}
	if n, ok := c.int(); ok && c.whole {
		y.scale = ir.Int(n)
	} else {
		y.scale = ir.Float(c.v)
	}
}

// offload moves kinds of tensors out of device memory: of the modules named,
// or all.
func (y *layout) offload(d *syntax.Offload) {
	kinds := []string{"optimizer", "activations"}
	places := []string{"host", "disk"}
	what := ir.Names{}
	for _, p := range d.What {
		k := p.String()
		switch {
		case !contains(kinds, k):
			y.f.wants("E0418", p, diag.OneOf(kinds), diag.DidYouMean(k, kinds), "`%s` cannot be offloaded", p)
			continue
		case len(d.Of) > 0 && k != "activations":
			y.f.wants("E0418", d.Of[0], "`offload "+k+" to "+d.To.Name+"`: all of it", "", "only activations are offloaded of some modules")
		}
		y.single(p, "offload "+k)
		what = append(what, k)
	}
	if !contains(places, d.To.Name) {
		y.f.wants("E0418", d.To, diag.OneOf(places), diag.DidYouMean(d.To.Name, places), "unknown memory `%s`", d.To.Name)
	}
	y.modulesOf(d.Of, "offloaded")
	kv := []any{"what", what, "of", y.joined(d.Of), "to", ir.Name(d.To.Name)}
	y.options(d.Options, map[string]func(syntax.Expr){"piece": func(x syntax.Expr) {
		n, ok := y.bytes(x, "E0418", "the size of a piece", "4 MiB", 1)
		if ok && len(what) > 0 && !contains(what, "optimizer") {
			y.f.wants("E0418", x, "`offload optimizer`, whose states are fetched in pieces", "", "activations are not cut into pieces")
		} else if ok {
			kv = append(kv, "piece", ir.Int(n))
		}
	}})
	y.rule(d, "offload", kv...)
}

func (y *layout) device(d *syntax.Device) {
	for _, e := range d.Entries {
		if e.Key.Name != "memory" {
			y.f.wants("E0415", e.Key, "`memory`", diag.DidYouMean(e.Key.Name, []string{"memory"}), "a device has no `%s`", e.Key.Name)
			continue
		}
		y.single(e, "device memory")
		if n, ok := y.bytes(e.Value, "E0416", "the memory of a device", "80 GiB", 1024); ok {
			y.rule(d, "device", "memory", ir.Int(n))
		}
	}
}
