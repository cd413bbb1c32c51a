package attention

import (
	"fmt"
	"strings"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
)

// plain is an attention without a softmax, whose keys and values are 1: where queries are
// 1 as well, every result is the number of keys by that of columns.
func plain(rows, keys, cols int64) Spec {
	var b *kernel.Builder
	var q, out *kernel.Buffer
	s := Spec{Rows: rows, Keys: keys, Into: []Into{{}}, Outs: []Out{{}},
		ByRow: []Operand{{Cols: cols}}, ByKey: []Operand{{Cols: cols}}}
	s.Begin = func(tasks int64) *kernel.Builder {
		b = kernel.New("k", tasks)
		q = b.Arg("q", kernel.F32, rows*cols, kernel.Read)
		out = b.Arg("out", kernel.F32, rows*cols, kernel.Write)
		return b
	}
	s.ByRow[0].Load = func(at At, _ Along, l Lanes) *kernel.Value {
		return b.Load(q.At(at.Row.Mul(cols).Add(at.Col)).Masked(l.Mask), l.N)
	}
	s.ByKey[0].Load = func(_ At, _ Along, l Lanes) *kernel.Value { return b.F32(1, l.N) }
	s.Row = func(_ At, body func()) { body() }
	s.Weights = func(_ At, x []*kernel.Value, _ *kernel.Value, _ Lanes) (*kernel.Value, []*kernel.Value) {
		return x[0], x[:1]
	}
	s.Known = func(_ At, _, _ *kernel.Value, body func()) { body() }
	s.Store = func(_ int, at At, acc *kernel.Value, l Lanes) {
		b.Store(out.At(at.Row.Mul(cols).Add(at.Col)).Masked(l.Mask), acc)
	}
	return s
}

func TestProducts(t *testing.T) {
	for _, m := range []kernel.Machine{
		{VectorBits: 256, Registers: 16, FMA: true, L1: 1 << 15, L2: 1 << 18},
		{VectorBits: 128, Registers: 32, L2: 1 << 12},
		{},
	} {
		for _, n := range [][3]int64{{1, 1, 1}, {7, 33, 5}, {50, 129, 16}, {61, 64, 40}} {
			k, err := Generate(plain(n[0], n[1], n[2]), m)
			if err != nil {
				t.Fatal(err)
			}
			q, out := make([]byte, 4*n[0]*n[2]), make([]byte, 4*n[0]*n[2])
			for i := range n[0] * n[2] {
				q[4*i+2], q[4*i+3] = 0x80, 0x3f // 1
			}
			if err := kerneltest.Interpret(k, [][]byte{q, out}, 0, k.Tasks); err != nil {
				t.Fatalf("%v: %v", n, err)
			}
			want := kernel.New("want", 1).F32(float32(n[1]*n[2]), 1).Def.Bits
			for i := range n[0] * n[2] {
				if got := uint64(out[4*i]) | uint64(out[4*i+1])<<8 | uint64(out[4*i+2])<<16 | uint64(out[4*i+3])<<24; got != want {
					t.Fatalf("%v: element %d is %#x, want %#x", n, i, got, want)
				}
			}
		}
	}
}

func TestNoAttention(t *testing.T) {
	for _, c := range []struct {
		change func(s *Spec)
		want   string
	}{
		{func(s *Spec) { s.Keys = 0 }, "a size is 0"},
		{func(s *Spec) { s.Into = nil }, "no product makes the scores"},
		{func(s *Spec) { s.Outs = nil }, "none reads the weights"},
		{func(s *Spec) { s.ByKey[0].Load = nil }, "no loader"},
		{func(s *Spec) { s.Inner = []int64{2} }, "nothing summed over them"},
		{func(s *Spec) { s.Sum, s.Outs = true, []Out{{Over: OverRows}} }, "weights that are not complete"},
		{func(s *Spec) { s.Store = nil }, "a callback is missing"},
		{func(s *Spec) { s.Top = true }, "a callback is missing"},
	} {
		s := plain(4, 4, 4)
		c.change(&s)
		if _, err := Generate(s, kernel.Machine{VectorBits: 128, Registers: 16}); err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
