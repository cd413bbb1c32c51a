package nvptx

import (
	"math"
	"math/rand/v2"
	"testing"

	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
)

// TestNear: the hardware's exponential is within the error that [Builder.Near] states, where the emulator errs by as
// much as hardware may.
func TestNear(t *testing.T) {
	const n = 4096
	in, out := make([]byte, 4*n), make([]byte, 4*n)
	r := rand.New(rand.NewPCG(3, 3))
	x := func(i int) float64 { return float64(math.Float32frombits(uint32(get(kernel.F32, in, i)))) }
	for i := range n {
		v := float32(r.Float64()*174 - 87)
		if i < 3 {
			v = []float32{0, float32(math.Inf(-1)), -1000}[i]
		}
		put(kernel.F32, in, i, uint64(math.Float32bits(v)))
	}
	b, end := Machine{}.Begin("k", 64)
	at := kernel.Of(b.Value(kernel.Of(b.Convert(b.Special(thread.Block), kernel.I64)).Mul(64).Add(kernel.Of(b.Convert(b.Special(thread.Thread), kernel.I64)))))
	from, to := b.Param("x", kernel.F32), b.Param("y", kernel.F32)
	v := b.LoadGlobal(b.At(from, at), thread.Access{})
	b.Near(true, func() { b.StoreGlobal(b.At(to, at), thread.Access{}, []*thread.Value{b.Call(vmath.Exp, v[0])}) })
	e, _, err := end()
	if err != nil {
		t.Fatal(err)
	}
	p, err := emu.Load(e)
	if err != nil {
		t.Fatal(err)
	}
	d := &emu.Device{Options: emu.Options{Check: true}}
	if err := d.Run(p, emu.Launch{Grid: n / 64, Args: []emu.Arg{emu.Word(d.Map(in)), emu.Word(d.Map(out))}}); err != nil {
		t.Fatal(err)
	}
	beside := 0
	for i := range n {
		got, want := float64(math.Float32frombits(uint32(get(kernel.F32, out, i)))), math.Exp(x(i))
		if got != float64(float32(want)) {
			beside++
		}
		if bound := (0x1p-22 + math.Abs(x(i))*0x1p-23) * want; x(i) >= -87 && math.Abs(got-want) > bound || x(i) < -87 && got != 0 || x(i) == 0 && got != 1 {
			t.Errorf("exp of %v is %v, want %v", x(i), got, want)
		}
	}
	if beside < n/2 {
		t.Errorf("%d of %d differ from the nearest number: the emulator does not err", beside, n)
	}
}
