package sim

import (
	"slices"
	"testing"

	"ptc/foresight/cost"
	"ptc/internal/collective"
	"ptc/runtime/program"
)

// written is a plan of one device whose kernels read and write buffers: a number of elements for each, and whether it is written.
func written(buffers []program.Buffer, kernels ...[]int) *program.Plan {
	p := &program.Plan{Devices: []program.Device{{Buffers: buffers}}}
	g := program.Program{Name: "step"}
	for i, bufs := range kernels {
		k := program.Kernel{Class: "map"}
		in := program.Instr{Kernel: i}
		for j, b := range bufs {
			w := j == len(bufs)-1
			if b < 0 {
				b, w = -b, true
			}
			in.Bufs = append(in.Bufs, b)
			k.Args = append(k.Args, program.Arg{Bytes: buffers[b].Bytes, Write: w})
		}
		p.Kernels = append(p.Kernels, k)
		g.Instrs = append(g.Instrs, in)
	}
	p.Devices[0].Progs = []program.Program{g}
	return p
}

func activation(dtype string, elements int64) program.Buffer {
	return program.Buffer{Space: program.Activations, DType: dtype, Bytes: elements * map[string]int64{"f32": 4, "bf16": 2, "bool": 1}[dtype]}
}

// TestEager: what software with autograd moves: results of one kernel once, wide ones as narrow ones, neither casts nor slices.
func TestEager(t *testing.T) {
	buffers := []program.Buffer{
		0: activation("f32", 100), 1: activation("f32", 100), 2: activation("bf16", 100), 3: activation("bool", 100),
		4: activation("bf16", 10), 5: activation("f32", 100), 6: {Space: program.Params, DType: "f32", Bytes: 400},
	}
	p := written(buffers,
		[]int{6, -1, -3, 2}, // from a parameter: 1 and 2 are one result; 3 is a mask
		[]int{1, 2, 3, 5},   // reads that result, and the mask
		[]int{2, 0},         // a cast
		[]int{2, 4},         // a slice
		[]int{6, 0},         // reads a parameter and writes
	)
	work := Work{
		{{Bytes: 400 + 400 + 100 + 200, Flops: 9}}, {{Bytes: 400 + 200 + 100 + 400, Flops: 9}}, {{Bytes: 600}}, {{Bytes: 220}}, {{Bytes: 800}},
	}
	e := (&Options{Narrow: true, Autograd: true}).eager(p, work)
	var bytes []int64
	for _, w := range e.work {
		bytes = append(bytes, w[0].Bytes)
	}
	if want := []int64{400 + 200 + 100, 200 + 100 + 200, 600, 220, 600}; !slices.Equal(bytes, want) {
		t.Errorf("kernels move %v bytes; want %v", bytes, want)
	}
	if want := []bool{false, false, true, true, false}; !slices.Equal(e.none, want) {
		t.Errorf("no kernels: %v; want %v", e.none, want)
	}
	if work[0][0].Bytes != 1100 {
		t.Error("the work of the plan itself has changed")
	}
	if e := (&Options{}).eager(p, work); e.work[0][0].Bytes != 1100 || slices.Contains(e.none, true) {
		t.Error("the plan's own software moves other bytes than the plan")
	}
}

// TestFlatGradients: gradients in one buffer start one collective, and take as long as one of all bytes.
func TestFlatGradients(t *testing.T) {
	c := cluster(nil, 4)
	l := c.Levels[0].Latency
	l["simple"] = given(1e-9)
	p := &program.Plan{Mesh: program.Mesh{{Name: "dp", Size: 4}}, Devices: []program.Device{{
		Buffers: []program.Buffer{{Space: program.Grads, DType: "f32", Bytes: 4000}},
	}}}
	g := program.Program{Name: "step"}
	for range 5 {
		x := &program.Comm{Kind: collective.AllReduce, Over: []string{"dp"}, Bytes: 4000, Reduce: "sum", DType: "f32"}
		g.Instrs = append(g.Instrs, program.Instr{Comm: x, Bufs: []int{0}})
	}
	p.Devices[0].Progs = []program.Program{g}
	step := func(o Options) int64 {
		j, err := New(p, nil, cost.New(c, cost.Software{}), o)
		if err != nil {
			t.Fatal(err)
		}
		return int64(runOf(t, "flat", j).Step)
	}
	apart, flat := step(Options{}), step(Options{FlatGradients: true})
	if want := apart - 4*6*1000; flat < want || flat > want+10 { // six steps of a ring of four
		t.Errorf("five reductions take %d ps, and in one buffer %d; want %d", apart, flat, want)
	}
}

// TestAgain: software that calls a block again also computes its last product and what follows, which the backward pass of the plan
// leaves out; if that is not all that is left out, only some of the block is computed again.
func TestAgain(t *testing.T) {
	first, last := cost.Product{Batch: 1, M: 64, N: 32, K: 16}, cost.Product{Batch: 1, M: 64, N: 16, K: 32}
	w := &writer{builder: &builder{work: Work{
		{{Product: &first}}, {{}}, {{Product: &last}}, // and gradients:
		{{Product: &cost.Product{Batch: 1, M: 64, N: 32, K: 16}}}, {{Product: &cost.Product{Batch: 1, M: 32, N: 16, K: 64}}},
	}}}
	in := func(kernel int, pos string) program.Instr { return program.Instr{Kernel: kernel, Pos: pos} }
	forward := []program.Instr{in(0, "a"), in(1, "b"), in(2, "c"), in(1, "d"), {Comm: &program.Comm{Kind: collective.AllReduce}}, in(1, "e")}
	for _, x := range []struct {
		backward []program.Instr
		want     []int
	}{
		{[]program.Instr{in(0, "a"), in(3, "c"), in(4, "c")}, []int{2, 3, 4, 5}}, // the gradient of c has the sizes of a
		{[]program.Instr{in(0, "a"), in(2, "c"), in(3, "c")}, nil},               // all is computed again
		{[]program.Instr{in(3, "c"), in(4, "c")}, nil},                           // nothing is
	} {
		w.prog = &program.Program{Instrs: slices.Concat(forward, x.backward)}
		n := len(forward)
		if got := w.tail(&program.Run{To: n}, &program.Run{From: n, To: n + len(x.backward), Down: true}); !slices.Equal(got, x.want) {
			t.Errorf("%v is computed once more; want %v", got, x.want)
		}
	}
}

// TestMessageRate: messages of microbatches go at a rate that is given, and the step takes as much longer as they do on the way
// through a pipeline of two stages.
func TestMessageRate(t *testing.T) {
	p := planOf(shape{dp: 1, pp: 2, tp: 1, micro: 1, schedule: "gpipe", bytes: 1000})
	c := cluster(nil, 2)
	step := func(rate float64) int64 {
		j, err := New(p, work(10, 10, 10, 10), cost.New(c, cost.Software{}), Options{MessageRate: rate})
		if err != nil {
			t.Fatal(err)
		}
		return int64(runOf(t, "rate", j).Step)
	}
	if own, same := step(0), step(1e10); own != same {
		t.Errorf("a step takes %d ps, and %d where messages are given the rate of the links", own, same)
	}
	if own, slow := step(0), step(1e9); slow-own != 2*900_000 { // a message forward and one back, 1 us instead of 0.1
		t.Errorf("a step takes %d ps, and %d with messages at a tenth of the rate", own, slow)
	}
}
