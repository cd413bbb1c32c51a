package random

import (
	"fmt"
	"slices"
	"strings"
)

// std of initial values: large enough that nothing vanishes in a sum.
const std = "std = 0.3"

// text is the program without layouts, with the sizes as its config.
func (m *model) text(sizes map[string]int) string {
	var b strings.Builder
	b.WriteString("import std.nn\nimport std.optim\nimport std.data\n\nconfig {\n")
	var names []string
	for n := range sizes {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		fmt.Fprintf(&b, "  %s = %d\n", n, sizes[n])
	}
	b.WriteString("}\n\n")
	for _, s := range m.stacks {
		for _, part := range []string{s.mixer, s.ffn} {
			if text := modules[part]; text != "" && !strings.Contains(b.String(), text) {
				b.WriteString(text + "\n")
			}
		}
	}
	name, _, _ := strings.Cut(m.optimizer, "(")
	b.WriteString(optimizers[name])
	for i := range m.stacks {
		b.WriteString(m.stacks[i].text(m.numbers) + "\n")
	}
	b.WriteString(m.relatedText())
	b.WriteString(m.model() + "\n")
	b.WriteString(m.train())
	return b.String()
}

// modules are those that the standard library does not have, by kind.
var modules = map[string]string{
	// Attention with a bias for the distance, and keys and queries normalized.
	"own": `module Own(heads: axis = heads) {
  param wq, wk, wv : [embed, heads, head] ~ normal(std = 0.3)
  param wo         : [heads, head, embed] ~ normal(std = 0.3)
  param slope      : [heads] ~ uniform(low = -0.5, high = 0.5)
  scale : nn.RMSNorm(over = head)

  fn apply(x) {
    q = scale(dot(x, wq, over = embed))
    k = scale(dot(x, wk, over = embed)).rename(seq = kseq)
    v = dot(x, wv, over = embed).rename(seq = kseq)
    s = dot(q, k, over = head) / sqrt(head)
    ahead = index(s, kseq)
    far = cast(broadcast(index(s, seq), as = (index(s, seq), ahead)) - ahead, f32)
    p = softmax(s - outer(abs(far), slope), over = kseq)
    return dot(dot(p, v, over = kseq), wo, over = (heads, head))
  }
}
`,
	// A mix of each position with the one before it.
	"shift": `module Shift {
  param gate : [embed] ~ uniform(low = 0.0, high = 1.0)

  fn apply(x) {
    before = concat(0 * x[seq = 0..1], x[seq = 0..size(x, seq) - 1], over = seq)
    return x * gate + before * (1 - gate)
  }
}
`,
	// The gated mean of all positions up to each.
	"running": `module Running {
  param gate : [embed] ~ normal(std = 0.3)

  fn apply(x) { return cumsum(x, over = seq) / cast(index(x, seq) + 1, f32) * sigmoid(x * gate) }
}
`,
	// A mix of positions by weights: Tolstikhin et al., "MLP-Mixer" (2021).
	"tokens": `module Tokens {
  param w : [seq, mixed] ~ normal(std = 0.3)

  fn apply(x) { return dot(silu(dot(x, w, over = seq)), w, over = mixed) }
}
`,
	"low": `module Low {
  down : nn.Linear(embed, rank, bias = false, std = 0.3)
  up   : nn.Linear(rank, embed, std = 0.3)

  fn apply(x) { return up(down(x)) }
}
`,
}

// optimizers are those that the standard library does not have.
var optimizers = map[string]string{
	// Each update is scaled by the norm of the parameter: You et al., "Large batch
	// optimization" (2020), algorithm 2 without the second moment.
	"Layerwise": `optimizer Layerwise(lr, weight_decay = 0.0) {
  state m : f32 like param ~ zeros

  fn update(w, g) {
    m = 0.9 * m + g + weight_decay * w
    ratio = sqrt(sum(w * w) + 1e-2) / sqrt(sum(m * m) + 1e-2)
    return w - lr * ratio * m
  }
}

`,
	// An update without a state, scaled by norms: You et al., "Large batch training of
	// convolutional networks" (2017).
	"Trust": `optimizer Trust(lr) {
  fn update(w, g) { return w - lr * sqrt(sum(w * w) + 1e-2) * g / max(sqrt(sum(g * g)), 1e-3) }
}

`,
	// The largest element has the same update everywhere.
	"Largest": `optimizer Largest(lr) {
  fn update(w, g) { return w - lr * g / (max(abs(g)) + 1e-3) }
}

`,
}

// extras are members and statements of a block, by kind: a parameter that scales, a value
// that nothing reads, two parameters with one gradient, and a parameter read as a whole.
var extras = map[string][2]string{
	"gain":   {"param gain : [embed] ~ ones", "x = x * gain"},
	"unused": {"idle : nn.LayerNorm", "z = idle(x)"},
	"shared": {"param one : [embed] ~ ones\n  param many : [embed, taps] ~ normal(std = 0.3)", "x = x + 0.1 * (one + sum(many, over = taps)) * (x + 1)"},
	"read":   {"param whole : [embed] ~ ones", "x = x * whole / sqrt(mean(whole * whole) + 1e-2)"},
}

func (s *stack) text(numbers bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "module %s {\n", s.module)
	axes := "[batch, seq, embed]"
	if numbers {
		axes = "[batch, embed]"
	}
	var body []string
	result := "x"
	half := func(part, member, norm string) {
		b.WriteString("  " + member + " : " + part + "\n")
		n := map[string]string{"layer": "nn.LayerNorm", "rms": "nn.RMSNorm"}[s.norm]
		in, out := "x", "x"
		if n != "" {
			b.WriteString("  " + norm + " : " + n + "\n")
			if s.post {
				out = norm + "(x)"
			} else {
				in = norm + "(x)"
			}
		}
		call := member + "(" + in + ")"
		if s.ffn == "moe" && member == "ffn" {
			body = append(body, "y, aux = "+call)
			call, result = "y", "x, aux"
		}
		if s.drop > 0 {
			call = "drop(" + call + ")"
		}
		body = append(body, "x = x + "+call)
		if out != "x" {
			body = append(body, "x = "+out)
		}
	}
	if part := s.mixing(); part != "" {
		half(part, "mix", "norm1")
	}
	if part := s.feeding(); part != "" {
		half(part, "ffn", "norm2")
	}
	if s.extra != "" {
		fmt.Fprintf(&b, "  %s\n", extras[s.extra][0])
		body = append(body, extras[s.extra][1])
	}
	if s.drop > 0 {
		fmt.Fprintf(&b, "  drop : nn.Dropout(rate = %g)\n", s.drop)
	}
	if s.ffn == "moe" {
		axes += ") -> (" + axes + ", f32"
	} else {
		axes += ") -> (" + axes
	}
	if !strings.Contains(axes, ", f32") {
		axes = strings.Replace(axes, "-> (", "-> ", 1)
	} else {
		axes += ")"
	}
	fmt.Fprintf(&b, "\n  fn apply(x: %s {\n    %s\n    return %s\n  }\n}\n", axes, strings.Join(body, "\n    "), result)
	return b.String()
}

// mixing is the module that mixes positions.
func (s *stack) mixing() string {
	switch s.mixer {
	case "causal":
		return "nn.CausalAttention(heads = " + s.heads + ", " + std + ", out_std = 0.3)"
	case "grouped":
		return "nn.GroupedQueryAttention(heads = " + s.heads + ", kv = " + s.kv + ", " + std + ", out_std = 0.3)"
	case "own":
		return "Own(heads = " + s.heads + ")"
	case "":
		return ""
	}
	return strings.ToUpper(s.mixer[:1]) + s.mixer[1:]
}

// feeding is the module that mixes features.
func (s *stack) feeding() string {
	switch s.ffn {
	case "mlp":
		return fmt.Sprintf("nn.MLP(hidden = %s, act = %s, bias = %t, %s, out_std = 0.3)", s.hidden, s.act, s.bias, std)
	case "swiglu":
		return "nn.SwiGLU(hidden = " + s.hidden + ", " + std + ", out_std = 0.3)"
	case "moe":
		return fmt.Sprintf("nn.MoE(k = %d, hidden = %s, act = %s, %s, out_std = 0.3)", s.chosen, s.hidden, s.act, std)
	case "low":
		return "Low"
	}
	return ""
}

// model is the declaration of the model.
func (m *model) model() string {
	var members, body []string
	in, out := "tokens: i32[batch, seq]", "[batch, seq, vocab]"
	switch {
	case m.numbers:
		members = append(members, "first : nn.Linear(inputs, embed, "+std+")")
		body = append(body, "h = first(x)")
		in, out = "x: [batch, inputs]", "[batch, outputs]"
	case m.table:
		members = append(members, "param wte : [vocab, embed] ~ normal("+std+")")
		body = append(body, "h = wte[vocab = tokens]")
	default:
		members = append(members, "embedding : nn.Embedding("+std+")")
		body = append(body, "h = embedding(tokens)")
	}
	if m.positions {
		members = append(members, "param wpe : [seq, embed] ~ normal("+std+")")
		body = append(body, "h = h + wpe")
	}
	body = append(body, "total = 0")
	for _, s := range m.stacks {
		members = append(members, s.name+" : "+s.module+"["+s.count+"]")
		if s.ffn == "moe" {
			body = append(body, "for b in "+s.name+" {\n      h, aux = b(h)\n      total = total + aux\n    }")
		} else {
			body = append(body, "for b in "+s.name+" { h = b(h) }")
		}
	}
	last := "h"
	if n := map[string]string{"layer": "nn.LayerNorm", "rms": "nn.RMSNorm"}[m.norm]; n != "" {
		members = append(members, "norm : "+n)
		last = "norm(h)"
	}
	if m.pool != "" {
		out = "[batch, vocab]"
		last = map[string]string{"last": "(%s)[seq = -1]", "mean": "mean(%s, over = seq)", "max": "max(%s, over = seq)"}[m.pool]
		last = fmt.Sprintf(last, "h")
		if m.norm != "none" {
			last = "norm(" + last + ")"
		}
	}
	switch {
	case m.tied:
		last = "dot(" + last + ", wte, over = embed)"
	default:
		to := "vocab"
		if m.numbers {
			to = "outputs"
		}
		members = append(members, fmt.Sprintf("output : nn.Linear(embed, %s, bias = %t, %s)", to, m.bias, std))
		last = "output(" + last + ")"
	}
	arg := strings.SplitN(in, ":", 2)[0]
	shown, extra := arg, ""
	if m.loss == "hidden" {
		shown = "where(tokens % 3 == 0, 1, tokens)"
	}
	if m.has("moe") {
		extra = " + total"
	}
	if m.rows != "" {
		extra += " + 0.1 * related(y)"
	}
	return fmt.Sprintf("model Net {\n  %s\n\n  fn apply(%s) -> (%s, []) {\n    %s\n    return %s, total\n  }\n\n  fn loss(%s, target) {\n    y, total = apply(%s)\n    return %s%s\n  }\n}\n",
		strings.Join(members, "\n  "), in, out, strings.Join(body, "\n    "), last, arg, shown, m.lossText(), extra)
}

// lossText is the loss of y and target.
func (m *model) lossText() string {
	switch m.loss {
	case "mse":
		return "nn.mse(y, target)"
	case "huber": // Huber (1964): quadratic near zero, linear far away
		return "mean(where(abs(y - target) < 1, 0.5 * (y - target) ** 2, abs(y - target) - 0.5))"
	case "z_loss":
		return "nn.cross_entropy(y, target, over = vocab) + 0.01 * mean(logsumexp(y, over = vocab) ** 2)"
	case "focal": // Lin et al. (2017), equation 4, with γ = 2
		return "mean(sum(where(target == index(y, vocab), -((1 - softmax(y, over = vocab)) ** 2) * log_softmax(y, over = vocab), 0), over = vocab))"
	}
	return m.maskedText()
}

// maskedText is a loss of some tokens alone, divided by their number: which ones
// follows from the data, or is drawn as well.
func (m *model) maskedText() string {
	nll := "logsumexp(y, over = vocab) - sum(where(target == index(y, vocab), y, 0), over = vocab)"
	kept := "target % 3 != 0"
	switch m.loss {
	case "drawn":
		kept = "target % 3 != 0 and (random_uniform(cast(target, f32)) > 0.2 if training else true)"
	case "masked":
	case "hidden": // of what the model does not see: Devlin et al., "BERT" (2018)
		nll, kept = strings.ReplaceAll(nll, "target", "tokens"), "tokens % 3 == 0"
	default:
		return "nn.cross_entropy(y, target, over = vocab)"
	}
	return fmt.Sprintf("sum(where(%s, %s, 0)) / max(sum(cast(%s, f32)), 1)", kept, nll, kept)
}

func (m *model) train() string {
	data, call := "data.synthetic_tokens()", "Net.loss(tokens, targets)"
	switch {
	case m.numbers:
		data, call = "data.synthetic(inputs, outputs)", "Net.loss(x, y)"
	case m.pool != "":
		data = `data.text("*", predict = last)`
	}
	freeze := ""
	if m.freeze != "" {
		freeze = fmt.Sprintf("  freeze = %q\n", m.freeze)
	}
	return fmt.Sprintf("train Net {\n  loss = %s\n  optimizer = %s\n%s  data = %s\n}\n", call, m.optimizer, freeze, data)
}
