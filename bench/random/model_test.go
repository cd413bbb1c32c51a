package random

import (
	"fmt"
	"slices"
)

// model is what a random program computes. Its text is in text.go.
type model struct {
	numbers   bool // from floats to floats; otherwise from tokens to tokens
	stacks    []stack
	tied      bool   // the output is the embedding's table
	table     bool   // the embedding is a parameter, not nn.Embedding
	positions bool   // learned ones
	norm      string // before the output
	bias      bool   // of the output
	pool      string // over the positions, where one token is predicted
	loss      string
	rows      string // how the loss relates rows of the batch; empty for not at all
	optimizer string
	freeze    string // a pattern; empty for none
}

// stack is a repeated block of a kind of its own.
type stack struct {
	name    string // of the member: blocks or tail
	module  string
	count   string // the config entry
	norm    string // layer, rms or none
	post    bool   // the norm is after the residual sum
	mixer   string // over positions; empty for none
	ffn     string // over features; empty for none
	act     string
	bias    bool
	drop    float64
	heads   string // axes
	kv      string
	hidden  string
	experts string
	chosen  int
	extra   string // what else is in a block; a key of extras
}

// rare draws, with dice of its own, what few models have and compilers get wrong.
func (m *model) rare(d *dice) {
	for i := range m.stacks {
		if d.chance(0.3) {
			m.stacks[i].extra = d.one("gain", "unused", "shared", "read")
		}
	}
	if !m.numbers && m.pool == "" && m.rows == "" && d.chance(0.12) {
		m.loss = "hidden"
	}
	if d.chance(0.12) {
		m.optimizer = d.one("Trust(lr = 0.01)", "Largest(lr = 0.01)")
	}
}

// newModel draws a model.
func newModel(d *dice) model {
	m := model{
		numbers: d.chance(0.15), tied: d.chance(0.4), table: d.chance(0.5), positions: d.chance(0.5), bias: d.chance(0.5),
		norm: d.one("layer", "rms", "none"), loss: d.one("cross_entropy", "cross_entropy", "cross_entropy", "z_loss", "focal"),
	}
	if m.tied {
		m.table = true
	}
	if !m.numbers && d.chance(0.25) {
		m.pool = d.one("last", "mean", "max")
	}
	if m.numbers {
		m.tied, m.table, m.positions, m.loss = false, false, false, d.one("mse", "mse", "huber")
	}
	m.stacks = append(m.stacks, newStack(d, "blocks", "Block", "layers", m.numbers))
	if d.chance(0.3) {
		s := newStack(d, "tail", "Tail", "more", m.numbers)
		if d.chance(0.5) {
			s.heads, s.kv, s.hidden = "heads2", "kv2", "ffn2"
		}
		m.stacks = append(m.stacks, s)
	}
	m.optimizer = optimizer(d)
	return m
}

// training draws what else is of training, with dice of its own.
func (m *model) training(d *dice) {
	if d.chance(0.25) {
		first := map[bool]string{true: "wte", false: "embedding.*"}[m.table]
		if m.numbers {
			first = "first.w"
		}
		m.freeze = d.one("blocks.0.**", "blocks.**", m.stacks[len(m.stacks)-1].name+".0.**", first)
	}
	if !m.numbers && d.chance(0.2) {
		m.loss = d.one("masked", "drawn")
	}
}

func newStack(d *dice, name, module, count string, numbers bool) stack {
	s := stack{name: name, module: module, count: count, norm: d.one("layer", "rms", "rms", "none"), post: d.chance(0.2),
		mixer: d.one("causal", "causal", "grouped", "grouped", "own", "shift", "running", "tokens", ""),
		ffn:   d.one("mlp", "mlp", "swiglu", "swiglu", "moe", "low", ""),
		act:   d.one("gelu", "relu", "silu", "tanh"), bias: d.chance(0.5),
		heads: "heads", kv: "kv", hidden: "ffn", experts: "experts", chosen: 1 + d.below(2)}
	if d.chance(0.4) {
		s.drop = 0.25
	}
	if numbers {
		s.mixer = ""
		if s.ffn == "moe" {
			s.ffn = "mlp"
		}
	}
	if s.ffn == "swiglu" && s.norm == "none" {
		s.norm = "rms" // cubes of cubes do not stay finite
	}
	if s.mixer == "" && s.ffn == "" {
		s.ffn = "mlp"
	}
	return s
}

// optimizer is the expression that makes one, a row of std.optim or the layer
// wise one of text.go.
func optimizer(d *dice) string {
	lr := d.one("0.01", "cosine(peak = 0.02, warmup = 2, steps = 10)", "linear(peak = 0.01, warmup = 1, steps = 20)")
	more := ""
	if d.chance(0.5) {
		more += ", weight_decay = 0.1"
	}
	if d.chance(0.5) {
		more += fmt.Sprintf(", clip = %s", d.one("0.1", "1.0"))
	}
	if d.chance(0.15) {
		more += `, no_decay = ["**.w*"]`
	}
	switch d.below(8) {
	case 0, 1, 2:
		return "optim.AdamW(lr = " + lr + more + ")"
	case 3:
		return "optim.Adam(lr = " + lr + more + ")"
	case 4:
		momentum, nesterov := d.one("0.9", "0"), d.one("true", "false")
		if momentum == "0" {
			nesterov = "false"
		}
		return "optim.SGD(lr = " + lr + ", momentum = " + momentum + ", nesterov = " + nesterov + more + ")"
	case 5:
		return "optim.Lion(lr = " + lr + more + ")"
	case 6:
		return "optim.SignEC(lr = " + lr + more + ")"
	}
	return "Layerwise(lr = " + lr + more + ")"
}

// param is a parameter's path and axes.
type param struct {
	path string
	axes []string
}

// params lists the parameters of stack s, block k.
func (s *stack) params(k int) (out []param) {
	add := func(member string, names []string, axes ...string) {
		for _, n := range names {
			out = append(out, param{fmt.Sprintf("%s.%d.%s.%s", s.name, k, member, n), axes})
		}
	}
	switch s.mixer {
	case "causal", "own":
		add("mix", []string{"wq", "wk", "wv"}, "embed", s.heads, "head")
		add("mix", []string{"wo"}, s.heads, "head", "embed")
	case "grouped":
		add("mix", []string{"wq"}, "embed", s.heads, "head")
		add("mix", []string{"wk", "wv"}, "embed", s.kv, "head")
		add("mix", []string{"wo"}, s.heads, "head", "embed")
	case "tokens":
		add("mix", []string{"w"}, "seq", "mixed")
	case "shift", "running":
		add("mix", []string{"gate"}, "embed")
	}
	switch s.ffn {
	case "mlp":
		add("ffn", []string{"w1"}, "embed", s.hidden)
		add("ffn", []string{"w2"}, s.hidden, "embed")
	case "swiglu":
		add("ffn", []string{"w1", "w3"}, "embed", s.hidden)
		add("ffn", []string{"w2"}, s.hidden, "embed")
	case "moe":
		add("ffn", []string{"router"}, "embed", "gate")
		add("ffn", []string{"w1"}, s.experts, "embed", s.hidden)
		add("ffn", []string{"w2"}, s.experts, s.hidden, "embed")
	case "low":
		add("ffn.down", []string{"w"}, "embed", "rank")
		add("ffn.up", []string{"w"}, "rank", "embed")
	}
	return out
}

// params lists parameters of the model that rules may name, of the first block
// of each stack.
func (m *model) params() (out []param) {
	switch {
	case m.numbers:
		out = append(out, param{"first.w", []string{"inputs", "embed"}}, param{"output.w", []string{"embed", "outputs"}})
	default:
		if m.table {
			out = append(out, param{"wte", []string{"vocab", "embed"}})
		} else {
			out = append(out, param{"embedding.table", []string{"vocab", "embed"}})
		}
		if m.positions {
			out = append(out, param{"wpe", []string{"seq", "embed"}})
		}
		if !m.tied {
			out = append(out, param{"output.w", []string{"embed", "vocab"}})
		}
	}
	for i := range m.stacks {
		out = append(out, m.stacks[i].params(0)...)
	}
	return out
}

// axes are the names that a layout may shard, but for those of the batch and
// of positions.
func (m *model) axes() (out []string) {
	for _, p := range m.params() {
		for _, a := range p.axes {
			if a != "seq" && a != "gate" && !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// has says whether any stack has the mixer or the ffn.
func (m *model) has(kind string) bool {
	return slices.ContainsFunc(m.stacks, func(s stack) bool { return s.mixer == kind || s.ffn == kind })
}

// together are axes that some tensor has besides one another, so that one mesh
// axis cannot cut both.
func (m *model) together(a, b string) bool {
	tensors := [][]string{{"batch", "seq", "embed"}, {"batch", "seq", "vocab"}, {"batch", "inputs"}, {"batch", "outputs"}}
	for _, p := range m.params() {
		tensors = append(tensors, p.axes)
	}
	for _, s := range m.stacks {
		tensors = append(tensors, []string{"batch", "seq", s.heads, "head"}, []string{"batch", "seq", s.kv, "head"}, []string{"batch", "seq", s.hidden},
			[]string{"batch", "seq", "rank"}, []string{"batch", "mixed", "embed"})
	}
	return slices.ContainsFunc(tensors, func(t []string) bool { return slices.Contains(t, a) && slices.Contains(t, b) })
}
