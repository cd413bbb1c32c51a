package lower

import (
	"math"
	"math/rand"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
)

// smallCaches has attentions of a few keys cut into blocks as well.
func smallCaches(t *testing.T) {
	all := machines
	machines = append(machines[:len(machines):len(machines)],
		kernel.Machine{VectorBits: 256, Registers: 16, FMA: true, L1: 4 << 10, L2: 8 << 10},
		kernel.Machine{VectorBits: 128, Registers: 32, FMA: true, L1: 4 << 10, L2: 8 << 10})
	t.Cleanup(func() { machines = all })
}

func TestAttentionForward(t *testing.T) {
	smallCaches(t)
	r := rand.New(rand.NewSource(11))
	n := 40
	if testing.Short() {
		n = 10
	}
	for i := range n {
		a := irtest.RandomAttention(r)
		f := parse(t, a.Forward())
		if k, err := fusion.Analyze(f); err != nil || k.Class != fusion.Attend {
			t.Fatalf("%+v: %v\n%s", a, err, a.Forward())
		}
		checkKernel(t, f, int64(i))
		if t.Failed() {
			t.Fatalf("%+v", a)
		}
	}
}

func TestAttentionBackward(t *testing.T) {
	smallCaches(t)
	r := rand.New(rand.NewSource(12))
	n := 30
	if testing.Short() {
		n = 8
	}
	for i := range n {
		a := irtest.RandomAttention(r)
		f := parse(t, a.Backward())
		if k, err := fusion.Analyze(f); err != nil || k.Class != fusion.Attend {
			t.Fatalf("%+v: %v\n%s", a, err, a.Backward())
		}
		checkKernel(t, f, int64(i))
		if t.Failed() {
			t.Fatalf("%+v", a)
		}
	}
}

// Steps of a ring: the first has nothing of earlier blocks, a later one hides keys from
// some rows or all, and scores are far below zero.
func TestAttentionRing(t *testing.T) {
	smallCaches(t)
	f := parse(t, irtest.Ring)
	for _, c := range irtest.RingSteps {
		checkArgs(t, f, c.Arguments(f))
	}
}

// Keys that no row sees are not computed: of scores that are no numbers nothing comes.
func TestAttentionSkips(t *testing.T) {
	smallCaches(t)
	f := parse(t, `func @k class=kernel
  arg %0 : f32[b=2, s=19, d=8] in
  arg %1 : f32[b=2, t=133, d=8] in
  arg %2 : i32[b=2] in
  %3 : f32[b=2, s=19, t=133] = dot %0, %1 over=(d)
  %4 : i32[t=133] = index axis=t size=133
  %5 : bool[b=2, t=133] = lt %4, %2
  %6 : f32[] = const dtype=f32 value=-inf
  %7 : f32[b=2, s=19, t=133] = select %5, %3, %6
  %8 : f32[b=2, s=19] = reduce_max %7 over=(t)
  %9 : f32[b=2, s=19, t=133] = sub %7, %8
  %10 : f32[b=2, s=19, t=133] = exp %9
  %11 : f32[b=2, s=19] = reduce_sum %10 over=(t)
  %12 : f32[b=2, s=19, t=133] = div %10, %11
  %13 : f32[b=2, s=19, d=8] = dot %12, %1 out=(b, s, d) over=(t)
  result %13 out
end
`)
	r := rand.New(rand.NewSource(3))
	var args []*tensor.Tensor
	for _, a := range f.Args {
		args = append(args, irtest.Draw(r, a.Value.Type))
	}
	lengths := []int{30, 77}
	for b, n := range lengths {
		args[2].Data[b] = float64(n)
		for i := range args[1].Data[b*133*8+n*8 : (b+1)*133*8] {
			args[1].Data[b*133*8+n*8+i] = math.NaN()
		}
	}
	for _, m := range machines {
		k, err := Kernel("k", f, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		bufs, outs := buffers(f, args)
		if err := kerneltest.Interpret(k, bufs, 0, k.Tasks); err != nil {
			t.Fatal(err)
		}
		got := tensor.New(f.Results[0].Value.Type)
		got.Get(outs[0])
		for i, x := range got.Data {
			if math.IsNaN(x) {
				t.Fatalf("%d bits: element %d of the result is no number", m.VectorBits, i)
			}
		}
	}
}

// A row of which no key is seen has no result, wherever the keys are hidden.
func TestAttentionHidden(t *testing.T) {
	smallCaches(t)
	for _, a := range []irtest.Attention{
		{Batch: 2, Heads: 1, Group: 1, Rows: 23, Keys: 40, Cols: 8, Values: 8, Document: true, Causal: true, Stats: true},
		{Batch: 1, Heads: 1, Group: 2, Rows: 9, Keys: 9, Cols: 8, Values: 5, Document: true, Stats: true, Dropout: true},
	} {
		f := parse(t, a.Forward())
		r := rand.New(rand.NewSource(1))
		var args []*tensor.Tensor
		for _, v := range f.Args {
			x := irtest.Draw(r, v.Value.Type)
			if v.Value.Type.DType == ir.I32 && v.Value.Type.Has("s") {
				x.Data[3], x.Data[5] = 99, 99
			}
			args = append(args, x)
		}
		checkArgs(t, f, args)
	}
}

// Scratch is bounded, whatever the number of rows and keys.
func TestAttentionScratch(t *testing.T) {
	for _, m := range machines {
		for _, n := range []int{70, 1024, 8192, 32768} {
			a := irtest.Attention{Batch: 1, Heads: 1, Group: 2, Rows: n, Keys: n, Cols: 64, Values: 64, Causal: true}
			for _, text := range []string{a.Forward(), a.Backward()} {
				k, err := Kernel("k", parse(t, text), m, nil)
				if err != nil {
					t.Fatal(err)
				}
				if k.ScratchBytes() > 1<<20 {
					t.Errorf("%d bits, %d positions: scratch of %d bytes", m.VectorBits, n, k.ScratchBytes())
				}
			}
		}
	}
}
