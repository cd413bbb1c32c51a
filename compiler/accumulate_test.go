package compiler_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/runtime/program"
)

// accumulating are layouts of [stacked] in which gradients of several parts of the batch
// add up, and no device rounds a part of a product.
var accumulating = []string{"accumulate", "zero1", "zero2", "zero3", "rounds", "rounds_zb"}

var layouts = regexp.MustCompile(`layout (\w+) \{ `)

// TestAccumulateRounds: in a precision that rounds, parts of a batch compute what the whole batch
// does, row by row, and add up in f32. Only the order of sums differs, but for reduce =
// bf16, of which each device rounds its sum, and under zero 2 each microbatch.
func TestAccumulateRounds(t *testing.T) {
	for _, c := range []struct {
		precision string
		tolerance float64
	}{
		{"compute = bf16", 1e-5}, {"compute = bf16  params = bf16", 1e-5}, {"compute = f16  loss_scale = 64", 1e-5}, {"compute = bf16  reduce = bf16", 2e-2},
	} {
		for _, name := range []string{"a masked loss", "read by several stages", "a gate"} {
			src := layouts.ReplaceAllString(pipelined[name], "layout $1 { precision { "+c.precision+" } ")
			var want *matrix.Run
			for _, layout := range append([]string{"single"}, accumulating...) {
				p, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(src), Layout: layout, Target: "ref", VerifyEach: true})
				if err != nil {
					t.Fatalf("%s: %s: %v", c.precision, layout, err)
				}
				got, err := matrix.TrainOn(p, 3, 2)
				if err != nil {
					t.Fatalf("%s: %s: %v", c.precision, layout, err)
				}
				if want == nil {
					want = got
				} else if r := matrix.Compare(want, got, matrix.Target{Tolerance: c.tolerance, Floor: 0.05}); !r.OK() {
					t.Errorf("%s: %s, %s: %v", name, c.precision, layout, r)
				}
			}
		}
	}
}

// reduced are the bytes that a device reduces in a step by collectives of a kind, and how
// many there are of them.
func reduced(t *testing.T, extra, kind string) (count int, bytes int64) {
	t.Helper()
	for _, in := range step(t, &planFor(t, "gpt", "dp2", "", extra).Devices[0]) {
		if in.Comm.Kind == kind && in.Comm.Bytes > 64 {
			count, bytes = count+1, bytes+in.Comm.Bytes
		}
	}
	return count, bytes
}

// TestAccumulateReduces: gradients are reduced once in a step, however many parts of the
// batch they are of; under zero 2 and 3 each part reduces its own, and under zero 3 it
// gathers the parameters.
func TestAccumulateReduces(t *testing.T) {
	for _, c := range []struct {
		zero, kind string
		times      int
	}{
		{"", "all_reduce", 1}, {"zero 1 over dp", "reduce_scatter", 1}, {"zero 1 over dp", "all_gather", 1},
		{"zero 2 over dp", "reduce_scatter", 4}, {"zero 2 over dp", "all_gather", 1},
		{"zero 3 over dp", "reduce_scatter", 4}, {"zero 3 over dp", "all_gather", 4},
	} {
		n, bytes := reduced(t, c.zero, c.kind)
		m, all := reduced(t, c.zero+"  accumulate = 4", c.kind)
		if n == 0 || m != c.times*n || all != int64(c.times)*bytes {
			t.Errorf("%s: %d %s of %d bytes, and %d of %d bytes for 4 parts of the batch: want %d times as many", c.zero, n, c.kind, bytes, m, all, c.times)
		}
	}
}

// uses is how much of the arena of a plan's devices a program uses behind the parameters and states: the
// end of its last buffer, of the device with the most.
func uses(p *program.Plan, name string) (most int64) {
	for i := range p.Devices {
		d, kept := &p.Devices[i], int64(0)
		for _, x := range d.Tensors {
			b := &d.Buffers[x.Buffer]
			n, _ := b.Places()
			kept = max(kept, b.Place(n-1, 0)+b.Bytes)
		}
		for k := range d.Progs {
			if d.Progs[k].Name != name {
				continue
			}
			for _, in := range d.Progs[k].Instrs {
				for _, at := range in.Bufs {
					b := &d.Buffers[at]
					n, m := b.Places()
					most = max(most, b.Place(n-1, m-1)+b.Bytes-kept, b.Place(0, m-1)+b.Bytes-kept)
				}
			}
		}
	}
	return most
}

// compiled is a plan of examples/gpt with few parameters compared with its activations.
func compiled(t *testing.T, rules string) *program.Plan {
	t.Helper()
	p, err := matrix.Compile("..", mustFind(t, "gpt"), matrix.Layout{Spec: "single", Set: "batch=16 seq=64 layers=4", Extra: rules}, "ref")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAccumulateTakesLess: n parts of a batch need the accumulators, 4 bytes for each
// parameter, and 1/n of what the batch needs.
func TestAccumulateTakesLess(t *testing.T) {
	whole := compiled(t, "")
	var sums int64
	for _, x := range whole.Devices[0].Tensors {
		if x.Train {
			b := &whole.Devices[0].Buffers[x.Buffer]
			n, _ := b.Places()
			sums += b.Bytes * int64(n)
		}
	}
	for _, phase := range []string{"", "  recompute Block"} {
		all, last := uses(compiled(t, phase), "step"), int64(0)
		for _, n := range []int64{2, 4, 8} {
			now := uses(compiled(t, fmt.Sprintf("accumulate = %d%s", n, phase)), "step")
			// Inputs and padding are not divided.
			if most := sums + all/n + all/32; now > most || last > 0 && now >= last {
				t.Errorf("%s: %d parts of the batch take %d bytes, want at most %d of %d for all of it, and less than %d", phase, n, now, most, all, last)
			}
			last = now
		}
	}
}

// TestValidationTakesLess: validation goes through a pipeline, and through parts of a
// batch, in the same microbatches as a step: more of them take less, but for messages that
// are received ahead.
func TestValidationTakesLess(t *testing.T) {
	for _, rules := range []string{"mesh pp = 2  pipeline blocks over pp { microbatches = %d }", "mesh pp = 2  pipeline blocks over pp { schedule = gpipe  microbatches = %d }", "accumulate = %d"} {
		one := uses(compiled(t, fmt.Sprintf(rules, 1)), "eval")
		for _, n := range []int64{2, 4} {
			p := compiled(t, fmt.Sprintf(rules, n))
			if now := uses(p, "eval"); now > one/n+one/4 || now > uses(p, "step") {
				t.Errorf(rules+": validation takes %d bytes, of %d for one microbatch, and a step %d", n, now, one, uses(p, "step"))
			}
		}
	}
}

// TestIdleRulesOfPasses: what a pass finds to change nothing is a warning.
func TestIdleRulesOfPasses(t *testing.T) {
	for rules, want := range map[string]string{
		"recompute Block { keep = [ln1, attn, ln2, mlp] }": "`recompute` of line",
		"recompute Block":                      "",
		"recompute LayerNorm":                  "",
		"offload activations of Block to host": "",
		"offload optimizer to host":            "",
		"recompute auto { budget = 1 GiB }":    "",
	} {
		src, err := os.ReadFile("../examples/gpt/gpt.ptl")
		if err != nil {
			t.Fatal(err)
		}
		_, r, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Source: []byte(string(src) + "\nlayout idle {\n" + rules + "\n}\n"),
			Set: []string{"layers=2", "embed=64", "heads=2", "head=32", "seq=64", "batch=4"}, Layout: "idle", Target: "ref"})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.Warnings, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: warnings %q, expected %q", rules, got, want)
		}
	}
}
