package nvptx

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/backend/kernel/vmath"
)

// function is arithmetic on scalars, of operands of the given elements.
type function struct {
	name string
	in   []kernel.Elem
	out  kernel.Elem
	f    func(b *kernel.Builder, x []*thread.Value) *thread.Value
}

func functions() []function {
	type b = *kernel.Builder
	var out []function
	one := func(name string, e kernel.Elem, f func(b, *thread.Value) *thread.Value) {
		out = append(out, function{name, []kernel.Elem{e}, kernel.InvalidElem, func(k b, x []*thread.Value) *thread.Value { return f(k, x[0]) }})
	}
	two := func(name string, e kernel.Elem, f func(b, *thread.Value, *thread.Value) *thread.Value) {
		out = append(out, function{name, []kernel.Elem{e, e}, kernel.InvalidElem, func(k b, x []*thread.Value) *thread.Value { return f(k, x[0], x[1]) }})
	}
	for _, e := range []kernel.Elem{kernel.F32, kernel.F64, kernel.I32, kernel.I64} {
		two("add", e, b.Add)
		two("sub", e, b.Sub)
		two("mul", e, b.Mul)
		two("div", e, b.Div)
		two("min", e, b.Min)
		two("max", e, b.Max)
		one("neg", e, b.Neg)
		one("abs", e, b.Abs)
		for n, f := range map[string]func(b, *thread.Value, *thread.Value) *thread.Value{"eq": b.Eq, "ne": b.Ne, "lt": b.Lt, "le": b.Le} {
			two(n, e, func(k b, x, y *thread.Value) *thread.Value { return k.Select(f(k, x, y), x, y) })
		}
		one("constants", e, func(k b, x *thread.Value) *thread.Value { return k.Add(k.Mul(x, k.Like(x, 3)), k.Like(x, -5)) })
	}
	for _, e := range []kernel.Elem{kernel.F32, kernel.F64} {
		out = append(out, function{"fma", []kernel.Elem{e, e, e}, e, func(k b, x []*thread.Value) *thread.Value { return k.FMA(x[0], x[1], x[2]) }})
		one("sqrt", e, func(k b, x *thread.Value) *thread.Value { return k.Sqrt(k.Abs(x)) })
		one("floor", e, b.Floor)
	}
	for _, e := range []kernel.Elem{kernel.I32, kernel.I64} {
		two("rem", e, b.Rem)
		two("and", e, b.And)
		two("or", e, b.Or)
		two("xor", e, b.Xor)
		one("not", e, b.Not)
		two("shl", e, b.Shl)
		two("lshr", e, b.LShr)
		two("ashr", e, b.AShr)
		two("ult", e, func(k b, x, y *thread.Value) *thread.Value { return k.Select(k.ULt(x, y), x, y) })
	}
	two("mulhi", kernel.I32, b.MulHi)
	for _, f := range vmath.All() {
		out = append(out, function{f.Name, []kernel.Elem{kernel.F32, kernel.F32}[:f.Args], kernel.F32, func(k b, x []*thread.Value) *thread.Value { return k.Call(f, x...) }})
	}
	for _, from := range []kernel.Elem{kernel.F32, kernel.F64, kernel.I32, kernel.I64} {
		for _, to := range []kernel.Elem{kernel.F32, kernel.F64, kernel.I32, kernel.I64} {
			out = append(out, function{"convert " + from.String() + " to", []kernel.Elem{from}, to, func(k b, x []*thread.Value) *thread.Value { return k.Convert(x[0], to) }})
		}
	}
	one("bf16", kernel.F32, func(k b, x *thread.Value) *thread.Value { return k.Round(x, kernel.BF16) })
	one("f16", kernel.F32, func(k b, x *thread.Value) *thread.Value { return k.Round(x, kernel.F16) })
	one("bits", kernel.F32, func(k b, x *thread.Value) *thread.Value {
		return k.Bitcast(k.Add(k.Bitcast(x, kernel.I32), k.ConstInt(kernel.Scalar(kernel.I32), 7)), kernel.F32)
	})
	two("masks", kernel.I32, func(k b, x, y *thread.Value) *thread.Value {
		p, q := k.Lt(x, y), k.Eq(x, k.Neg(y))
		return k.Add(k.Convert(k.Xor(k.And(p, k.Not(q)), k.Select(q, p, k.Not(p))), kernel.I32), k.Convert(q, kernel.I32))
	})
	for i := range out {
		if out[i].out == kernel.InvalidElem {
			out[i].out = out[i].in[0]
		}
	}
	return out
}

// bits of a number that tests like: small integers, halves, extremes, any.
func interesting(r *rand.Rand, e kernel.Elem) uint64 {
	small := float64(r.IntN(41)-20) / float64(1+r.IntN(3))
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-149, 0x1p-126, math.MaxFloat32, 88.7, 65520, 0x1p31, -0x1p31, 0x1p63}
	switch e {
	case kernel.F32:
		switch r.IntN(3) {
		case 0:
			return uint64(math.Float32bits(float32(small)))
		case 1:
			return uint64(math.Float32bits(float32(special[r.IntN(len(special))])))
		}
		return uint64(r.Uint32())
	case kernel.F64:
		switch r.IntN(3) {
		case 0:
			return math.Float64bits(small)
		case 1:
			return math.Float64bits(special[r.IntN(len(special))])
		}
		return r.Uint64()
	}
	n := []int64{0, 1, -1, int64(small), int64(r.Uint32()), math.MinInt32, math.MaxInt32, int64(r.Uint64())}[r.IntN(8)]
	if e == kernel.I32 {
		return uint64(uint32(n))
	}
	if r.IntN(8) == 0 {
		return 1 << 63
	}
	return uint64(n)
}

func put(e kernel.Elem, b []byte, i int, x uint64) {
	if e.Bytes() == 8 {
		binary.LittleEndian.PutUint64(b[8*i:], x)
	} else {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(x))
	}
}

func get(e kernel.Elem, b []byte, i int) uint64 {
	if e.Bytes() == 8 {
		return binary.LittleEndian.Uint64(b[8*i:])
	}
	return uint64(binary.LittleEndian.Uint32(b[4*i:]))
}

func isNaN(e kernel.Elem, x uint64) bool {
	switch e {
	case kernel.F32:
		return math.IsNaN(float64(math.Float32frombits(uint32(x))))
	case kernel.F64:
		return math.IsNaN(math.Float64frombits(x))
	}
	return false
}

// TestArithmetic: what threads compute is what the form computes, to the bit.
func TestArithmetic(t *testing.T) {
	const n = 256
	r := rand.New(rand.NewPCG(7, 7))
	for _, c := range functions() {
		var bufs [][]byte
		for _, e := range c.in {
			data := make([]byte, n*e.Bytes())
			for i := range n {
				put(e, data, i, interesting(r, e))
			}
			bufs = append(bufs, data)
		}
		want := make([]byte, n*c.out.Bytes())
		kb := kernel.New("k", n)
		var x []*thread.Value
		for i, e := range c.in {
			x = append(x, kb.Load(kb.Arg(string(rune('a'+i)), e, n, kernel.Read).At(kb.Task()), 1))
		}
		kb.Store(kb.Arg("out", c.out, n, kernel.Write).At(kb.Task()), c.f(kb, x))
		k, err := kb.Finish()
		if err != nil {
			t.Fatalf("%s %v: %v", c.name, c.in, err)
		}
		if k, err = vmath.Expand(k); err != nil {
			t.Fatal(err)
		}
		if err := kerneltest.Interpret(k, append(bufs, want), 0, n); err != nil {
			t.Fatalf("%s %v: %v", c.name, c.in, err)
		}

		b, end := Machine{}.Begin("k", 64)
		at := b.Value(kernel.Of(b.Convert(b.Special(thread.Block), kernel.I64)).Mul(64).Add(kernel.Of(b.Convert(b.Special(thread.Thread), kernel.I64))))
		x = nil
		d := &emu.Device{Options: emu.Options{Check: true, Steps: 1 << 20}}
		var args []emu.Arg
		for i, e := range c.in {
			p := b.Param(string(rune('a'+i)), e)
			x = append(x, b.LoadGlobal(b.At(p, kernel.Of(at)), thread.Access{})...)
			args = append(args, emu.Word(d.Map(bufs[i])))
		}
		got := make([]byte, len(want))
		args = append(args, emu.Word(d.Map(got)))
		b.StoreGlobal(b.At(b.Param("out", c.out), kernel.Of(at)), thread.Access{}, []*thread.Value{c.f(b.Builder, x)})
		e, _, err := end()
		if err != nil {
			t.Fatalf("%s %v: %v", c.name, c.in, err)
		}
		p, err := emu.Load(e)
		if err != nil {
			t.Fatalf("%s %v: %v", c.name, c.in, err)
		}
		if err := d.Run(p, emu.Launch{Grid: n / 64, Args: args}); err != nil {
			t.Fatalf("%s %v: %v\n%s", c.name, c.in, err, &ptx.Module{Entries: []*ptx.Entry{e}})
		}
		for i := range n {
			g, w := get(c.out, got, i), get(c.out, want, i)
			sign := uint64(1) << (8*c.out.Bytes() - 1)
			zeros := (c.name == "min" || c.name == "max") && g|sign == sign && w|sign == sign // which one is not looked at
			if g != w && !zeros && !(isNaN(c.out, g) && isNaN(c.out, w)) {
				var in []uint64
				for k, e := range c.in {
					in = append(in, get(e, bufs[k], i))
				}
				t.Errorf("%s %v of %#x: got %#x, want %#x", c.name, c.in, in, g, w)
				break
			}
		}
	}
}
