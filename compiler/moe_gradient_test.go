package compiler_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/runtime/exec"
)

// trained is one step of a program on the reference in float64: its loss, that
// of validation, the parameters before it and their gradients.
type trained struct {
	loss, eval    float64
	params, grads map[string][]float64
}

func trainOnce(t *testing.T, src string, set ...string) trained {
	t.Helper()
	p, _, err := compiler.Compile(compiler.Options{File: "moe.ptl", Source: []byte(src), Set: set, Target: "ref:f64", Layout: "single"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := exec.Open(p, exec.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Initialize(11); err != nil {
		t.Fatal(err)
	}
	out := trained{params: map[string][]float64{}, grads: map[string][]float64{}}
	for _, x := range m.Tensors() {
		raw := make([]byte, x.Bytes())
		if err := m.ReadBytes(x.Path, raw); err != nil {
			t.Fatal(err)
		}
		out.params[x.Path] = float64s(raw)
	}
	m.SetStep(1)
	for _, name := range []string{"eval", "step"} {
		prog := m.Program(name)
		for _, f := range prog.Fields() {
			n := 1
			for _, d := range f.Shape {
				n *= d
			}
			var raw []byte
			for i := range n {
				raw = binary.LittleEndian.AppendUint32(raw, uint32(i*7%5))
			}
			if err := prog.Feed(f.Name, raw); err != nil {
				t.Fatal(err)
			}
		}
		if name == "eval" {
			if err := prog.Run(); err != nil {
				t.Fatal(err)
			}
			out.eval = prog.Loss()
			continue
		}
		err := prog.RunWithGradients(func(g exec.Tensor, s exec.Slice) error {
			out.grads[g.Path] = float64s(s.Bytes)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		out.loss = prog.Loss()
	}
	return out
}

func float64s(raw []byte) (out []float64) {
	for i := 0; i < len(raw); i += 8 {
		out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(raw[i:])))
	}
	return out
}

// plainMoE is what loops over tokens, written from the papers, make of a mixture
// of experts: the loss Σ c·y + balance·L + z·Z, and how many choices were dropped.
// Sizes are those of the test below.
type plainMoE struct {
	batch, seq, embed, experts, ffn, k int
	capacity, balance, z               float64
}

func (m plainMoE) loss(p map[string][]float64) (loss float64, dropped int) {
	room := max(1, int(math.Ceil(float64(m.seq*m.k)/float64(m.experts)*m.capacity-1e-9)))
	for b := range m.batch {
		used, mean := make([]int, m.experts), make([]float64, m.experts)
		for s := range m.seq {
			at := (b*m.seq + s) * m.embed
			x, c := p["x"][at:at+m.embed], p["c"][at:at+m.embed]
			prob, order, lse := make([]float64, m.experts), make([]int, m.experts), 0.0
			for e := range prob {
				order[e] = e
				for d, v := range x {
					prob[e] += v * p["moe.router"][d*m.experts+e]
				}
				prob[e] = math.Exp(prob[e])
				lse += prob[e]
			}
			for e := range prob {
				prob[e] /= lse
				mean[e] += prob[e] / float64(m.seq)
			}
			loss += m.z * math.Pow(math.Log(lse), 2) / float64(m.batch*m.seq)
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(prob[j], prob[i]) })
			total := 0.0
			for _, e := range order[:m.k] {
				total += prob[e]
			}
			if m.k == 1 {
				total = 1
			}
			for _, e := range order[:m.k] {
				if used[e]++; used[e] > room {
					dropped++
					continue
				}
				loss += prob[e] / total * m.expert(p, e, x, c)
			}
		}
		for e := range used {
			loss += m.balance * float64(m.experts) * float64(used[e]) / float64(m.k*m.seq) * mean[e] / float64(m.batch)
		}
	}
	return loss, dropped
}

// expert is Σ c·(tanh(x·w1 + b1)·w2 + b2) of one expert.
func (m plainMoE) expert(p map[string][]float64, e int, x, c []float64) (sum float64) {
	for d := range c {
		sum += c[d] * p["moe.b2"][e*m.embed+d]
	}
	for f := range m.ffn {
		h := p["moe.b1"][e*m.ffn+f]
		for d, v := range x {
			h += v * p["moe.w1"][(e*m.embed+d)*m.ffn+f]
		}
		for d := range c {
			sum += math.Tanh(h) * c[d] * p["moe.w2"][(e*m.ffn+f)*m.embed+d]
		}
	}
	return sum
}

// TestMoEGradients: the loss of training has the balancing and the z-loss in it,
// and its gradients, through the gates, the experts and the slots, with tokens
// that are dropped, are the differences of an independent computation.
func TestMoEGradients(t *testing.T) {
	for _, m := range []plainMoE{
		{2, 6, 4, 4, 3, 2, 0.75, 0.3, 0.2},
		{2, 6, 4, 4, 3, 1, 1, 0.3, 0},
		{2, 6, 4, 3, 3, 3, 1, 0, 0.2},
	} {
		src := fmt.Sprintf(`import std.nn
import std.optim
import std.data
config { batch = %d  seq = %d  embed = %d  experts = %d  ffn = %d }
model M {
  param x, c : [batch, seq, embed] ~ normal(std = 1.0)
  moe : nn.MoE(k = %d, capacity = %g, act = tanh, balance = %g, z = %g, std = 1.0, out_std = 1.0)
  fn loss(tokens: i32[batch, seq]) {
    y, aux = moe(x)
    return sum(y * c) + aux + 0 * mean(cast(tokens, f32))
  }
}
train M {
  loss = M.loss(tokens)
  optimizer = optim.SGD(lr = 0.1)
  data = data.text("x", predict = next)
}
layout single { }
`, m.batch, m.seq, m.embed, m.experts, m.ffn, m.k, m.capacity, m.balance, m.z)
		got := trainOnce(t, src)
		loss, dropped := m.loss(got.params)
		if (dropped > 0) != (m.k < m.experts) {
			t.Fatalf("k = %d: %d choices are dropped", m.k, dropped)
		}
		if math.Abs(loss-got.loss) > 1e-9*math.Abs(loss) {
			t.Errorf("k = %d: the loss is %.12g, want %.12g", m.k, got.loss, loss)
		}
		if len(got.grads) != 7 {
			t.Errorf("gradients of %d parameters, want 7", len(got.grads))
		}
		for path, g := range got.grads {
			differ, size := 0.0, 0.0
			x := got.params[path]
			for i, was := range x {
				const h = 1e-5
				x[i] = was + h
				up, _ := m.loss(got.params)
				x[i] = was - h
				down, _ := m.loss(got.params)
				x[i] = was
				differ += math.Pow(g[i]-(up-down)/(2*h), 2)
				size += g[i] * g[i]
			}
			if size == 0 || math.Sqrt(differ/size) > 1e-8 {
				t.Errorf("k = %d: the gradient of %s, of norm %.3g, differs by %.3g", m.k, path, math.Sqrt(size), math.Sqrt(differ))
			}
		}
	}
}

// TestMoEAuxiliary: examples/moe trains on the auxiliary losses and validates
// without them. Of a router that prefers nothing yet, L = 1 and Z = ln(E)² for
// each layer.
func TestMoEAuxiliary(t *testing.T) {
	src, err := os.ReadFile("../examples/moe/moe.ptl")
	if err != nil {
		t.Fatal(err)
	}
	const layers, experts = 2, 4
	set := []string{"layers=2", "batch=2", "seq=8", "embed=16", "heads=2", "head=8", "experts=4", "ffn=12", "vocab=16", "std=0.0001"}
	with := trainOnce(t, string(src), set...)
	want := layers * (0.01 + 0.001*math.Pow(math.Log(experts), 2))
	if got := with.loss - with.eval; math.Abs(got-want) > 0.01*want {
		t.Errorf("training adds %g to the loss of the text, want about %g", got, want)
	}
	const layer = "nn.MoE(k = chosen, "
	if strings.Count(string(src), layer) != 1 {
		t.Fatalf("examples/moe has no %q", layer)
	}
	without := trainOnce(t, strings.Replace(string(src), layer, layer+"balance = 0, z = 0, ", 1), set...)
	if without.loss != without.eval {
		t.Errorf("without auxiliary losses training adds %g", without.loss-without.eval)
	}
}
