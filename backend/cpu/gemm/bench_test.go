package gemm

import (
	"testing"
	"time"

	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
)

// peakSteps is how often the loop of peakKernel runs per task.
const peakSteps = 1 << 16

// peakKernel does nothing but multiply-adds on ten independent vectors: the
// machine's peak, to which products are compared. One task is
// peakSteps·10·lanes of them.
func peakKernel(t testing.TB, tgt target.Target) *kernel.Kernel {
	lanes := emit.Machine(tgt).Lanes(kernel.F32)
	b := kernel.New("peak", 1<<20)
	buf := b.Arg("x", kernel.F32, int64(lanes), kernel.ReadWrite)
	x := b.Load(buf.At(kernel.Int(0)), lanes)
	acc := make([]*kernel.Value, 10)
	for i := range acc {
		acc[i] = b.F32(float32(i), lanes)
	}
	acc = b.ForCarry(kernel.Span(peakSteps).Unrolled(1), acc, func(_ kernel.Index, c []*kernel.Value) []*kernel.Value {
		next := make([]*kernel.Value, len(c))
		for i := range c {
			next[i] = b.MulAdd(x, x, c[i])
		}
		return next
	})
	sum := acc[0]
	for _, v := range acc[1:] {
		sum = b.Add(sum, v)
	}
	b.Store(buf.At(kernel.Int(0)), sum)
	k, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// shapes are the products of a transformer's training step, and a large one:
// forward (x·W), gradients of the input (dy·Wᵀ) and of the weights (xᵀ·dy),
// attention scores and values per head.
var shapes = []struct {
	name string
	matmul
}{
	{"square1024", matmul{m: 1024, n: 1024, k: 1024, left: AlongK, right: AlongN}},
	{"square1024/transposed", matmul{m: 1024, n: 1024, k: 1024, left: AlongK, right: AlongK}},
	{"square1024/left", matmul{m: 1024, n: 1024, k: 1024, left: AlongM, right: AlongN}},
	{"forward128", matmul{m: 2048, n: 128, k: 128, left: AlongK, right: AlongN}},
	{"forward256", matmul{m: 2048, n: 256, k: 256, left: AlongK, right: AlongN}},
	{"forward384", matmul{m: 2048, n: 384, k: 384, left: AlongK, right: AlongN}},
	{"forward512", matmul{m: 2048, n: 512, k: 512, left: AlongK, right: AlongN}},
	{"forward1536", matmul{m: 2048, n: 1536, k: 384, left: AlongK, right: AlongN}},
	{"input128", matmul{m: 2048, n: 128, k: 128, left: AlongK, right: AlongK}},
	{"input384", matmul{m: 2048, n: 384, k: 384, left: AlongK, right: AlongK}},
	{"input512", matmul{m: 2048, n: 512, k: 512, left: AlongK, right: AlongK}},
	{"weights128", matmul{m: 128, n: 128, k: 2048, left: AlongM, right: AlongN}},
	{"weights384", matmul{m: 384, n: 384, k: 2048, left: AlongM, right: AlongN}},
	{"weights512", matmul{m: 512, n: 512, k: 2048, left: AlongM, right: AlongN}},
	{"scores", matmul{m: 256, n: 256, k: 64, outer: []int64{8, 6}, left: AlongK, right: AlongK}},
	{"values", matmul{m: 256, n: 64, k: 256, outer: []int64{8, 6}, left: AlongK, right: AlongN}},
	{"vector", matmul{m: 1, n: 1024, k: 1024, left: AlongK, right: AlongN}},
}

// BenchmarkGemm runs each shape on one thread, in turns with the peak loop, and
// reports the share of the peak: of the fastest runs of both, since other work
// of the machine only ever slows them.
func BenchmarkGemm(b *testing.B) {
	tgt := resolve(b, "cpu")
	peak := peakKernel(b, tgt)
	lanes := emit.Machine(tgt).Lanes(kernel.F32)
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			s.stride, s.elem = 1, kernel.F32
			k, err := s.generate("gemm", emit.Machine(tgt))
			if err != nil {
				b.Fatal(err)
			}
			start := time.Now()
			obj := compile(b, tgt, k, peak)
			compiled := time.Since(start)
			img := load(b, obj)
			run := prepare(b, img, k, s.inputs(1))
			full := prepare(b, img, peak, [][]byte{make([]byte, 4*lanes)})
			work := float64(s.m*s.n*s.k) * float64(product(s.outer))
			var best, bestPeak float64
			for b.Loop() {
				bestPeak = max(bestPeak, rate(peakSteps*10*float64(lanes), func() { full.run(0, 1) }))
				best = max(best, rate(work, func() { run.run(0, k.Tasks) }))
			}
			b.ReportMetric(100*best/bestPeak, "%peak")
			b.ReportMetric(2*best/1e9, "gflop/s")
			b.ReportMetric(float64(k.Tasks), "tasks")
			b.ReportMetric(float64(compiled.Milliseconds()), "ms-compile")
		})
	}
}

func rate(work float64, f func()) float64 {
	start := time.Now()
	f()
	return work / time.Since(start).Seconds()
}
