package emit

import (
	"encoding/binary"
	"math"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
)

// BenchmarkMath reports what one element of each math call costs on one thread, in
// nanoseconds, with operand and result in the first cache; `add` is what the loop
// itself costs.
func BenchmarkMath(b *testing.B) {
	const n, sweeps = 1 << 12, 256
	_, runnable := targets(b)
	tgt := runnable[len(runnable)-1]
	lanes := Machine(tgt).Lanes(kernel.F32)
	for _, c := range []struct {
		name string
		f    func(b *kernel.Builder, x *kernel.Value) *kernel.Value
	}{
		{"add", func(b *kernel.Builder, x *kernel.Value) *kernel.Value { return b.Add(x, x) }},
		{"exp", (*kernel.Builder).Exp}, {"log", (*kernel.Builder).Log}, {"tanh", (*kernel.Builder).Tanh},
		{"erf", (*kernel.Builder).Erf}, {"sigmoid", (*kernel.Builder).Sigmoid}, {"rsqrt", (*kernel.Builder).Rsqrt},
		{"cos", (*kernel.Builder).Cos},
	} {
		b.Run(tgt.Name+"/"+c.name, func(b *testing.B) {
			kb := kernel.New(c.name, sweeps)
			in, out := kb.Arg("x", kernel.F32, n, kernel.Read), kb.Arg("y", kernel.F32, n, kernel.Write)
			kb.For(kernel.Span(n).By(int64(lanes)).Unrolled(1), func(i kernel.Index) {
				kb.Store(out.At(i), c.f(kb, kb.Load(in.At(i), lanes)))
			})
			k, err := kb.Finish()
			if err == nil {
				k, err = vmath.Expand(k)
			}
			if err != nil {
				b.Fatal(err)
			}
			img := image(b, compile(b, tgt, k))
			var x []byte
			for i := range n {
				x = binary.LittleEndian.AppendUint32(x, math.Float32bits(float32(4*math.Sin(float64(i)))))
			}
			bufs := [][]byte{x, make([]byte, 4*n)}
			for b.Loop() {
				run(b, img, k, bufs, 0, sweeps)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(n*sweeps), "ns/element")
		})
	}
}
