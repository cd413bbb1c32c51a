package lower

import (
	"bytes"
	"math/rand"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/backend/nest"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
)

// Programs under random schedules, with blocks of several rows, whole axes, copies,
// packed operands, parts of sums, store what the evaluator says.
func TestSchedules(t *testing.T) {
	ran := map[fusion.Class]int{}
	r := rand.New(rand.NewSource(4))
	m := kernels(t)
	for _, k := range apart(t, m) {
		f := k.F
		args := irtest.Arguments(f, 3)
		want, err := eval.Func(m, f, args, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			s := schedule.Schedule{
				Rows: r.Int63n(5), Cols: 5 * r.Int63n(4), Over: 3 * r.Int63n(3), Grid: r.Int63n(3) - 1,
				Left: schedule.Pack(r.Intn(3)), Right: schedule.Pack(r.Intn(3)), Stages: r.Int63n(3), Split: r.Int63n(4),
			}
			p, err := nest.Program("k", k, s)
			if err != nil {
				t.Fatal(err)
			}
			machine := machines[r.Intn(len(machines))]
			all, err := Kernels(p, machine)
			if k.Class == fusion.Gemm && len(p.Phases) == 1 && r.Intn(2) == 0 {
				all = make([]*kernel.Kernel, 1)
				all[0], err = productKernel("k", k, s, machine)
			}
			if err != nil {
				t.Fatalf("@%s: %v\n%s", f.Name, err, p)
			}
			ran[k.Class]++
			over := [][2]int{{-1, -1}}
			for a := range f.Args {
				for r := range f.Results {
					if k.InPlace(a, r) {
						over = append(over, [2]int{a, r})
					}
				}
			}
			for _, o := range over {
				got := execute(t, p, all, f, args, o)
				for i, w := range want {
					x := tensor.New(w.Type)
					x.Get(got[i])
					if _, d := irtest.Worst(x, w); !(d < tolerance(w.Type.DType)) {
						t.Fatalf("@%s, in place %v: result %d differs by %g of %v\n%s\n%s", f.Name, o, i, d, machine, p, all[0])
					}
				}
			}
		}
	}
	for _, class := range []fusion.Class{fusion.Map, fusion.Row, fusion.Column, fusion.Pieces, fusion.Gemm, fusion.Scatter, fusion.Attend} {
		if ran[class] < 10 {
			t.Errorf("%d programs of class %s", ran[class], class)
		}
	}
}

// execute runs the phases of p one after the other, and returns the results' bytes: where
// over[1] is not negative, that result is in the place of argument over[0].
func execute(t *testing.T, p *tile.Program, all []*kernel.Kernel, f *ir.Func, args []*tensor.Tensor, over [2]int) [][]byte {
	t.Helper()
	var bufs [][]byte
	for i, b := range p.Buffers {
		mem := bytes.Repeat([]byte{0xff}, int(b.Len)*b.DType.Size())
		if i < len(args) {
			args[i].Put(mem)
		}
		if i >= len(args) && i-len(args) == over[1] {
			mem = bufs[over[0]]
		}
		bufs = append(bufs, mem)
	}
	for _, k := range all {
		if err := kerneltest.Interpret(k, bufs, 0, k.Tasks); err != nil {
			t.Fatalf("%v\n%s\n%s", err, p, k)
		}
	}
	return bufs[len(args) : len(args)+len(f.Results)]
}
