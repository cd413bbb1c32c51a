package gpu_test

import (
	"fmt"
	"math/rand"
	"testing"

	"ptc/backend/gpu"
	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/target"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/runtime/program"
)

// parse reads the text of a kernel function.
func parse(t *testing.T, text string) *ir.Func {
	t.Helper()
	m, errs := ir.Parse("k.ptir", []byte("ptir 1 fused \"\"\n\n"+text))
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, text)
	}
	return m.Funcs[0]
}

// runText runs a kernel as a target generates it, printed and read again, and compares with the evaluator.
func runText(t *testing.T, text, on string, seed int64) {
	t.Helper()
	to, err := target.Resolve(on)
	if err != nil {
		t.Fatal(err)
	}
	k, err := gpu.Kernel(parse(t, text), to, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := &program.Kernel{Name: "k", IR: text, Symbol: k.Entry.Name, Threads: int64(k.Entry.Threads), Tasks: k.Blocks, Shared: int64(k.Shared)}
	for _, m := range k.Maps {
		x.Maps = append(x.Maps, program.TensorMap{Arg: m.Arg, Offset: m.Offset, DType: m.DType.String(), Sizes: m.Sizes, Strides: m.Strides,
			Box: m.Box, Swizzle: int64(m.Swizzle)})
	}
	printed := &ptx.Module{Version: to.PTX, Target: to.Arch, Entries: []*ptx.Entry{k.Entry}}
	module, err := ptx.Parse(printed.String())
	if err != nil {
		t.Fatal(err)
	}
	run(t, x, module, seed)
}

// TestAttentionsRandom: attentions of the heads that models have, both phases, in the schedule that each target takes.
func TestAttentionsRandom(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	one := func(of ...int) int { return of[r.Intn(len(of))] }
	flag := func(n int) bool { return r.Intn(n) == 0 }
	for i, cols := range []int{32, 64, 80, 96, 128, 192, 256} {
		a := irtest.Attention{Batch: 1, Heads: 1, Group: one(1, 2, 4), Rows: 10 + r.Intn(70), Cols: cols, Values: cols}
		if cols > 128 {
			a.Rows = 10 + r.Intn(30)
		}
		a.Keys = a.Rows
		a.Causal, a.Document, a.Cap, a.BF16, a.Stats = flag(2), flag(3), flag(2), !flag(4), true
		if flag(2) {
			a.Window = 1 + r.Intn(80)
		}
		a.Sink = i%2 == 1
		for _, on := range []string{hopper, []string{"cuda:sm_80", "cuda:sm_89"}[i%2]} {
			for phase, text := range []string{a.Forward(), a.Backward()} {
				t.Run(fmt.Sprint(cols, " ", phase, " ", on), func(t *testing.T) { runText(t, text, on, int64(i)) })
			}
		}
	}
}
