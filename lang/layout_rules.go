package lang

import (
	"sort"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
)

// shard records each axis of `shard a, b over m`; checkShards looks at them
// together.
func (y *layout) shard(d *syntax.Shard) {
	mesh := y.meshNames(d.Over)
	of := y.paramsOf(d.Of)
	var between []*syntax.Module
	names := ir.Names{}
	for _, p := range d.Between {
		m := y.module(p.String())
		if m == nil {
			y.unknownPath(p)
			continue
		}
		between = append(between, m)
		names = append(names, m.Name.Name)
	}
	axes := ir.Names{}
	for _, a := range d.Axes {
		if !y.axisExists(a.Name) {
			if y.incomplete {
				continue
			}
			all := y.allAxes()
			y.f.wants("E0402", a, diag.OneOf(all), diag.DidYouMean(a.Name, all), "no tensor of the model has an axis `%s`", a.Name)
			continue
		}
		axes = append(axes, a.Name)
		if len(mesh) == len(d.Over) {
			y.shards = append(y.shards, shardRule{a.Name, a, d.Over, d.Of, between})
		}
	}
	y.rule(d, "shard", "axes", axes, "over", mesh, "of", of, "between", names)
}

// options reads `{ key = expr … }` with the readers of the known keys, and
// reports the others.
func (y *layout) options(o *syntax.Options, readers map[string]func(syntax.Expr)) {
	if o == nil {
		return
	}
	var known []string
	for k := range readers {
		known = append(known, k)
	}
	sort.Strings(known)
	seen := map[string]syntax.Node{}
	for _, e := range o.Entries {
		k := e.Key.Name
		switch {
		case seen[k] != nil:
			y.l.errs.add(twice(e.Key, seen[k]))
		case readers[k] == nil:
			y.f.wants("E0415", e.Key, diag.OneOf(known), diag.DidYouMean(k, known), "unknown option `%s`", k)
		default:
			readers[k](e.Value)
		}
		seen[k] = e.Key
	}
}

// word is the plain word that an option must be: 1f1b, bf16, attn.
func (y *layout) word(x syntax.Expr) (string, bool) {
	switch x := x.(type) {
	case *syntax.Name:
		return x.Name, true
	case *syntax.String:
		return x.Value, true
	}
	y.f.wants("E0415", x, "a word", "", "the option is an expression")
	return "", false
}

// words is one word or a list of them.
func (y *layout) words(x syntax.Expr) ir.Names {
	var xs []syntax.Expr
	switch x := x.(type) {
	case *syntax.List:
		xs = x.Elems
	case *syntax.Tuple:
		xs = x.Elems
	default:
		xs = []syntax.Expr{x}
	}
	out := ir.Names{}
	for _, e := range xs {
		if w, ok := y.word(e); ok {
			out = append(out, w)
		}
	}
	return out
}

// count is an option that must be a number from lo to hi.
func (y *layout) count(x syntax.Expr, code, what string, lo, hi int) (int, bool) {
	c, ok := y.f.number(x)
	if !ok {
		return 0, false
	}
	n, ok := c.int()
	if !ok || n < lo || n > hi {
		y.f.wants(code, x, "a whole number from "+formatNumber(whole(lo))+" to "+formatNumber(whole(hi)), "", "%s is %s", what, formatNumber(c))
		return 0, false
	}
	return n, true
}

// schedules are the orders of microbatches that a pipeline may have.
var schedules = []string{"gpipe", "1f1b", "interleaved", "zb_h1"}

func (y *layout) pipeline(d *syntax.Pipeline) {
	y.single(d, "pipeline")
	mesh := y.meshNames([]*syntax.Ident{d.Over})
	blocks, ok := repeatedAt(y.l.model, d.What.Parts)
	switch {
	case !ok && !y.selects(d.What):
		y.unknownPath(d.What)
	case !ok:
		y.f.wants("E0408", d.What, "a repeated module, such as `blocks : Block[layers]`", "", "`%s` does not repeat, so it cannot be cut into stages", d.What)
	}
	schedule, micro, chunks := "1f1b", 1, 1
	y.options(d.Options, map[string]func(syntax.Expr){
		"schedule": func(x syntax.Expr) {
			w, isWord := y.word(x)
			if isWord && !contains(schedules, w) {
				y.f.wants("E0410", x, diag.OneOf(schedules), diag.DidYouMean(w, schedules), "unknown schedule `%s`", w)
			}
			schedule = w
		},
		"microbatches": func(x syntax.Expr) {
			if n, ok := y.count(x, "E0407", "the number of microbatches", 1, maxSize); ok {
				micro = n
				y.checkMicrobatches(x, n)
			}
		},
		"chunks": func(x syntax.Expr) {
			if n, ok := y.count(x, "E0415", "the number of chunks of a stage", 1, maxRepeat); ok {
				chunks = n
			}
		},
	})
	if ok && len(mesh) == 1 {
		if stages := y.l.mod.MeshSize(d.Over.Name) * chunks; stages > len(blocks) {
			y.f.wants("E0409", d, "at most one stage for each block", "", "%d stages of %d blocks", stages, len(blocks))
		}
	}
	y.rule(d, "pipeline", "blocks", ir.Str(d.What.String()), "over", mesh, "schedule", ir.Str(schedule), "microbatches", ir.Int(micro), "chunks", ir.Int(chunks))
}

// checkMicrobatches checks that the part of the batch that one device has is
// cut evenly.
func (y *layout) checkMicrobatches(x syntax.Expr, n int) {
	a := y.t.data.fields[0].typ.Axes[0]
	parts := 1
	for _, d := range y.decl.Directives {
		s, ok := d.(*syntax.Shard)
		if !ok {
			continue
		}
		for _, id := range s.Axes {
			for _, m := range s.Over {
				if id.Name == a.Name && parts <= maxDevices {
					parts *= max(1, y.l.mod.MeshSize(m.Name))
				}
			}
		}
	}
	if a.Size%parts != 0 {
		return // E0406 says so
	}
	if local := a.Size / parts; local%n != 0 {
		what := "`" + a.Name + "` of " + formatNumber(whole(a.Size))
		if parts > 1 {
			what += ", of which each device has " + formatNumber(whole(local)) + ","
		}
		y.f.wants("E0407", x, "a divisor of "+formatNumber(whole(local)), "", "%s cannot be cut into %d microbatches", what, n)
	}
}

func (y *layout) zero(d *syntax.Zero) {
	y.single(d, "zero")
	mesh := y.meshNames(d.Over)
	level, ok := y.count(d.Stage, "E0411", "the level of `zero`", 1, 3)
	y.options(d.Options, nil)
	if ok {
		y.rule(d, "zero", "level", ir.Int(level), "over", mesh)
	}
}

// recompute names modules whose inner values are computed again in the
// backward pass, except those of the members kept.
func (y *layout) recompute(d *syntax.Recompute) {
	auto := len(d.What) == 1 && d.What[0].String() == "auto"
	var of ir.Str = "auto"
	var mods []*instance
	if !auto {
		of = y.paths(d.What)
		for _, i := range y.l.instances {
			for _, p := range d.What {
				if i.path != "" && (i.decl.Name.Name == p.String() || matchPath(p.String(), i.path)) {
					mods = append(mods, i)
				}
			}
		}
	}
	keep := ir.Names{}
	y.options(d.Options, map[string]func(syntax.Expr){"keep": func(x syntax.Expr) {
		keep = y.words(x)
		for _, k := range keep {
			y.checkKept(x, k, mods)
		}
	}})
	y.rule(d, "recompute", "of", of, "keep", keep)
}

// checkKept checks that a name is a member of one of the modules.
func (y *layout) checkKept(x syntax.Expr, k string, mods []*instance) {
	if len(mods) == 0 || y.incomplete {
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

func (y *layout) setPrecision(d *syntax.Precision) {
	y.single(d, "precision")
	allowed := map[string][]string{"compute": {"f32", "bf16", "f16"}, "params": {"f32", "bf16"}, "reduce": {"f32", "bf16"}}
	readers := map[string]func(syntax.Expr){}
	for k, names := range allowed {
		readers[k] = func(x syntax.Expr) {
			w, ok := y.word(x)
			if ok && !contains(names, w) {
				y.f.wants("E0413", x, diag.OneOf(names), diag.DidYouMean(w, names), "`%s` cannot be %s", k, w)
				return
			}
			y.precision[k], _ = ir.ParseDType(w)
		}
	}
	y.options(d.Options, readers)
}

func (y *layout) offload(d *syntax.Offload) {
	kinds := []string{"optimizer", "params", "activations"}
	places := []string{"host", "disk"}
	what := ir.Names{}
	for _, p := range d.What {
		if !contains(kinds, p.String()) {
			y.f.wants("E0418", p, diag.OneOf(kinds), diag.DidYouMean(p.String(), kinds), "`%s` cannot be offloaded", p)
			continue
		}
		what = append(what, p.String())
	}
	if !contains(places, d.To.Name) {
		y.f.wants("E0418", d.To, diag.OneOf(places), diag.DidYouMean(d.To.Name, places), "unknown memory `%s`", d.To.Name)
	}
	y.options(d.Options, nil)
	y.rule(d, "offload", "what", what, "to", ir.Name(d.To.Name))
}

func (y *layout) device(d *syntax.Device) {
	for _, e := range d.Entries {
		if e.Key.Name != "memory" {
			y.f.wants("E0415", e.Key, "`memory`", diag.DidYouMean(e.Key.Name, []string{"memory"}), "a device has no `%s`", e.Key.Name)
			continue
		}
		y.single(e, "device memory")
		c, ok := y.f.number(e.Value)
		if !ok {
			continue
		}
		if !(c.v >= 1 && c.v <= 1<<53) {
			y.f.wants("E0416", e.Value, "a size such as `80 GiB`", "", "a device with a memory of %s", formatNumber(c))
			continue
		}
		y.rule(d, "device", "memory", ir.Int(int64(c.v)))
	}
}

// collectives are what can be forbidden or overlapped.
var collectives = []string{"all_gather", "all_reduce", "all_to_all", "permute", "reduce_scatter"}

func (y *layout) collectives(ids []*syntax.Ident) ir.Names {
	out := ir.Names{}
	for _, id := range ids {
		if !contains(collectives, id.Name) {
			y.f.wants("E0417", id, diag.OneOf(collectives), diag.DidYouMean(id.Name, collectives), "unknown collective `%s`", id.Name)
			continue
		}
		out = append(out, id.Name)
	}
	return out
}
