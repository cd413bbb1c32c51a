package tiletest

import (
	"math"
	"math/rand"
	"os"
	"strings"
	"testing"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/tensor"
)

func program(t *testing.T, text string) *tile.Program {
	t.Helper()
	p, err := tile.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func verified(t *testing.T, name string) *tile.Program {
	t.Helper()
	text, err := os.ReadFile("../testdata/" + name + ".tile")
	if err != nil {
		t.Fatal(err)
	}
	p := program(t, string(text))
	if err := tile.Verify(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// memories are blank ones for results and random ones for what is read.
func memories(p *tile.Program, r *rand.Rand) (all []*Memory, in []*tensor.Tensor) {
	for _, b := range p.Buffers {
		switch b.Use {
		case tile.Read:
			t := tensor.New(ir.Type{DType: b.DType, Axes: []ir.Axis{{Name: "n", Size: int(b.Len)}}})
			for i := range t.Data {
				t.Data[i] = 2*r.Float64() - 1
				if b.DType.IsInt() {
					t.Data[i] = float64(r.Intn(12) - 1)
				}
			}
			in = append(in, t.Round())
			all = append(all, Holding(t))
		case tile.Write, tile.ReadWrite:
			all = append(all, Blank(b.Len))
		}
	}
	return all, in
}

// Online softmax is the plain one, in both arithmetics, whatever the order of tasks.
func TestAttention(t *testing.T) {
	p := verified(t, "attention")
	m, errs := ir.Parse("a.ptir", []byte(`ptir 1 fused ""

func @k class=kernel
  arg %0 : f32[b=2, seq=24, heads=3, head=4] in
  arg %1 : f32[b=2, kseq=24, heads=3, head=4] in
  arg %2 : f32[b=2, kseq=24, heads=3, head=4] in
  %3 : f32[b=2, seq=24, heads=3, kseq=24] = dot %0, %1 over=(head)
  %4 : f32[] = const dtype=f32 value=2.0
  %5 : f32[b=2, seq=24, heads=3, kseq=24] = div %3, %4
  %6 : i32[seq=24] = index axis=seq size=24
  %7 : i32[kseq=24] = index axis=kseq size=24
  %8 : bool[seq=24, kseq=24] = ge %6, %7
  %9 : f32[] = const dtype=f32 value=-inf
  %10 : f32[b=2, seq=24, heads=3, kseq=24] = select %8, %5, %9
  %11 : f32[b=2, seq=24, heads=3] = reduce_max %10 over=(kseq)
  %12 : f32[b=2, seq=24, heads=3, kseq=24] = sub %10, %11
  %13 : f32[b=2, seq=24, heads=3, kseq=24] = exp %12
  %14 : f32[b=2, seq=24, heads=3] = reduce_sum %13 over=(kseq)
  %15 : f32[b=2, seq=24, heads=3, head=4] = dot %13, %2 out=(b, seq, heads, head) over=(kseq)
  %16 : f32[b=2, seq=24, heads=3, head=4] = div %15, %14
  result %16 out
  result %11 out
  result %14 out
end
`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for seed := range int64(4) {
		for _, exact := range []bool{true, false} {
			all, in := memories(p, rand.New(rand.NewSource(seed)))
			args := make([]*tensor.Tensor, 3)
			for i, a := range m.Funcs[0].Args {
				args[i] = &tensor.Tensor{Type: a.Value.Type, Data: in[i].Data}
			}
			want, err := eval.Func(m, m.Funcs[0], args, eval.Options{Exact: exact})
			if err != nil {
				t.Fatal(err)
			}
			if err := (Options{Exact: exact, Seed: seed}).Run(p, all); err != nil {
				t.Fatal(err)
			}
			most := 1e-12
			if !exact {
				most = 1e-5
			}
			for i, w := range want {
				if d := tensor.RelDiffOf(w.Data, all[3+i].Data); !(d < most) {
					t.Errorf("seed %d, exact %v: result %d differs by %g", seed, exact, i, d)
				}
			}
		}
	}
}

// A program of all the other operations gives the same numbers for every seed, those
// that are worked out here.
func TestVarious(t *testing.T) {
	p := verified(t, "various")
	for seed := range int64(5) {
		all, in := memories(p, rand.New(rand.NewSource(7)))
		if err := (Options{Exact: true, Seed: seed}).Run(p, all); err != nil {
			t.Fatal(err)
		}
		table, ids, sd := in[0].Data, in[1].Data, in[2].Data
		want := make([]float64, 40)
		for s := range 7 {
			row, at := int(ids[6-s]), int(ids[s])+1
			for e := range 4 {
				x := 0.0
				if row >= 0 && row < 10 {
					n := tensor.Normal(tensor.Bits(int32(sd[0]), 3, 3, uint64(4*(6-s)+e-6+9)))
					x = table[4*row+e] * n
				}
				if at >= 0 && at < 10 {
					want[4*at+e] += x
				}
			}
		}
		if d := tensor.RelDiffOf(want, all[3].Data[20:60]); !(d < 1e-12) {
			t.Errorf("seed %d: differs by %g: %v, want %v", seed, d, all[3].Data[20:60], want)
		}
	}
}

// What is narrow is rounded where it is cast, stored and shared, and nowhere else.
func TestRounding(t *testing.T) {
	p := program(t, `tile @k
  arg x : bf16[1] read
  arg y : f32[4] write
  arg z : bf16[1] write
  view vx : x []
  view vy : y [n=4:1]
  view vz : z []
  phase
    %0 : bf16[] = load vx[]
    %1 : bf16[] = mul %0, %0
    %2 : f32[] = cast %1
    store vy[0], %2
    %3 : shared bf16[] = mul %0, %0
    %4 : f32[] = cast %3
    store vy[1], %4
    %5 : bf16[] = cast %2
    %6 : f32[] = cast %5
    store vy[2], %6
    %7 : f32[] = const 0.1
    store vy[3], %7
    store vz[], %1
  end
end
`)
	if err := tile.Verify(p); err != nil {
		t.Fatal(err)
	}
	x := 1.0078125 // 1 + 2^-7, whose square has more bits than bf16
	all := []*Memory{Holding(&tensor.Tensor{Data: []float64{x}}), Blank(4), Blank(1)}
	if err := (Options{}).Run(p, all); err != nil {
		t.Fatal(err)
	}
	narrow := []float64{x * x}
	ir.BF16.Round(narrow)
	want := []float64{x * x, narrow[0], narrow[0], float64(float32(0.1)), narrow[0]}
	got := append(append([]float64{}, all[1].Data...), all[2].Data...)
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
	if err := (Options{Exact: true}).Run(p, all); err != nil {
		t.Fatal(err)
	}
	if all[2].Data[0] != x*x || all[1].Data[3] != 0.1 || math.IsNaN(all[1].Data[1]) {
		t.Errorf("in float64: %v %v", all[1].Data, all[2].Data)
	}
}

// In place, a result's memory is an argument's: what reads before it writes is right,
// and what a task reads that another one writes is found.
func TestInPlace(t *testing.T) {
	const text = `tile @k
  arg x : f32[8] read
  arg y : f32[8] write over x
  view vx : x [a=8:1]
  view vy : y [a=8:1]
  phase a in a=8 by 3
    %0 : f32[a] = load vx[a]
    %1 : f32[a] = exp %0
    store vy[a], %1
  end
end
`
	for _, c := range []struct{ text, want string }{
		{text, ""},
		{strings.Replace(text, "load vx[a]", "load vx[-1*a + 7]", 1), "of the same phase"},
	} {
		p := program(t, c.text)
		if err := tile.Verify(p); err != nil {
			t.Fatal(err)
		}
		both := Holding(tensor.New(ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: 8}}}))
		err := Options{}.Run(p, []*Memory{both, both})
		if c.want == "" && (err != nil || both.Data[5] != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v; want %q", both.Data, err, c.want)
		}
	}
}
