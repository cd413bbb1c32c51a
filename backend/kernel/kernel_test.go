package kernel

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func floats(f ...float32) []byte {
	var b []byte
	for _, x := range f {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func words(b []byte) []uint32 {
	var w []uint32
	for ; len(b) > 0; b = b[4:] {
		w = append(w, binary.LittleEndian.Uint32(b))
	}
	return w
}

func finish(t *testing.T, b *Builder) *Kernel {
	t.Helper()
	k, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// rowSum is out[task] = Σ in[task, :] over 10 columns in vectors of 4.
func rowSum(name string) *Builder {
	b := New(name, 3)
	in := b.Arg("in", F32, 30, Read)
	out := b.Arg("out", F32, 3, Write)
	row := b.Task().Mul(10)
	acc := b.ForCarry(Span(8).By(4).Unrolled(2), []*Value{b.F32(0, 4)}, func(i Index, c []*Value) []*Value {
		return []*Value{b.Add(c[0], b.Load(in.At(row.Add(i)), 4))}
	})
	tail := b.Load(in.At(row.Plus(8)).Masked(b.TailMask(Int(2), 4)), 4)
	b.Store(out.At(b.Task()), b.ReduceAdd(b.Add(acc[0], tail)))
	return b
}

func TestEveryOpHasARow(t *testing.T) {
	seen := map[string]bool{}
	for _, op := range Ops() {
		r := rows[op]
		if r.name == "" || seen[r.name] {
			t.Errorf("op %d: name %q missing or taken", op, r.name)
		}
		seen[r.name] = true
		if r.check == nil && op != OpBarrier {
			t.Errorf("%s: no check", op)
		}
	}
}

func TestPrint(t *testing.T) {
	want := `kernel rows tasks=3 scratch=0 {
  in : global f32[30] read
  out : global f32[3] write
  %0 : f32x4 = const 0
  for i0 = 0 to 8 step 4 unroll 2 carry %1 : f32x4 = %0 {
    %2 : f32x4 = load in[10*task + i0]
    %3 : f32x4 = add %1, %2
    yield %3
  } -> %4
  %5 : i1x4 = tail 2
  %6 : f32x4 = load in[10*task + 8] mask %5
  %7 : f32x4 = add %4, %6
  %8 : f32 = reduce.add %7
  store %8 to out[task]
}
`
	k := finish(t, rowSum("rows"))
	if got := k.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	same, err := Rewrite(k, func(*Builder, *Stmt, []*Value) *Value { return nil })
	if err != nil || same.String() != want {
		t.Errorf("a copy prints as\n%v\n%v", same, err)
	}
	if k.Hash() != finish(t, rowSum("other")).Hash() {
		t.Error("the name is part of the hash")
	}
	b := rowSum("rows")
	b.Barrier()
	if k.Hash() == finish(t, b).Hash() {
		t.Error("a further statement leaves the hash")
	}
}

func TestInterpretRowSum(t *testing.T) {
	in := make([]float32, 30)
	for i := range in {
		in[i] = float32(i)
	}
	out := floats(-1, -1, -1)
	if err := Interpret(finish(t, rowSum("rows")), [][]byte{floats(in...), out}, 1, 3); err != nil {
		t.Fatal(err)
	}
	if got, want := words(out), words(floats(-1, 145, 245)); got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %x, want %x", got, want)
	}
}

// TestInterpretRejects: what native code would do silently is an error here.
func TestInterpretRejects(t *testing.T) {
	k := finish(t, rowSum("rows"))
	full := [][]byte{make([]byte, 120), make([]byte, 12)}
	b := New("outside", 1)
	buf := b.Arg("buf", F32, 7, Read)
	four := b.Add(b.ConstInt(Scalar(I64), 4), b.Value(b.Task()))
	b.Load(buf.At(Of(four)), 4)
	outside := finish(t, b)
	for _, c := range []struct {
		k          *Kernel
		bufs       [][]byte
		begin, end int64
		want       string
	}{
		{k, full[:1], 0, 1, "takes 2"},
		{k, full, 0, 4, "tasks [0, 4) of 3"},
		{k, [][]byte{full[0][:8], full[1]}, 0, 1, "needs 120"},
		{outside, [][]byte{make([]byte, 28)}, 0, 1, "lane 3 at element 7 of buf[7]"},
	} {
		err := Interpret(c.k, c.bufs, c.begin, c.end)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestBuilderReportsMistakes(t *testing.T) {
	for want, build := range map[string]func(b *Builder, buf *Buffer){
		"f32x8 found, f32x4 wanted": func(b *Builder, _ *Buffer) { b.Add(b.F32(1, 4), b.F32(1, 8)) },
		"declared read only":        func(b *Builder, buf *Buffer) { b.Store(buf.At(Int(0)), b.F32(1, 4)) },
		"a mask i1x8 on 4 lanes": func(b *Builder, buf *Buffer) {
			b.Load(buf.At(Int(0)).Masked(b.TailMask(Int(1), 8)), 4)
		},
		"not defined there": func(b *Builder, _ *Buffer) {
			var inner *Value
			b.For(Span(2), func(Index) { inner = b.F32(1, 4) })
			b.Neg(inner)
		},
		"yields 0 values, 1 wanted": func(b *Builder, _ *Buffer) {
			b.ForCarry(Span(2), []*Value{b.F32(1, 1)}, func(Index, []*Value) []*Value { return nil })
		},
		"step 0":         func(b *Builder, _ *Buffer) { b.For(Range{}, func(Index) {}) },
		"nil operand":    func(b *Builder, _ *Buffer) { b.Store(Ref{}, nil) },
		"power of two":   func(b *Builder, _ *Buffer) { b.ReduceAdd(b.F32(1, 3)) },
		"must be an i64": func(b *Builder, buf *Buffer) { b.Load(buf.At(Of(b.F32(1, 1))), 1) },
		"threads carries": func(b *Builder, _ *Buffer) {
			b.ForCarry(Span(2).OverThreads(), []*Value{b.F32(1, 1)}, func(_ Index, c []*Value) []*Value { return c })
		},
		"not defined for it": func(b *Builder, _ *Buffer) { b.FMA(b.Iota(4), b.Iota(4), b.Iota(4)) },
	} {
		b := New("wrong", 1)
		build(b, b.Arg("buf", F32, 64, Read))
		if _, err := b.Finish(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestBounds: accesses that are known to leave their buffer are rejected, and
// those that just stay in are not.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		n    int64 // the least length that fits
		load func(b *Builder, buf *Buffer)
	}{
		{12, func(b *Builder, buf *Buffer) { b.Load(buf.At(b.Task().Mul(4)), 4) }},
		{11, func(b *Builder, buf *Buffer) { // i = 0, 3, 6
			b.For(Span(8).By(3), func(i Index) { b.Load(buf.At(i.Plus(4)), 1) })
		}},
		{24, func(b *Builder, buf *Buffer) { // tiles of 8, in vectors of 4
			b.For(Between(b.Task().Mul(8), b.Task().Mul(8).Plus(8)).By(4), func(i Index) { b.Load(buf.At(i), 4) })
		}},
		{10, func(b *Builder, buf *Buffer) { // downwards, through a value
			v := b.Value(Int(9).Sub(b.Task().Mul(3)))
			b.Load(buf.At(Of(v)).Strided(-1), 4)
		}},
		{3, func(b *Builder, buf *Buffer) { // the differences cancel
			b.For(Span(100), func(i Index) { b.Load(buf.At(b.Task().Add(i).Sub(Of(b.Value(i)))), 1) })
		}},
	} {
		for _, n := range []int64{c.n, c.n - 1} {
			b := New("bounds", 3)
			c.load(b, b.Arg("buf", F32, n, Read))
			if _, err := b.Finish(); (err == nil) != (n == c.n) {
				t.Errorf("%d elements, %d needed: %v", n, c.n, err)
			}
		}
	}
	b := New("below", 3)
	b.Load(b.Arg("buf", F32, 9, Read).At(b.Task().Plus(-1)), 1)
	if _, err := b.Finish(); err == nil || !strings.Contains(err.Error(), "elements -1 to 1 of buf[9]") {
		t.Errorf("below the buffer: %v", err)
	}
}

// TestForVector sums a range of every length in vectors of 4, with bounds known
// before the run and not.
func TestForVector(t *testing.T) {
	for n := range int64(10) {
		for _, runtime := range []bool{false, true} {
			b := New("sum", 1)
			in := b.Arg("in", F32, 10, Read)
			out := b.Arg("out", F32, 1, Write)
			hi := Int(n)
			if runtime {
				hi = Of(b.Add(b.ConstInt(Scalar(I64), n), b.Value(b.Task())))
			}
			acc := b.ForVector(Int(0), hi, 4, 0, []*Value{b.F32(0, 4)}, func(i Index, mask *Value, c []*Value) []*Value {
				return []*Value{b.Add(c[0], b.Load(in.At(i).Masked(mask), 4))}
			})
			b.Store(out.At(Int(0)), b.ReduceAdd(acc[0]))
			sum := make([]byte, 4)
			if err := Interpret(finish(t, b), [][]byte{floats(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), sum}, 0, 1); err != nil {
				t.Fatal(err)
			}
			if got, want := math.Float32frombits(words(sum)[0]), float32(n*(n+1)/2); got != want {
				t.Errorf("%d elements, at run time %v: %v, want %v", n, runtime, got, want)
			}
		}
	}
}

// TestPhilox checks the known-answer vectors published with Random123
// (kat_vectors, philox4x32 10).
func TestPhilox(t *testing.T) {
	cases := [][10]uint32{ // counter, key, result
		{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
			0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
			0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
	}
	for _, c := range cases {
		b := New("philox", 1)
		out := b.Arg("out", I32, 4, Write)
		var in [6]*Value
		for i := range in {
			in[i] = b.ConstInt(Vec(I32, 2), int64(int32(c[i])))
		}
		for i, w := range b.Philox([4]*Value(in[:4]), [2]*Value(in[4:])) {
			b.Store(out.At(Int(int64(i))), b.Extract(w, 1))
		}
		buf := make([]byte, 16)
		if err := Interpret(finish(t, b), [][]byte{buf}, 0, 1); err != nil {
			t.Fatal(err)
		}
		for i, w := range words(buf) {
			if w != c[6+i] {
				t.Errorf("%x: word %d is %#x, want %#x", c[:6], i, w, c[6+i])
			}
		}
	}
}

// TestFMA32 compares with the exact sum rounded once by big.Float, on operands
// that make ties and cancellation frequent.
func TestFMA32(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	operand := func() float32 {
		m := float32(r.IntN(1<<24)) / (1 << 12)
		if r.IntN(3) == 0 {
			m = float32(r.IntN(9)) + 1.0/(1<<23)
		}
		return float32(math.Ldexp(float64(m), r.IntN(60)-30)) * float32(1-2*r.IntN(2))
	}
	for range 200000 {
		x, y, z := operand(), operand(), operand()
		big := func(f float32) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(float64(f)) }
		sum := big(0).Add(big(0).Mul(big(x), big(y)), big(z))
		want, _ := sum.Float32()
		if got := fma32(x, y, z); got != want {
			t.Fatalf("fma(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
	if got := fma32(math.MaxFloat32, 2, float32(math.Inf(-1))); !math.IsInf(float64(got), -1) {
		t.Errorf("large minus infinity is %v", got)
	}
}

func TestIndex(t *testing.T) {
	b := New("index", 1)
	i, j := b.Task(), Of(b.Value(Int(3)))
	x := i.Mul(2).Add(j).Plus(5).Sub(i.Mul(2))
	if len(x.Terms) != 1 || x.Terms[0].Coef != 1 || x.Const != 5 {
		t.Errorf("2i + j + 5 - 2i is %+v", x)
	}
	if y := Dot([]int64{12, 4, 1}, i, j, Int(2)); y.Const != 2 || y.Terms[0].Coef != 12 || y.Terms[1].Coef != 4 {
		t.Errorf("12i + 4j + 2 is %+v", y)
	}
}
