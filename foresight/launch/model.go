package launch

import (
	"fmt"
	"strings"
)

// family is a model of std.models.
type family struct {
	name, model string
	fits        func(m *Model) bool
	// entries are those of the config that not every model here has.
	entries string
}

// families are tried in this order; a model that none fits is written out.
var families = []family{
	{"gpt2", "GPT2", func(m *Model) bool {
		return m.Norm == "layer" && m.Act == "gelu_tanh" && !m.Gated && m.Bias && !m.QKNorm && m.Tied && m.Positions == "learned" && m.KV == m.Heads && m.Window == 0 && m.Experts == 0
	}, "context"},
	{"llama", "Llama", func(m *Model) bool {
		return m.llama() && !m.QKVBias && !m.QKNorm && m.Window == 0
	}, "kv base context tied factor low high trained"},
	{"qwen2", "Qwen2", func(m *Model) bool {
		return m.llama() && m.QKVBias && !m.QKNorm && m.Window == 0 && m.Stretch == 1
	}, "kv base context tied"},
	{"qwen3", "Qwen3", func(m *Model) bool {
		return m.llama() && !m.QKVBias && m.QKNorm && m.Window == 0 && m.Stretch == 1
	}, "kv base context tied"},
	{"mistral", "Mistral", func(m *Model) bool {
		return m.llama() && !m.QKVBias && !m.QKNorm && m.Window > 0 && m.Stretch == 1
	}, "kv base context tied window"},
}

// llama reports whether blocks are those of Llama, but for biases and norms of attention.
func (m *Model) llama() bool {
	return m.Norm == "rms" && m.Act == "silu" && m.Gated && !m.Bias && m.Positions == "rope" && m.Experts == 0
}

// familyOf is the family of a model; without a name for one that is written out.
func familyOf(m *Model) family {
	for _, f := range families {
		if f.fits(m) {
			return f
		}
	}
	entries := ""
	if m.grouped() {
		entries += " kv"
	}
	switch m.Positions {
	case "rope":
		entries += " base context"
		if m.Stretch != 1 {
			entries += " factor low high trained"
		}
		if m.Window > 0 {
			entries += " window"
		}
	case "learned":
		entries += " context"
	}
	if m.Experts > 0 {
		entries += " experts chosen capacity"
	}
	return family{model: "Decoder", entries: entries}
}

// grouped reports whether keys and values have heads of their own.
func (m *Model) grouped() bool { return m.Positions == "rope" || m.KV != m.Heads }

// lacks is what no model here has, or empty.
func (m *Model) lacks() string {
	switch {
	case m.Gated && m.Act != "silu" && m.Act != "gelu" && m.Act != "gelu_tanh":
		return "a gated MLP with the activation " + m.Act
	case m.Gated && m.Bias && m.Experts > 0:
		return "gated experts with biases"
	case m.Window > 0 && m.Positions != "rope":
		return "attention in windows without rope"
	case m.Stretch != 1 && m.Window > 0:
		return "stretched rope in windows"
	}
	return ""
}

// written is the model as text.
func (m *Model) written() string {
	var b strings.Builder
	norm := map[string]string{"rms": "nn.RMSNorm(eps = eps)", "layer": "nn.LayerNorm(eps = eps)"}[m.Norm]
	if m.Act == "squared_relu" {
		b.WriteString("// squared_relu is relu(x)²: So et al., \"Primer\" (2021).\nfn squared_relu(x) { return relu(x) * relu(x) }\n\n")
	}
	if m.Positions != "rope" {
		b.WriteString(m.attention())
	}
	if m.Experts > 0 {
		b.WriteString(m.experts())
	} else if m.Gated && m.Bias {
		b.WriteString(gated)
	}
	mlp := "mlp   : " + m.mlp()
	end := "return h + mlp(norm2(h))"
	if m.Experts > 0 {
		mlp = "moe   : Experts(k = chosen, capacity = capacity)"
		end = "return h + moe(norm2(h))"
	}
	fmt.Fprintf(&b, `module Block {
  norm1 : %s
  attn  : %s
  norm2 : %s
  %s

  fn apply(x: [batch, seq, embed]) -> [batch, seq, embed] {
    h = x + attn(norm1(x))
    %s
  }
}

model Decoder {
  param wte : [vocab, embed] ~ normal(std = std)
`, norm, m.attn(), norm, mlp, end)
	output, sum := "wte", ""
	if m.Positions == "learned" {
		b.WriteString("  param wpe : [context, embed] ~ normal(std = std)\n")
		sum = " + wpe[context = 0..seq].rename(context = seq)"
	}
	if !m.Tied {
		b.WriteString("  param output : [vocab, embed] ~ normal(std = std)\n")
		output = "output"
	}
	fmt.Fprintf(&b, `  blocks : Block[layers]
  norm : %s

  fn apply(tokens: i32[batch, seq]) -> [batch, seq, vocab] {
    x = wte[vocab = tokens]%s
    for b in blocks { x = b(x) }
    return dot(norm(x), %s, over = embed)
  }
}
`, norm, sum, output)
	return b.String()
}

// attn is the attention of a block.
func (m *Model) attn() string {
	if m.Positions != "rope" {
		return "Attention"
	}
	args := "base = base, std = std, out_std = std / sqrt(2 * layers)"
	if m.QKVBias {
		args += ", bias = true"
	}
	if m.Bias {
		args += ", out_bias = true"
	}
	if m.QKNorm {
		args += ", norm = true, eps = eps"
	}
	if m.Window > 0 {
		args += ", window = window"
	}
	if m.Stretch != 1 {
		args += ", factor = factor, low = low, high = high, context = trained"
	}
	return "decoder.Attention(" + args + ")"
}

// mlp is the MLP of a block.
func (m *Model) mlp() string {
	const std = "std = std, out_std = std / sqrt(2 * layers)"
	switch {
	case m.Gated && m.Bias:
		return "Gated(act = " + m.Act + ")"
	case m.Gated && m.Act == "silu":
		return "nn.SwiGLU(" + std + ")"
	case m.Gated:
		return "decoder.Gated(act = " + m.Act + ", " + std + ")"
	}
	return fmt.Sprintf("nn.MLP(act = %s, bias = %v, %s)", m.Act, m.Bias, std)
}

// attention is a module of attention without rope.
func (m *Model) attention() string {
	kv, query, key, back := "heads", "q", "k", "y"
	if m.KV != m.Heads {
		kv, query, back = "kv", "q.split(heads = (kv, group))", "y.merge(heads = (kv, group))"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `module Attention {
  param wq : [embed, heads, head] ~ normal(std = std)
  param wk, wv : [embed, %s, head] ~ normal(std = std)
  param wo : [heads, head, embed] ~ normal(std = std / sqrt(2 * layers))
`, kv)
	bias := func(param string) string {
		if m.QKVBias {
			return " + " + param
		}
		return ""
	}
	if m.QKNorm {
		b.WriteString("  param q_gain, k_gain : [head] ~ ones\n")
		query, key = strings.Replace(query, "q", "normed(q, q_gain)", 1), "normed(k, k_gain)"
	}
	out := ""
	if m.QKVBias {
		fmt.Fprintf(&b, "  param bq : [heads, head] ~ zeros no_decay\n  param bk, bv : [%s, head] ~ zeros no_decay\n", kv)
	}
	if m.Bias {
		b.WriteString("  param bo : [embed] ~ zeros\n")
		out = " + bo"
	}
	if m.QKNorm {
		b.WriteString("\n  fn normed(x, gain) { return x * rsqrt(mean(x * x, over = head) + eps) * gain }\n")
	}
	fmt.Fprintf(&b, `
  fn apply(x) {
    q = dot(x, wq, over = embed)%s
    k = dot(x, wk, over = embed)%s
    v = dot(x, wv, over = embed)%s
    y = nn.attention(%s, %s.rename(seq = kseq), v.rename(seq = kseq))
    return dot(%s, wo, over = (heads, head))%s
  }
}

`, bias("bq"), bias("bk"), bias("bv"), query, key, back, out)
	return b.String()
}

// experts is a mixture of experts whose devices exchange tokens.
func (m *Model) experts() string {
	w1, b1, b2 := "w1", "", ""
	inner, back := "dot(h, w1, over = embed)", ""
	if m.Gated {
		w1 = "w1, w3"
	}
	if m.Bias {
		b1 = "\n  param b1     : [experts, ffn]           ~ zeros no_decay"
		b2 = "\n  param b2     : [experts, embed]         ~ zeros no_decay"
		inner, back = inner+" + b1", " + b2"
	}
	inner = m.Act + "(" + inner + ")"
	if m.Gated {
		inner += " * dot(h, w3, over = embed)"
	}
	return fmt.Sprintf(expertsText, w1, b1, b2, inner, back)
}

const expertsText = `// Experts: experts of a capacity. Every token goes to the k experts that its router likes
// best, as long as they have room, and devices exchange tokens. Lepikhin et al., "GShard"
// (2020); Jiang et al., "Mixtral of experts" (2024).
module Experts(k = 2, capacity = 1.0) {
  let count = size(f32[experts], experts)

  param router : [embed, gate = count]    ~ normal(std = std)
  param %s : [experts, embed, ffn]    ~ normal(std = std)%s
  param w2     : [experts, ffn, embed]    ~ normal(std = std / sqrt(2 * layers))%s

  fn apply(x) {
    p = softmax(cast(dot(x, router, over = embed), f32), over = gate)
    expert, place, weight, chosen = nn.route(p, k, tokens = seq)
    n = size(x, seq)
    slots = clamp(-floor(1e-9 - n * k / count * capacity), 1, n)
    cell = where(place < slots, expert * slots + place, -1)
    into = scatter(x, cell, over = (choice, seq), into = cell, size = count * slots)
    h = into.rename(batch = group).split(cell = (experts, slot))
    y = dot(%s, w2, over = ffn)%s
    back = y.merge(cell = (experts, slot)).rename(group = batch)[cell = cell]
    share = weight / sum(weight, over = choice) if k > 1 else weight
    return broadcast(sum(back * cast(share, x), over = choice), x)
  }
}

`

// gated is a gated MLP with biases.
const gated = `// Gated: (act(x·w1 + b1) ∘ (x·w3 + b3))·w2 + b2. Shazeer, "GLU variants improve
// transformer" (2020), with biases.
module Gated(act = silu) {
  param w1, w3 : [embed, ffn] ~ normal(std = std)
  param b1, b3 : [ffn]        ~ zeros
  param w2     : [ffn, embed] ~ normal(std = std / sqrt(2 * layers))
  param b2     : [embed]      ~ zeros

  fn apply(x) {
    return dot(act(dot(x, w1, over = embed) + b1) * (dot(x, w3, over = embed) + b3), w2, over = ffn) + b2
  }
}

`
