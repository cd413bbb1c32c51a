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
	add := &kernel.Math{Name: "add", Args: 1, Expand: func(b *kernel.Builder, a []*kernel.Value) *kernel.Value { return b.Add(a[0], a[0]) }}
	for _, f := range append(vmath.All(), add) {
		b.Run(tgt.Name+"/"+f.Name, func(b *testing.B) {
			kb := kernel.New(f.Name, sweeps)
			in, out := kb.Arg("x", kernel.F32, n, kernel.Read), kb.Arg("y", kernel.F32, n, kernel.Write)
			kb.For(kernel.Span(n).By(int64(lanes)).Unrolled(1), func(i kernel.Index) {
				x := kb.Load(in.At(i), lanes)
				kb.Store(out.At(i), kb.Call(f, []*kernel.Value{x, x}[:f.Args]...))
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
