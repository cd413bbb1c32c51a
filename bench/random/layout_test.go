package random

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir/pipeline"
)

// layout is a random layout: mesh axes, and directives as text.
type layout struct {
	mesh       []meshAxis
	directives []string
	// need is what each size must be a multiple of, by config entry, and blocks
	// how many the pipelined stack must have.
	need map[string]int
}

type meshAxis struct {
	name string
	size int
}

// devices is the most that a layout has.
const devices = 16

// maker builds a layout of a model.
type maker struct {
	*dice
	m     *model
	l     layout
	over  map[string][]string // mesh axes by the axis that they cut everywhere
	by    map[string][]string // the axes that each mesh axis cuts
	stage string              // the mesh axis of a pipeline
}

// newLayout draws a layout of m that the language should allow.
func newLayout(d *dice, m *model) layout {
	k := &maker{dice: d, m: m, over: map[string][]string{}, by: map[string][]string{}}
	k.l.need = map[string]int{}
	roles := k.shuffle([]string{"dp", "dp", "tp", "tp", "cp", "ep", "pp", "pp", "fsdp", "any", "part"})
	left := devices
	for i, n := 0, 1+k.below(3); i < n; i++ {
		size := k.size(2, 2, 2, 2, 3, 4, 4, 1)
		if k.chance(0.08) {
			size = k.size(6, 8, 12) // 12 is mostly a multiple of what divides
		}
		if size > left {
			break
		}
		left /= size
		k.role(roles[i], meshAxis{fmt.Sprintf("%s%d", roles[i], i), size})
	}
	k.shared()
	k.zero()
	k.replicate()
	k.recompute()
	k.moving()
	k.levels()
	k.offload()
	k.r.Shuffle(len(k.l.directives), func(i, j int) {
		k.l.directives[i], k.l.directives[j] = k.l.directives[j], k.l.directives[i]
	})
	k.r.Shuffle(len(k.l.mesh), func(i, j int) { k.l.mesh[i], k.l.mesh[j] = k.l.mesh[j], k.l.mesh[i] })
	return k.l
}

func (k *maker) add(format string, args ...any) {
	k.l.directives = append(k.l.directives, fmt.Sprintf(format, args...))
}

func (k *maker) needs(axis string, n int) {
	k.l.need[axis] = max(1, k.l.need[axis]) * n
}

// cut notes that a mesh axis cuts an axis everywhere, if it may.
func (k *maker) cut(axis string, x meshAxis) bool {
	for _, other := range k.by[x.name] {
		if other == axis || k.m.together(axis, other) {
			return false
		}
	}
	k.by[x.name] = append(k.by[x.name], axis)
	k.over[axis] = append(k.over[axis], x.name)
	k.needs(axis, x.size)
	return true
}

// role gives a mesh axis its work.
func (k *maker) role(role string, x meshAxis) {
	k.l.mesh = append(k.l.mesh, x)
	switch role {
	case "dp", "fsdp":
		k.cut("batch", x)
	case "tp":
		k.tensor(x)
	case "cp":
		k.context(x)
	case "ep":
		if k.m.has("moe") {
			k.cut("experts", x)
		}
		if !k.m.has("moe") || k.chance(0.7) {
			k.cut("batch", x)
		}
	case "pp":
		if k.stage != "" {
			k.tensor(x)
			return
		}
		k.pipeline(x)
	case "any":
		all := append(k.m.axes(), "batch")
		k.cut(k.one(all...), x)
	case "part":
		k.part(x)
	}
}

// context cuts the sequence, half of the time saying how.
func (k *maker) context(x meshAxis) {
	switch {
	case k.m.numbers || k.m.has("shift"):
		k.cut("batch", x)
	case k.chance(0.5) || k.over["seq"] != nil:
		k.cut("seq", x)
	default:
		k.by[x.name] = append(k.by[x.name], "seq")
		order := k.one("contiguous", "zigzag")
		k.needs("seq", x.size)
		if order == "zigzag" {
			k.needs("seq", 2)
		}
		attention := k.one("ring", "gather")
		if order == "zigzag" {
			attention = "ring"
		}
		if !k.m.has("causal") && !k.m.has("grouped") && !k.m.has("own") {
			k.add("shard seq over %s", x.name)
			return
		}
		k.add("shard seq over %s { attention = %s  order = %s }", x.name, attention, order)
	}
}

// moving says when and in which pieces things move: no result depends on it.
func (k *maker) moving() {
	if k.chance(0.3) {
		k.add("bucket = %s", k.one("0", "64", "1 KiB", "25 MiB"))
	}
	if k.chance(0.2) {
		k.add("overlap %s", k.one("none", "all_reduce", "all_gather, reduce_scatter", "all_to_all, permute"))
	}
}

// megatron are the axes of tensor parallelism as it is usual.
var megatron = []string{"heads", "heads2", "ffn", "ffn2", "vocab", "rank", "outputs"}

// tensor cuts what tensor parallelism cuts, or any axes.
func (k *maker) tensor(x meshAxis) {
	have := k.m.axes()
	want := slices.Clone(megatron)
	if k.chance(0.5) {
		want = append(want, "kv", "kv2")
	}
	keep := 0.85
	if k.chance(0.4) {
		want, keep = k.shuffle(slices.Clone(have)), 0.6
	}
	for _, a := range want {
		if slices.Contains(have, a) && k.chance(keep) {
			k.cut(a, x)
		}
	}
	if !k.m.numbers && !k.m.has("shift") && k.chance(0.4) && !slices.Contains(k.by[x.name], "embed") {
		var modules []string
		for _, s := range k.m.stacks {
			if k.chance(0.8) {
				modules = append(modules, s.module)
			}
		}
		if len(modules) > 0 && !slices.ContainsFunc(k.l.directives, func(s string) bool { return strings.Contains(s, "between") }) {
			k.add("shard seq over %s between %s", x.name, strings.Join(modules, ", "))
			k.needs("seq", x.size)
		}
	}
}

// pipeline cuts a stack into stages.
func (k *maker) pipeline(x meshAxis) {
	k.stage = x.name
	s := k.m.stacks[k.below(len(k.m.stacks))]
	schedule := k.one(pipeline.Names()...)
	row, err := pipeline.Lookup(schedule)
	if err != nil {
		panic(err) // it is of the registry's names
	}
	chunks, options := row.Least, ""
	if row.Most > 1 && k.chance(0.5) {
		chunks = min(row.Most, k.size(row.Least, row.Least+1))
		options = fmt.Sprintf("  chunks = %d", chunks)
	}
	micro := k.size(1, 2, 2, 3, 4, 5, 6)
	k.add("pipeline %s over %s { schedule = %s  microbatches = %d%s }", s.name, x.name, schedule, micro, options)
	k.needs("batch", micro)
	k.l.need[s.count] = max(k.l.need[s.count], x.size*chunks)
}

// part cuts one axis of some parameters.
func (k *maker) part(x meshAxis) {
	all := k.m.params()
	p := all[k.below(len(all))]
	a := p.axes[k.below(len(p.axes))]
	if a == "gate" {
		a = "embed"
	}
	path := p.path
	if k.chance(0.3) {
		path = "blocks.*" + strings.TrimPrefix(path, "blocks.0")
		if !strings.HasPrefix(p.path, "blocks.0") {
			path = p.path
		}
	}
	k.add("shard %s of %s over %s", a, path, x.name)
	k.needs(a, x.size)
}

// shared writes the rules of whole axes: those that are cut alike in one rule or
// in several.
func (k *maker) shared() {
	var axes []string
	for a := range k.over {
		axes = append(axes, a)
	}
	slices.Sort(axes)
	done := map[string]bool{}
	for _, a := range axes {
		if done[a] {
			continue
		}
		list := []string{a}
		for _, b := range axes {
			if b > a && !done[b] && slices.Equal(k.over[a], k.over[b]) && k.chance(0.8) {
				list = append(list, b)
				done[b] = true
			}
		}
		k.add("shard %s over %s", strings.Join(list, ", "), tuple(k.over[a]))
	}
}

func tuple(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// zero shards what training keeps, over replicas or any devices.
func (k *maker) zero() {
	if k.chance(0.4) {
		return
	}
	var over []string
	for _, x := range k.l.mesh {
		p := 0.1
		if by := k.by[x.name]; slices.Contains(by, "batch") || slices.Contains(by, "seq") {
			p = 0.7
		}
		if x.name != k.stage && k.chance(p) {
			over = append(over, x.name)
		}
	}
	if len(over) > 0 {
		level, prefetch := 1+k.below(3), ""
		if level == 3 && k.chance(0.5) {
			prefetch = fmt.Sprintf(" { prefetch = %d }", k.below(3))
		}
		k.add("zero %d over %s%s", level, tuple(k.shuffle(over)), prefetch)
	}
}

func (k *maker) replicate() {
	if !k.chance(0.15) {
		return
	}
	all := k.m.params()
	p := all[k.below(len(all))].path
	if i := strings.LastIndexByte(p, '.'); i > 0 && k.chance(0.5) {
		p = p[:i]
	}
	if x := k.l.mesh[k.below(len(k.l.mesh))]; k.chance(0.3) && x.name != k.stage {
		p += " over " + x.name
	}
	k.add("replicate %s", p)
}

func (k *maker) recompute() {
	if !k.chance(0.3) {
		return
	}
	s := k.m.stacks[k.below(len(k.m.stacks))]
	var members []string
	if s.mixer != "" {
		members = append(members, "mix")
	}
	if s.ffn != "" {
		members = append(members, "ffn")
	}
	switch member := k.one(members...); k.below(6) {
	case 0:
		k.add("recompute %s", s.module)
	case 1:
		k.add("recompute %s { keep = [%s] }", s.module, member)
	case 2:
		k.add("recompute %s.*.%s", s.name, member)
	case 3:
		k.add("recompute %s.0", s.name)
	default:
		k.add("recompute auto { budget = %d }", k.size(12<<10, 24<<10, 48<<10, 96<<10))
	}
}

// offload moves what can be moved, in pieces that are small, as the models are.
func (k *maker) offload() {
	to := func() string { return k.one("host", "disk") }
	if k.chance(0.4) {
		k.add("offload optimizer to %s { piece = %d }", to(), k.size(1, 256, 1024, 1<<16))
	}
	if k.chance(0.3) {
		k.add("offload activations%s to %s", k.one("", " of "+k.m.stacks[k.below(len(k.m.stacks))].module), to())
	}
}

// levels has small collectives in two levels, too, where a list names mesh axes.
func (k *maker) levels() {
	if k.chance(0.5) {
		k.add("two_level = 0")
	}
}

// text is the layout in the language.
func (l *layout) text() string {
	var mesh []string
	for _, x := range l.mesh {
		mesh = append(mesh, fmt.Sprintf("%s = %d", x.name, x.size))
	}
	return "layout many {\n  mesh " + strings.Join(mesh, ", ") + "\n  " + strings.Join(l.directives, "\n  ") + "\n}\n"
}
