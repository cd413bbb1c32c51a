package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/layout"
)

// Read is the run that a lowered module with its config describes. The axes of its
// parameters must have the names of std.models: embed, heads, head, ffn and vocab.
func Read(m *ir.Module, config []ir.Attr) (*Run, []Note, error) {
	x := &reader{m: m, l: layout.Of(m), config: config, r: NewRun(), used: map[string]bool{}}
	for _, step := range []func() error{x.model, x.axes, x.rules, x.training} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	x.r.normal()
	return x.r, x.notes, nil
}

type reader struct {
	m      *ir.Module
	l      *layout.Layout
	config []ir.Attr
	r      *Run
	used   map[string]bool // axes of the mesh with a rule
	data   []string        // axes of the mesh that shard the batch
	notes  []Note
}

// parameter is one of the model: its place in a block, or its path outside of blocks.
type parameter struct {
	path  string
	block bool
	axes  []string
}

var inBlock = regexp.MustCompile(`^\w+\.(\d+|\{\w+\})\.`)

// model reads sizes and kinds from parameters and operations.
func (x *reader) model() error {
	f := x.m.Func("step")
	if f == nil {
		return fmt.Errorf("the source has no training: only the layout of a training can be written for other software")
	}
	r := x.r
	sizes := map[string]int{}
	seen := map[string]bool{}
	blocks := map[string]bool{}
	var params []parameter
	for _, a := range f.Args {
		if a.Role == ir.RoleData && a.Path == "tokens" {
			sizes["batch"], sizes["seq"] = a.Value.Type.Size("batch"), a.Value.Type.Size("seq")
		}
		if a.Role != ir.RoleParam {
			continue
		}
		p := parameter{path: a.Path, axes: a.Value.Type.Names()}
		if at := inBlock.FindStringIndex(a.Path); at != nil {
			if s := a.Value.Each; s != nil {
				r.Layers = s.Count
			} else if blocks[a.Path[:at[1]]] = true; len(blocks) > r.Layers {
				r.Layers = len(blocks)
			}
			p.path, p.block = a.Path[at[1]:], true
		}
		for _, ax := range a.Value.Type.Axes {
			sizes[ax.Name] = ax.Size
		}
		if !seen[p.path] {
			seen[p.path] = true
			params = append(params, p)
		}
	}
	for _, s := range []struct {
		name string
		at   *int
	}{{"embed", &r.Embed}, {"heads", &r.Heads}, {"head", &r.Head}, {"ffn", &r.FFN}, {"vocab", &r.Vocab}, {"batch", &r.Batch}, {"seq", &r.Seq}} {
		if *s.at = sizes[s.name]; *s.at == 0 {
			return fmt.Errorf("no parameter and no field of the data has the axis `%s`: other software takes decoders, whose axes must be named as those of std.models: batch, seq, vocab, embed, heads, head, ffn", s.name)
		}
	}
	if r.Layers == 0 {
		return fmt.Errorf("the model has no repeated blocks, such as `blocks : Block[layers]`, which other software takes")
	}
	r.KV, r.Experts = sizes["kv"], sizes["experts"]
	if r.KV == 0 {
		r.KV = r.Heads
	}
	x.kinds(params)
	x.acts(f)
	r.Context = r.Seq
	if n := sizes["context"]; n > 0 {
		r.Context = n
	} else if n, ok := x.integer("context"); ok {
		r.Context = max(n, r.Seq)
	}
	return x.rest()
}

// kinds reads what the parameters of a block and of the model are.
func (x *reader) kinds(params []parameter) {
	r := x.r
	has := func(block bool, axes ...string) (n int) {
		for _, p := range params {
			if p.block == block && slices.Equal(p.axes, axes) {
				n++
			}
		}
		return n
	}
	matrices := has(true, "embed", "ffn") + has(true, "experts", "embed", "ffn")
	r.Gated = matrices > 1
	r.Norm = "rms"
	outer := 0
	for _, p := range params {
		if p.block && strings.HasSuffix(p.path, ".shift") {
			r.Norm = "layer"
		}
		if strings.HasSuffix(p.path, "attn.bo") || strings.HasSuffix(p.path, ".b1") {
			r.Bias = true
		}
		if !p.block && slices.Contains(p.axes, "vocab") {
			outer++
		}
	}
	r.QKVBias = has(true, "heads", "head") > 0
	r.QKNorm = has(true, "head") > 0
	r.Tied = outer < 2
	r.Positions = "none"
	if has(false, "context", "embed")+has(false, "seq", "embed") > 0 {
		r.Positions = "learned"
	}
}

// acts reads the activation and rope from the operations of a step: rope is a cosine of a
// tensor, and an activation has the axis of hidden units.
func (x *reader) acts(f *ir.Func) {
	r := x.r
	found := map[string]bool{}
	for _, o := range f.Ops {
		if len(o.Results) == 0 {
			continue
		}
		t := o.Results[0].Type
		if o.Name == "cos" && t.Rank() > 0 && t.Has("seq") {
			r.Positions = "rope"
		}
		if t.Has("ffn") && t.Rank() > 2 {
			found[o.Name] = true
			if o.Name == "mul" && len(o.Args) == 2 && chosen(o.Args[0]) && chosen(o.Args[1]) {
				found["square"] = true
			}
		}
	}
	switch {
	case found["erf"]:
		r.Act = "gelu"
	case found["tanh"]:
		r.Act = "gelu_tanh"
	case found["sigmoid"], found["exp"]:
		r.Act = "silu"
	case found["select"] && found["square"]:
		r.Act = "squared_relu"
	case found["select"]:
		r.Act = "relu"
	}
}

// chosen reports whether a value is one of two, chosen element by element, as relu computes it.
func chosen(v *ir.Value) bool { return v.Def != nil && v.Def.Name == "select" }

// rest reads what the config alone says.
func (x *reader) rest() error {
	r := x.r
	for _, e := range []struct {
		name string
		at   *float64
	}{{"eps", &r.Eps}, {"std", &r.Std}, {"base", &r.Base}} {
		if v, ok := x.number(e.name); ok {
			*e.at = v
		}
	}
	if v, ok := x.number("factor"); ok && v > 0 {
		r.Stretch = v
	}
	r.Window, _ = x.integer("window")
	if r.Experts > 0 {
		n, ok := x.integer("chosen")
		if !ok {
			return fmt.Errorf("the config has no entry `chosen`, the number of experts of a token")
		}
		r.Chosen, r.Capacity = n, 1
		if v, ok := x.number("capacity"); ok {
			r.Capacity = v
		}
	}
	for _, s := range All() {
		if v, ok := x.value(keptEntry(s.Name)).(ir.Str); ok && v != "" {
			r.Software, r.Kept = s.Name, strings.Split(string(v), "\n")
		}
	}
	return nil
}

// value is an entry of the config, or nil.
func (x *reader) value(name string) ir.AttrVal {
	for _, a := range x.config {
		if a.Key == name {
			return a.Val
		}
	}
	return nil
}

func (x *reader) number(name string) (float64, bool) {
	switch v := x.value(name).(type) {
	case ir.Int:
		return float64(v), true
	case ir.Float:
		return float64(v), true
	}
	return 0, false
}

func (x *reader) integer(name string) (int, bool) {
	v, ok := x.value(name).(ir.Int)
	return int(v), ok
}

// training reads rates from the config, by the names that [Source] gives them.
func (x *reader) training() error {
	r := x.r
	known := true
	for _, e := range []struct {
		name string
		at   *float64
	}{{"lr", &r.LR}, {"floor", &r.MinLR}, {"beta1", &r.Beta1}, {"beta2", &r.Beta2}, {"adam_eps", &r.AdamEps}, {"momentum", &r.Momentum}, {"decay", &r.WeightDecay}, {"clip", &r.Clip}} {
		if v, ok := x.number(e.name); ok {
			*e.at = v
		} else if e.name == "floor" {
			known = false
			r.MinLR = r.LR / 10 // as in std.models
		}
	}
	if !known {
		r.Beta2 = 0.95 // of std.optim
	}
	for _, e := range []struct {
		name string
		at   *int
	}{{"steps", &r.Steps}, {"warmup", &r.Warmup}} {
		if v, ok := x.integer(e.name); ok {
			*e.at = v
		}
	}
	r.DecaySteps = r.Steps
	if v, ok := x.integer("decay_steps"); ok {
		r.DecaySteps = v
	} else if known {
		r.Decay = "constant"
	}
	f := x.m.Func("step")
	states := map[string]bool{}
	for _, a := range f.Args {
		if a.Role == ir.RoleState {
			_, name, _ := strings.Cut(a.Path, "/")
			states[name] = true
		}
	}
	switch {
	case states["v"]:
	case states["e"]:
		return fmt.Errorf("the optimizer SignEC has no counterpart: write AdamW, SGD or Lion in the train block")
	case states["m"] && x.value("momentum") == nil && x.value("beta1") != nil:
		r.Optimizer = "Lion"
	default:
		r.Optimizer = "SGD"
	}
	r.schedule(x.value("decay_steps") != nil, f)
	return nil
}

// schedule tells a straight line from a cosine.
func (r *Run) schedule(falls bool, f *ir.Func) {
	if !falls {
		return
	}
	r.Decay = "linear"
	for _, o := range f.Ops {
		if o.Name == "cos" && o.Results[0].Type.Rank() == 0 {
			r.Decay = "cosine"
		}
	}
}
