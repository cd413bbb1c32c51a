package kernel_test

import (
	"strings"
	"testing"

	"ptc/backend/kernel"
)

// A prefetch is of the first load whose place is known, and keeps what that is computed from, but
// neither loads nor what is computed from them.
func TestPrefetch(t *testing.T) {
	b := kernel.New("ahead", 4)
	x, at := b.Arg("x", kernel.F32, 16, kernel.Read), b.Arg("at", kernel.I64, 4, kernel.Read)
	found := b.Load(at.At(b.Task()), 1)
	b.Prefetch(func() {
		i := b.Value(b.Task())
		far := kernel.Of(b.Mul(i, b.ConstInt(i.Type, 1000))) // beyond x: it is never read
		v := b.Load(x.At(far), 4)
		b.Add(v, v)
		b.Load(x.At(kernel.Int(0)), 1)
	})
	b.Prefetch(func() { b.Load(x.At(kernel.Of(found)), 1) })
	b.Prefetch(func() { b.Add(i64(b, 1), i64(b, 2)) })
	k, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	text := k.String()
	for word, want := range map[string]int{"prefetch x[": 2, "prefetch x[0]": 0, " = load ": 1, " = add ": 0, " = mul ": 1} {
		if n := strings.Count(text, word); n != want {
			t.Errorf("found `%s` %d times; expected %d\n%s", word, n, want, text)
		}
	}
}

// A row is asked for once: of each buffer that has a line or more for it, whether it is read or written,
// and not where it goes on within a line that was asked for.
func TestPrefetchRow(t *testing.T) {
	b := kernel.New("ahead", 4)
	x, y := b.Arg("x", kernel.BF16, 4096, kernel.Read), b.Arg("y", kernel.F32, 4096, kernel.Write)
	near, found := b.Arg("near", kernel.F32, 64, kernel.Read), b.Arg("found", kernel.I64, 64, kernel.Read)
	b.For(kernel.Span(4), func(row kernel.Index) {
		for first := int64(0); first < 32; first += 16 {
			b.PrefetchRow(row, first, func() {
				at := row.Mul(64).Plus(first)
				v := b.Add(b.Load(x.At(at), 16), b.Load(x.At(at), 16)) // the same line
				b.Load(near.At(row), 1)                                // 16 rows in a line
				b.Load(x.At(row.Mul(64).Add(kernel.Of(b.Load(found.At(row), 1)))), 1)
				b.Store(y.At(at), v)
			})
		}
	})
	k, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	text := k.String()
	for word, want := range map[string]int{"prefetch x[": 1, "prefetch y[": 2, "prefetch ": 3, " = load ": 0, "store ": 0} {
		if n := strings.Count(text, word); n != want {
			t.Errorf("found `%s` %d times; expected %d\n%s", word, n, want, text)
		}
	}
}

func i64(b *kernel.Builder, n int64) *kernel.Value { return b.ConstInt(kernel.Scalar(kernel.I64), n) }
