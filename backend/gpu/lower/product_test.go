package lower

import (
	"cmp"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/backend/gpu/choose"
	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/nvptx"
	"ptc/backend/gpu/ptx"
	"ptc/backend/nest"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
)

// problem is a product with the order of its operands' axes, and what is around it.
type problem struct {
	m, n, k, batch int
	left, right    string // axes: "mk", "km", "kn", "nk"
	dtype, out     string
	other          string // dtype of the right operand; empty: as the left one's
	machine        nvptx.Machine
	before, after  bool   // a prologue that scales rows and casts; an epilogue with a bias and a residual
	cut            string // as text; empty: that of choose.Schedule
	warps          int    // 0: those of the cut
	options        emu.Options
	instruction    string
	on             choose.GPU
	pitch          bool // rows are padded to multiples of 16 bytes
	tens           bool // arguments have no more bits than matrix instructions read of f32
}

func (p problem) String() string {
	return fmt.Sprintf("%dx%dx%d batch %d %s,%s %s to %s before %v after %v, %s, %d warps, seed %d late %v",
		p.m, p.n, p.k, p.batch, p.left, p.right, p.dtype, p.out, p.before, p.after, p.cut, p.warps, p.options.Seed, p.options.Late)
}

// text is the kernel function.
func (p problem) text() string {
	size := map[byte]int{'m': p.m, 'n': p.n, 'k': p.k, 'b': p.batch}
	typ := func(d, axes string) string {
		if p.batch > 0 && d != "" {
			axes = "b" + axes
		}
		var words []string
		for _, a := range []byte(axes) {
			words = append(words, fmt.Sprintf("%c=%d", a, size[a]))
		}
		if n := 16 / max(dtypeSize(d), 1); p.pitch && len(words) > 1 && size[axes[len(axes)-1]]%n != 0 {
			words[len(words)-1] += fmt.Sprintf("+%d", n-size[axes[len(axes)-1]]%n)
		}
		return d + "[" + strings.Join(words, ", ") + "]"
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("ptir 1 fused \"p\"")
	line("func @k class=kernel kind=gemm")
	n := 0
	def := func(t, rest string, args ...any) string {
		line("  %%%d : %s = "+rest, append([]any{n, t}, args...)...)
		n++
		return fmt.Sprintf("%%%d", n-1)
	}
	arg := func(t string) string {
		line("  arg %%%d : %s in", n, t)
		n++
		return fmt.Sprintf("%%%d", n-1)
	}
	from := p.dtype
	if p.before {
		from = "f32"
	}
	l, r := arg(typ(from, p.left)), arg(typ(cmp.Or(p.other, p.dtype), p.right))
	var scale, bias, rest string
	if p.before {
		scale = arg(typ("f32", "m"))
	}
	if p.after {
		bias, rest = arg("f32[n="+fmt.Sprint(p.n)+"]"), arg(typ(p.out, "mn"))
	}
	if p.before {
		l = def(typ("f32", p.left), "mul %s, %s", l, scale)
		if p.dtype != "f32" {
			l = def(typ(p.dtype, p.left), "cast %s to=%s", l, p.dtype)
		}
	}
	to := ""
	if p.dtype != "f32" {
		to = " to=f32"
	}
	out := def(typ("f32", "mn"), "dot %s, %s over=(k)"+to, l, r)
	var first string
	if p.after {
		out = def(typ("f32", "mn"), "add %s, %s", out, bias)
		first = out
		out = def(typ("f32", "mn"), "tanh %s", out)
		if p.out != "f32" {
			rest = def(typ("f32", "mn"), "cast %s to=f32", rest)
		}
		out = def(typ("f32", "mn"), "add %s, %s", out, rest)
	}
	if p.out != "f32" {
		out = def(typ(p.out, "mn"), "cast %s to=%s", out, p.out)
	}
	if first != "" {
		line("  result %s out", first)
	}
	line("  result %s out", out)
	line("end")
	return b.String()
}

func dtypeSize(name string) int {
	d, _ := ir.ParseDType(name)
	return d.Size()
}

// launch is a problem ready to run.
type launch struct {
	f       *ir.Func
	k       *fusion.Kernel
	kernels []Kernel[*ptx.Entry]
	args    []*tensor.Tensor
	want    []*tensor.Tensor
	options emu.Options
}

func (p problem) launch(t *testing.T) *launch {
	t.Helper()
	x := p.launchOnly(t)
	var err error
	x.args = irtest.Arguments(x.f, 7)
	for _, a := range x.args {
		for i, v := range a.Data {
			if p.tens {
				a.Data[i] = float64(math.Float32frombits(math.Float32bits(float32(v)) &^ (1<<13 - 1)))
			}
		}
	}
	if x.want, err = eval.Func(&ir.Module{Funcs: []*ir.Func{x.f}}, x.f, x.args, eval.Options{}); err != nil {
		t.Fatal(err)
	}
	return x
}

// launchOnly is p without arguments.
func (p problem) launchOnly(t *testing.T) *launch {
	t.Helper()
	m, errs := ir.Parse("k.ptir", []byte(p.text()))
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, p.text())
	}
	f := m.Funcs[0]
	k, err := fusion.Analyze(f)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.text())
	}
	var s schedule.Schedule
	if p.cut == "" {
		s = choose.Schedule(k, p.on)
	} else if s, err = schedule.Parse(p.cut); err != nil {
		t.Fatal(err)
	}
	program, err := nest.Program("k", k, s)
	if err != nil {
		t.Fatal(err)
	}
	warps := p.warps
	if warps == 0 {
		warps = int(s.Warps)
	}
	x := &launch{f: f, k: k, options: p.options}
	x.options.Check, x.options.Steps = true, 1<<22
	if x.kernels, err = Kernels(p.machine, program, warps); err != nil {
		t.Fatalf("%v\n%s", err, program)
	}
	return x
}

// run executes the kernels, with results apart from arguments and in the place of each that they may
// be over.
func (x *launch) run() (emu.Counts, error) {
	var entries []*ptx.Entry
	for _, k := range x.kernels {
		entries = append(entries, k.Entry)
	}
	counts, err := x.execute(entries, -1, -1)
	for a := range x.f.Args {
		for r := range x.f.Results {
			if err == nil && x.k.InPlace(a, r) {
				if _, err = x.execute(entries, a, r); err != nil {
					err = fmt.Errorf("result %d over argument %d: %w", r, a, err)
				}
			}
		}
	}
	return counts, err
}

// execute runs entries in the place of the kernels', and compares; result over is in the place of an
// argument, if it is not -1.
func (x *launch) execute(entries []*ptx.Entry, arg, over int) (emu.Counts, error) {
	outs, counts, err := x.results(entries, arg, over)
	if err != nil {
		return counts, err
	}
	for i, w := range x.want {
		got := tensor.New(x.f.Results[i].Value.Type)
		got.Get(outs[i])
		if at, diff := irtest.Worst(got, w); !(diff < tolerance(w.Type.DType)) {
			return counts, fmt.Errorf("result %d: element %d is %v, want %v", i, at, got.Data[at], w.Data[at])
		}
	}
	return counts, nil
}

// results is the bytes of the results of entries in the place of the kernels'.
func (x *launch) results(entries []*ptx.Entry, arg, over int) ([][]byte, emu.Counts, error) {
	d := &emu.Device{Options: x.options}
	var words []emu.Arg
	for _, a := range x.args {
		b := make([]byte, a.Type.Bytes())
		a.Put(b)
		words = append(words, emu.Word(d.Map(b)))
	}
	var outs [][]byte
	for i, res := range x.f.Results {
		b := make([]byte, res.Value.Type.Bytes())
		for i := range b {
			b[i] = 0xa5
		}
		if i == over {
			words = append(words, words[arg])
			b, _ = d.Bytes(words[arg].Word, len(b))
		} else {
			words = append(words, emu.Word(d.Map(b)))
		}
		outs = append(outs, b)
	}
	for i, k := range x.kernels {
		e, err := emu.Load(entries[i])
		if err != nil {
			return nil, d.Counts, err
		}
		all, err := withMaps(words, k.Maps)
		if err != nil {
			return nil, d.Counts, err
		}
		if err := d.Run(e, emu.Launch{Grid: int(k.Blocks), Shared: k.Shared, Args: all}); err != nil {
			return nil, d.Counts, err
		}
	}
	return outs, d.Counts, nil
}

// count is how many instructions begin with a name.
func (x *launch) count(name string) int {
	n := 0
	for _, k := range x.kernels {
		for _, s := range k.Entry.Body {
			if strings.HasPrefix(s.Op, name) {
				n++
			}
		}
	}
	return n
}

const (
	tensorCut = "rows=64 cols=64 over=32 grid=-1 dot=mma(16x8x16) left=task right=task stages=3"
	plainCut  = "rows=64 cols=64 over=16 grid=-1 left=task right=task stages=3"
)

// orders are the axes of operands: contiguous along what is summed, or not.
var orders = [][2]string{{"mk", "kn"}, {"mk", "nk"}, {"km", "kn"}, {"km", "nk"}}

// TestProducts: whole blocks of standard shapes, without a bank of shared memory met twice.
func TestProducts(t *testing.T) {
	for _, dtype := range []string{"bf16", "f16", "f32"} {
		for _, o := range orders {
			p := problem{m: 64, n: 128, k: 96, left: o[0], right: o[1], dtype: dtype, out: dtype, cut: tensorCut, warps: 4, instruction: "mma.sync"}
			if dtype == "f32" {
				p.cut, p.warps, p.instruction = plainCut, 8, "fma"
			}
			t.Run(p.String(), func(t *testing.T) {
				x := p.launch(t)
				for _, name := range []string{p.instruction, "cp.async"} {
					if x.count(name) == 0 {
						t.Errorf("there is no %s", name)
					}
				}
				counts, err := x.run()
				if err != nil {
					t.Fatal(err)
				}
				if counts.Conflicts > 0 {
					t.Errorf("%d turns of banks more than needed", counts.Conflicts)
				}
			})
		}
	}
}

// TestRoundedProducts: matrix instructions on f32, of numbers that they do not round.
func TestRoundedProducts(t *testing.T) {
	for i, o := range orders {
		for _, p := range []problem{
			{m: 64, n: 128, k: 48, warps: 4, cut: "rows=64 cols=64 over=16 grid=-1 dot=mma(16x8x8) left=task right=task stages=3"},
			{m: 33, n: 20, k: 37, warps: 2, cut: "rows=32 cols=8 over=20 grid=-1 dot=mma(16x8x8) left=task right=none stages=2", after: true},
			{m: 128, n: 32, k: 64, warps: 8, cut: "rows=128 cols=32 over=32 grid=-1 dot=mma(16x8x8) left=task right=task stages=4", batch: 2},
		} {
			p.left, p.right, p.dtype, p.out, p.tens = o[0], o[1], "f32", "f32", true
			p.options = emu.Options{Seed: uint64(i), Late: i%2 == 0}
			x := p.launch(t)
			if x.count("mma.sync.aligned.m16n8k8") == 0 {
				t.Errorf("%s: there is no matrix instruction", p)
			}
			counts, err := x.run()
			if err != nil {
				t.Errorf("%s: %v", p, err)
			}
			if counts.Conflicts > 0 && p.m > 33 {
				t.Errorf("%s: %d turns of banks more than needed", p, counts.Conflicts)
			}
		}
	}
}

// anyCut cuts p and has its copies end by what pick picks.
func (p *problem) anyCut(pick func(of ...int) int, seed int) {
	p.out = p.dtype
	if pick(0, 1) == 1 {
		p.out = "f32"
	}
	dot := " dot=mma(16x8x16)"
	if pick(0, 1, 2, 3) == 0 {
		dot = ""
	}
	p.cut = fmt.Sprintf("rows=%d cols=%d over=%d grid=%d%s left=%s right=%s stages=%d", pick(16, 32, 48, 64), pick(8, 16, 32, 64), pick(16, 32, 20),
		pick(-1, 0), dot, []string{"none", "task"}[pick(0, 1)], []string{"none", "task"}[pick(0, 1)], pick(1, 2, 3, 4))
	p.options = emu.Options{Seed: uint64(pick(0, seed+1)), Late: pick(0, 1) == 1}
}

// TestProductsOfAllSizes: tails along every axis, batches, work before and after, numbers of stages
// and warps, and copies that end late or at any time.
func TestProductsOfAllSizes(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	pick := func(of ...int) int { return of[r.Intn(len(of))] }
	tensors := 0
	for i := range 200 {
		o := orders[r.Intn(len(orders))]
		p := problem{left: o[0], right: o[1],
			m: pick(1, 5, 16, 17, 33, 64, 72), n: pick(1, 5, 8, 24, 40, 64, 66), k: pick(1, 7, 16, 36, 48, 80, 65),
			batch: pick(0, 0, 2), before: pick(0, 1) == 1, after: pick(0, 1) == 1,
			dtype: []string{"bf16", "f16", "f32"}[r.Intn(3)], warps: pick(1, 2, 4, 8)}
		p.anyCut(pick, i)
		x := p.launch(t)
		if x.count("mma") > 0 {
			tensors++
		}
		if _, err := x.run(); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, p.text())
		}
	}
	if tensors < 30 {
		t.Errorf("%d products by matrix instructions", tensors)
	}
}

// TestEveryWaitIsNeeded takes out each of the instructions that order the copies of a product, one
// by one: the emulator finds each.
func TestEveryWaitIsNeeded(t *testing.T) {
	for _, p := range []problem{
		{m: 32, n: 32, k: 192, left: "mk", right: "kn", dtype: "bf16", out: "f32", cut: "rows=32 cols=32 over=32 grid=-1 dot=mma(16x8x16) left=task right=task stages=3", warps: 2},
		{m: 32, n: 32, k: 192, left: "mk", right: "kn", dtype: "bf16", out: "bf16", before: true, cut: "rows=32 cols=32 over=32 grid=-1 dot=mma(16x8x16) left=task right=task stages=2", warps: 4},
		{m: 32, n: 32, k: 96, left: "mk", right: "nk", dtype: "f32", out: "f32", cut: "rows=32 cols=32 over=16 grid=-1 left=task right=task stages=4", warps: 4},
	} {
		x := p.launch(t)
		e := x.kernels[0].Entry
		found := map[string]int{}
		for i, s := range e.Body {
			if s.Op != "bar.sync" && s.Op != "cp.async.commit_group" && s.Op != "cp.async.wait_group" {
				continue
			}
			cut := *e
			cut.Body = slices.Delete(slices.Clone(e.Body), i, i+1)
			failed := false
			for seed := uint64(0); seed < 6 && !failed; seed++ {
				x.options = emu.Options{Check: true, Steps: 1 << 22, Seed: seed, Late: seed%2 == 0}
				_, err := x.execute([]*ptx.Entry{&cut}, -1, -1)
				failed = err != nil
			}
			if !failed {
				t.Errorf("%s: without %s at %d nothing is wrong", p, s.String(), i)
			}
			found[s.Op]++
		}
		if len(found) != 3 {
			t.Errorf("%s: %v", p, found)
		}
	}
}

// TestChosenCuts: what choose.Schedule chooses, and the largest blocks, without banks met twice where
// both sides are whole blocks.
func TestChosenCuts(t *testing.T) {
	const wide = "rows=128 cols=256 over=32 grid=-1 dot=mma(16x8x16) left=task right=task stages=3 warps=8"
	for _, p := range []problem{
		{m: 128, n: 256, k: 64, left: "mk", right: "nk", dtype: "bf16", out: "bf16", before: true, after: true, cut: wide},
		{m: 128, n: 256, k: 96, left: "km", right: "kn", dtype: "f16", out: "f16", cut: wide},
		{m: 128, n: 128, k: 64, left: "mk", right: "kn", dtype: "bf16", out: "bf16", after: true},
		{m: 256, n: 256, k: 48, left: "mk", right: "nk", dtype: "f32", out: "f32", cut: "rows=128 cols=128 over=16 grid=-1 left=task right=task stages=3 warps=8"},
		{m: 128, n: 128, k: 48, left: "km", right: "nk", dtype: "f32", out: "f32", before: true, after: true, cut: "rows=128 cols=128 over=16 grid=-1 left=task right=task stages=3 warps=8"},
		{m: 128, n: 128, k: 48, left: "km", right: "kn", dtype: "f32", out: "f32"},
		{m: 128, n: 128, k: 48, left: "mk", right: "kn", dtype: "f32", out: "f32", batch: 2},
		{m: 128, n: 64, k: 64, left: "mk", right: "kn", dtype: "f16", out: "f32", after: true},
	} {
		x := p.launch(t)
		counts, err := x.run()
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if counts.Conflicts > 0 {
			t.Errorf("%s: %d turns of banks more than needed", p, counts.Conflicts)
		}
		for _, k := range x.kernels {
			if k.Shared > 96<<10 {
				t.Errorf("%s: %d bytes of shared memory", p, k.Shared)
			}
		}
	}
	for _, p := range []problem{ // few rows, few columns, little to sum
		{m: 1, n: 200, k: 300, left: "mk", right: "kn", dtype: "bf16", out: "f32"},
		{m: 4, n: 200, k: 100, left: "mk", right: "nk", dtype: "f32", out: "f32", after: true},
		{m: 200, n: 3, k: 100, left: "km", right: "nk", dtype: "f16", out: "f16"},
		{m: 16, n: 130, k: 77, left: "mk", right: "kn", dtype: "bf16", out: "bf16", before: true},
		{m: 65, n: 70, k: 5, left: "mk", right: "kn", dtype: "bf16", out: "f32", batch: 3},
		{m: 130, n: 100, k: 33, left: "mk", right: "nk", dtype: "f32", out: "f32", before: true},
	} {
		x := p.launch(t)
		if _, err := x.run(); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// TestTooManySums: blocks that no thread has registers for are an error, not endless code.
func TestTooManySums(t *testing.T) {
	p := problem{m: 512, n: 512, k: 64, left: "mk", right: "kn", dtype: "f32", out: "f32"}
	m, errs := ir.Parse("k.ptir", []byte(p.text()))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	k, err := fusion.Analyze(m.Funcs[0])
	if err != nil {
		t.Fatal(err)
	}
	program, err := nest.Program("k", k, schedule.Schedule{Grid: -1, Over: 16})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Kernels(nvptx.Machine{}, program, 8); err == nil || !strings.Contains(err.Error(), "1024 sums") {
		t.Errorf("%v", err)
	}
}
