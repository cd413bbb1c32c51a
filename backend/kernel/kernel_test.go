package kernel

import (
	"strings"
	"testing"
)

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
		if r.check == nil {
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
		"step 0":             func(b *Builder, _ *Buffer) { b.For(Range{}, func(Index) {}) },
		"nil operand":        func(b *Builder, _ *Buffer) { b.Store(Ref{}, nil) },
		"power of two":       func(b *Builder, _ *Buffer) { b.ReduceAdd(b.F32(1, 3)) },
		"must be an i64":     func(b *Builder, buf *Buffer) { b.Load(buf.At(Of(b.F32(1, 1))), 1) },
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

func TestIndex(t *testing.T) {
	b := New("index", 1)
	i, j := b.Task(), Of(b.Value(Int(3)))
	x := i.Mul(2).Add(j).Plus(5).Sub(i.Mul(2))
	if len(x.Terms) != 1 || x.Terms[0].Coef != 1 || x.Const != 5 {
		t.Errorf("2i + j + 5 - 2i is %+v", x)
	}
}
