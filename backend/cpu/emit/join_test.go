package emit

import (
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
)

// TestSections compares joined kernels with the interpreter, over all tasks and over
// ranges that begin and end within sections.
func TestSections(t *testing.T) {
	_, runnable := targets(t)
	tgt := runnable[len(runnable)-1]
	lanes := Machine(tgt).Lanes(kernel.F32)
	work := func(name string, n int64, f func(b *kernel.Builder, x, y *kernel.Value) *kernel.Value) *kernel.Kernel {
		b := kernel.New(name, n/64)
		x, y := b.Arg("x", kernel.F32, n, kernel.Read), b.Arg("y", kernel.F32, n, kernel.Read)
		out := b.Arg("out", kernel.F32, n, kernel.Write)
		kept := b.Scratch("kept", kernel.F32, 64)
		b.For(kernel.Span(64).By(int64(lanes)), func(i kernel.Index) {
			at := b.Task().Mul(64).Add(i)
			b.Store(kept.At(i), f(b, b.Load(x.At(at), lanes), b.Load(y.At(at), lanes)))
			b.Store(out.At(at), b.Load(kept.At(i), lanes))
		})
		return build(t, b)
	}
	add, mul := work("add", 256, (*kernel.Builder).Add), work("mul", 128, (*kernel.Builder).Mul)
	k, err := kernel.Join("joined", 8, []kernel.Section{
		{Kernel: add, Args: []int{0, 1, 2}}, {Kernel: mul, Args: []int{3, 4, 5}}, {Kernel: add, Args: []int{0, 6, 7}},
	})
	if err != nil {
		t.Fatal(err)
	}
	img := image(t, compile(t, tgt, k))
	for begin := range k.Tasks {
		for end := begin; end <= k.Tasks; end++ {
			bufs := inputs(k, uint64(1+begin), 1)
			want := make([][]byte, len(bufs))
			for i, b := range bufs {
				want[i] = append([]byte(nil), b...)
			}
			if err := kerneltest.Interpret(k, want, begin, end); err != nil {
				t.Fatal(err)
			}
			got := run(t, img, k, bufs, begin, end)
			for i, a := range k.Args() {
				if d := differ(a.Elem, got[i], want[i]); d != "" {
					t.Fatalf("tasks %d to %d, %s: %s", begin, end, a.Name, d)
				}
			}
		}
	}
}
