package compiler

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
	"ptc/lang"
	"ptc/passes/decode"
)

// sampled lowers a model to its forward phase.
func sampled(t *testing.T, file, source string, set ...string) *ir.Module {
	t.Helper()
	p, errs := lang.Load(file, []byte(source), nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var over []lang.Override
	for _, s := range set {
		k, v, _ := strings.Cut(s, "=")
		over = append(over, lang.Override{Key: k, Value: v})
	}
	r, errs := p.Lower(lang.Options{Set: over, Sample: true})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return r.Module
}

// numbers are tensors for the arguments of f: tokens below vocab, zeros for states,
// and for parameters the ones in given or, if it has none, random ones.
func numbers(r *rand.Rand, f *ir.Func, vocab int, given map[string]*tensor.Tensor) map[string]*tensor.Tensor {
	for _, a := range f.Args {
		if given[a.Path] != nil {
			continue
		}
		x := tensor.New(a.Value.Type)
		for i := range x.Data {
			switch a.Role {
			case ir.RoleParam:
				x.Data[i] = r.NormFloat64()
			case ir.RoleData:
				x.Data[i] = float64(r.Intn(vocab))
			}
		}
		given[a.Path] = x
	}
	return given
}

func run(m *ir.Module, f *ir.Func, by map[string]*tensor.Tensor) ([]*tensor.Tensor, error) {
	args := make([]*tensor.Tensor, len(f.Args))
	for i, a := range f.Args {
		args[i] = by[a.Path]
	}
	return eval.Func(m, f, args, eval.Options{Exact: true})
}

// apart is by how much the logits of one position after the other differ from those of
// all positions, relative to the largest.
func apart(t *testing.T, m *ir.Module, f *ir.Func, vocab int) float64 {
	t.Helper()
	full := m.Funcs[0]
	tokens := full.Args[len(full.Args)-1]
	r := rand.New(rand.NewSource(7))
	by := numbers(r, full, vocab, map[string]*tensor.Tensor{})
	out, err := run(m, full, by)
	if err != nil {
		t.Fatal(err)
	}
	all, text := out[0], by[tokens.Path]
	axis := tokens.Value.Type.Axes[1].Name
	batch, length := tokens.Value.Type.Axes[0].Size, tokens.Value.Type.Axes[1].Size
	delete(by, tokens.Path)
	by = numbers(r, f, vocab, by)
	worst, most := 0.0, 0.0
	for at := range length {
		by[decode.Position].Data[0] = float64(at)
		for b := range batch {
			by[tokens.Path].Data[b] = text.Data[b*length+at]
		}
		got, err := run(m, f, by)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range f.Results {
			by[x.Path] = got[i]
		}
		logits := by[decode.Logits]
		want := all.Reordered(ir.Type{DType: all.Type.DType, Axes: append([]ir.Axis{{Name: axis, Size: length}}, logits.Type.Axes...)})
		n := len(logits.Data)
		for i, x := range logits.Data {
			y := want.Data[at*n+i]
			most = max(most, math.Abs(y))
			if d := math.Abs(x - y); !(d <= worst) {
				worst = d
			}
		}
	}
	return worst / most
}

func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "examples", name, name+".ptl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var smallSizes = []string{"layers=2", "embed=8", "heads=4", "head=4", "ffn=12", "seq=12", "batch=2", "vocab=16"}

// sizesIn are the small sizes of which a source has entries.
func sizesIn(source string) (set []string) {
	for _, s := range smallSizes {
		if k, _, _ := strings.Cut(s, "="); strings.Contains(source, "  "+k+" ") {
			set = append(set, s)
		}
	}
	return set
}

// attends is a model of one layer of attention; what its scores become is given.
func attends(scores string) string {
	return fmt.Sprintf(`import std.nn
import std.optim
import std.data
fn before(x, by) { return concat(0 * x[seq = 0..by], x[seq = 0..8 - by], over = seq) }
config { batch = 2
  seq = 8
  chunk = 4
  inner = 2
  kseq = 8
  embed = 8
  heads = 2
  head = 4
  vocab = 16 }
model M {
  param wte : [vocab, embed] ~ normal(std = 0.5)
  param wq, wk, wv : [embed, heads, head] ~ normal(std = 0.5)
  param wo : [heads, head, embed] ~ normal(std = 0.5)
  fn apply(tokens: i32[batch, seq]) -> [batch, seq, vocab] {
    x = wte[vocab = tokens]
    q = dot(x, wq, over = embed)
    k = dot(x, wk, over = embed).rename(seq = kseq)
    v = dot(x, wv, over = embed).rename(seq = kseq)
    s = dot(q, k, over = head) / sqrt(head)
    %s
    return dot(x + dot(dot(p, v, over = kseq), wo, over = (heads, head)), wte, over = embed)
  }
}
train M {
  loss      = nn.cross_entropy(M(tokens), targets, over = vocab)
  optimizer = optim.AdamW(lr = 0.1)
  data      = data.synthetic_tokens(seq, vocab)
}
`, scores)
}

const causal = "index(seq) >= index(kseq)"

// masks are forms of attention that see nothing ahead.
var masks = map[string]string{
	"causal":   "p = softmax(where(" + causal + ", s, -inf), over = kseq)",
	"turned":   "p = softmax(where(index(kseq) <= index(seq), s, -inf), over = kseq)",
	"negated":  "p = softmax(where(index(kseq) > index(seq), -inf, s), over = kseq)",
	"distance": "p = softmax(where(index(seq) + 1 > index(kseq), s, -inf), over = kseq)",
	"window":   "p = softmax(where(" + causal + " and index(seq) < index(kseq) + 3, s, -inf), over = kseq)",
	"alibi":    "p = softmax(where(" + causal + ", s - outer(0.5 * cast(index(heads) + 1, f32), cast(index(seq), f32)) , -inf) + cast(index(kseq), f32), over = kseq)",
	"strict":   "p = softmax(where(index(seq) > index(kseq) or index(seq) == index(kseq), s, where(" + causal + ", s, -inf)), over = kseq)",
	"documents": `d = cumsum(cast(tokens == 0, i32), over = seq)
    same = d == d.rename(seq = kseq)
    p = softmax(where(same and ` + causal + `, s, -inf), over = kseq)`,
	"sinks": `e = where(` + causal + `, exp(s), 0)
    p = e / (1 + sum(e, over = kseq))`,
}

// moves are models of which a position has rows of those before it, without attention
// and with it.
var moves = map[string]string{
	"shift": `p = softmax(where(` + causal + `, s, -inf), over = kseq)
    x = x + before(x, 1)`,
	"convolution": `p = softmax(where(` + causal + `, s, -inf), over = kseq)
    x = x + 0.5 * before(x, 1) + 0.25 * before(x, 2) + 0.125 * before(x, 3)`,
	"of a convolution": `p = softmax(where(` + causal + `, s, -inf), over = kseq)
    x = x + tanh(before(x, 1))
    x = x + tanh(before(x, 2))`,
	"shifted scores": "p = softmax(where(" + causal + ", before(s, 2), -inf), over = kseq)",
	"shifted keys": `far = index(seq) > index(kseq)
    p = where(far, exp(concat(s[kseq = 1..8], s[kseq = 0..1], over = kseq)), 0)`,
	"a token shift": `p = softmax(where(` + causal + `, s, -inf), over = kseq)
    x = x + wte[vocab = concat(tokens[seq = 0..1], tokens[seq = 0..7], over = seq)]`,
	"rows by number": `p = softmax(where(` + causal + `, s, -inf), over = kseq)
    x = x + x.rename(seq = kseq)[kseq = max(index(seq) - 2, 0)]`,
	"chunks": `p = softmax(where(` + causal + `, s, -inf), over = kseq)
    c = x.split(seq = (chunk, inner))
    d = concat(0 * c[chunk = 0..1], c[chunk = 0..3], over = chunk)
    x = x + d.merge(seq = (chunk, inner))`,
	"sums of chunks": `p = softmax(where(` + causal + `, s, -inf), over = kseq)
    c = x.split(seq = (chunk, inner))
    d = sum(c.rename(inner = other), over = other)
    e = concat(0 * d[chunk = 0..1], d[chunk = 0..3], over = chunk)
    x = x + (c + broadcast(e, as = c)).merge(seq = (chunk, inner))`,
	"chunks of a shift": `p = softmax(where(` + causal + `, s, -inf), over = kseq)
    c = before(x, 2).split(seq = (chunk, inner))
    x = x + c.merge(seq = (chunk, inner))`,
	"taps": `p = softmax(where(` + causal + `, s, -inf), over = kseq)
    x = x + sum(x.rename(seq = kseq)[kseq = broadcast(index(seq), as = i32[seq, heads]) - index(heads)], over = heads)`,
}

// derived has f look at what is derived of the examples with these names, and of models with all masks and moves.
func derived(t *testing.T, examples []string, f func(t *testing.T, m *ir.Module, d *decode.Derived)) {
	sources := map[string]string{}
	for _, name := range examples {
		sources[name] = example(t, name)
	}
	for _, list := range []map[string]string{masks, moves} {
		for name, scores := range list {
			sources[name] = attends(scores)
		}
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			var set []string
			if masks[name]+moves[name] == "" {
				set = sizesIn(source)
			}
			m := sampled(t, name+".ptl", source, set...)
			d, err := decode.Derive(m.Funcs[0])
			if err != nil {
				t.Fatal(err)
			}
			f(t, m, d)
		})
	}
}

// One position after the other gives what all positions together give.
func TestDecodeEqualsForward(t *testing.T) {
	derived(t, []string{"gpt", "llama", "moe"}, func(t *testing.T, m *ir.Module, d *decode.Derived) {
		if diff := apart(t, m, d.Func, 16); !(diff <= 1e-12) {
			t.Errorf("logits differ by %.2g\n%s", diff, ir.Print(&ir.Module{Level: ir.Global, Name: "M", Funcs: []*ir.Func{d.Func}}))
		}
	})
}

// What depends on later positions is an error that says where.
func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ scores, code, says string }{
		"no mask":      {"p = softmax(s, over = kseq)", "E0721", "looks ahead"},
		"wrong way":    {"p = softmax(where(index(seq) <= index(kseq), s, -inf), over = kseq)", "E0721", "looks ahead"},
		"one too many": {"p = softmax(where(index(seq) >= index(kseq) - 1, s, -inf), over = kseq)", "E0721", "looks ahead"},
		"window alone": {"p = softmax(where(index(seq) < index(kseq) + 3, s, -inf), over = kseq)", "E0721", "looks ahead"},
		"either":       {"p = softmax(where(" + causal + " or index(kseq) == 5, s, -inf), over = kseq)", "E0721", "looks ahead"},
		"finite":       {"p = softmax(where(" + causal + ", s, -100), over = kseq)", "E0721", "looks ahead"},
		"over rows":    {"p = softmax(where(" + causal + ", s, -inf), over = seq)", "E0721", "looks ahead"},
		"shift": {`u = concat(s[seq = 1..8], s[seq = 0..1], over = seq)
    p = softmax(where(` + causal + `, u, -inf), over = kseq)`, "E0721", "looks ahead"},
		"one too far": {`p = softmax(where(` + causal + `, s, -inf), over = kseq)
    x = x + x.rename(seq = kseq)[kseq = index(seq) + 1]`, "E0721", "looks ahead"},
		"keys from behind": {`far = index(seq) >= index(kseq)
    p = where(far, exp(concat(s[kseq = 1..8], s[kseq = 0..1], over = kseq)), 0)`, "E0721", "looks ahead"},
		"a row from behind": {`p = softmax(where(` + causal + `, s, -inf), over = kseq)
    x = x + concat(x[seq = 1..8], x[seq = 0..1], over = seq)`, "E0721", "looks ahead"},
		"sums of its chunk": {`p = softmax(where(` + causal + `, s, -inf), over = kseq)
    c = x.split(seq = (chunk, inner))
    d = sum(c.rename(inner = other), over = other)
    x = x + (c + broadcast(d, as = c)).merge(seq = (chunk, inner))`, "E0721", "looks ahead"},
		"the chunk behind": {`p = softmax(where(` + causal + `, s, -inf), over = kseq)
    c = x.split(seq = (chunk, inner))
    d = concat(c[chunk = 1..4], 0 * c[chunk = 0..1], over = chunk)
    x = x + d.merge(seq = (chunk, inner))`, "E0721", "looks ahead"},
		"the other end": {`p = softmax(where(` + causal + `, s, -inf), over = kseq)
    x = x + concat(x[seq = 7..8], x[seq = 0..7], over = seq)`, "E0721", "looks ahead"},
	} {
		t.Run(name, func(t *testing.T) {
			m := sampled(t, "m.ptl", attends(c.scores))
			_, err := decode.Derive(m.Funcs[0])
			list, ok := diag.As(err)
			if !ok || list[0].Code != c.code || !strings.Contains(list[0].Msg, c.says) || list[0].Pos.File == "" {
				t.Errorf("%v, want %s", err, c.code)
			}
		})
	}
}

// Mutants of the derived function are found by the comparison.
func TestDecodeMutants(t *testing.T) {
	m := sampled(t, "m.ptl", attends(masks["causal"]))
	mutants := map[string]func(f *ir.Func) bool{
		"a row written elsewhere": func(f *ir.Func) bool {
			for _, o := range f.Ops {
				if o.Name == op.Eq {
					o.Name = op.Lt
					return true
				}
			}
			return false
		},
		"no mask": func(f *ir.Func) bool {
			for _, o := range f.Ops {
				if o.Name == op.Ge {
					o.Name = op.Ne
					return true
				}
			}
			return false
		},
		"the cache of before": func(f *ir.Func) bool {
			for _, o := range f.Ops {
				if o.Name == op.Rename && o.Args[0].Def != nil && o.Args[0].Def.Name == op.Select {
					o.Args[0] = o.Args[0].Def.Args[2]
					return true
				}
			}
			return false
		},
	}
	for name, mutate := range mutants {
		t.Run(name, func(t *testing.T) {
			d, err := decode.Derive(m.Funcs[0])
			if err != nil {
				t.Fatal(err)
			}
			if !mutate(d.Func) {
				t.Fatal("nothing to change")
			}
			if diff := apart(t, m, d.Func, 16); diff <= 1e-12 {
				t.Error("the comparison does not see it")
			}
		})
	}
}
