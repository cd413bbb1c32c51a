package tensor

import (
	"math"
	"math/rand"
	"testing"

	"ptc/ir"
)

// TestPhiloxKnownAnswers are the vectors published with the generator
// (Random123, kat_vectors, philox4x32 with 10 rounds).
func TestPhiloxKnownAnswers(t *testing.T) {
	const f = 0xffffffff
	for _, c := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{f, f, f, f}, [2]uint32{f, f}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Philox4x32(c.ctr, c.key); got != c.want {
			t.Errorf("Philox(%x, %x) = %x, want %x", c.ctr, c.key, got, c.want)
		}
	}
}

// TestBits holds the documented mapping, above 2^32 elements and for negative
// seeds as well.
func TestBits(t *testing.T) {
	got := Bits(-5, 7, 12, 3<<32|9)
	want := Philox4x32([4]uint32{9, 3, 12, 7}, [2]uint32{0xfffffffb, 0x70746331})
	if got != want {
		t.Errorf("Bits = %x, want %x", got, want)
	}
}

func TestDistributions(t *testing.T) {
	const n = 100000
	var u, u2, g, g2, g4 float64
	for i := uint64(0); i < n; i++ {
		b := Bits(1, 2, 3, i)
		x, y := Uniform(b), Normal(b)
		if x < 0 || x >= 1 || x != float64(float32(x)) {
			t.Fatalf("uniform %v", x)
		}
		u, u2 = u+x/n, u2+x*x/n
		g, g2, g4 = g+y/n, g2+y*y/n, g4+y*y*y*y/n
	}
	for _, c := range []struct {
		name            string
		got, want, slop float64
	}{
		// Five standard deviations of each estimate.
		{"mean of uniform", u, 0.5, 5 * 0.2887 / math.Sqrt(n)},
		{"second moment of uniform", u2, 1.0 / 3, 5 * 0.2981 / math.Sqrt(n)},
		{"mean of normal", g, 0, 5 / math.Sqrt(n)},
		{"variance of normal", g2, 1, 5 * math.Sqrt(2.0/n)},
		{"fourth moment of normal", g4, 3, 5 * math.Sqrt(96.0/n)},
	} {
		if math.Abs(c.got-c.want) > c.slop {
			t.Errorf("%s is %v, want %v ± %v", c.name, c.got, c.want, c.slop)
		}
	}
	if z := Normal([4]uint32{0, 0}); math.IsInf(z, 0) || z != z {
		t.Errorf("the extreme normal is %v", z)
	}
}

// TestWalk compares the visited addresses with those of plain nested loops.
func TestWalk(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for trial := 0; trial < 300; trial++ {
		sizes := make([]int, r.Intn(5))
		for i := range sizes {
			sizes[i] = 1 + r.Intn(3)
		}
		strides := make([][]int, 1+r.Intn(3))
		for k := range strides {
			strides[k] = make([]int, len(sizes))
			n := 1
			for i := len(sizes) - 1; i >= 0; i-- {
				strides[k][i] = n * r.Intn(2+k)
				n *= sizes[i]
			}
		}
		var want, got [][]int
		var nest func(d int, at []int)
		nest = func(d int, at []int) {
			if d == len(sizes) {
				want = append(want, at)
				return
			}
			for i := 0; i < sizes[d]; i++ {
				next := append([]int(nil), at...)
				for k := range next {
					next[k] += i * strides[k][d]
				}
				nest(d+1, next)
			}
		}
		nest(0, make([]int, len(strides)))
		runs := 0
		Walk(sizes, strides, func(at, step []int, n int) {
			runs++
			for i := 0; i < n; i++ {
				p := make([]int, len(at))
				for k := range at {
					p[k] = at[k] + i*step[k]
				}
				got = append(got, p)
			}
		})
		if len(got) != len(want) {
			t.Fatalf("%v: %d visits, want %d", sizes, len(got), len(want))
		}
		for i := range want {
			for k := range want[i] {
				if got[i][k] != want[i][k] {
					t.Fatalf("sizes %v strides %v: visit %d is %v, want %v", sizes, strides, i, got[i], want[i])
				}
			}
		}
	}
	runs := 0
	Walk([]int{4, 1, 8}, [][]int{{8, 8, 1}, {8, 3, 1}}, func(_, _ []int, n int) { runs++ })
	if runs != 1 {
		t.Errorf("contiguous operands were visited in %d stretches", runs)
	}
}

func typ(axes ...ir.Axis) ir.Type { return ir.Type{DType: ir.F32, Axes: axes} }

func counting(t ir.Type) *Tensor {
	x := New(t)
	for i := range x.Data {
		x.Data[i] = float64(i + 1)
	}
	return x
}

func TestShardAndAssemble(t *testing.T) {
	mesh := []ir.MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 2}}
	global := counting(typ(ir.Axis{Name: "a", Size: 4}, ir.Axis{Name: "b", Size: 2}))
	axis := func(name string, mesh ...string) ir.Axis { return ir.Axis{Name: name, Mesh: mesh} }
	for _, c := range []struct {
		t     ir.Type
		third []float64 // what device dp=1, tp=0 holds
	}{
		{typ(axis("a"), axis("b")), []float64{1, 2, 3, 4, 5, 6, 7, 8}},
		{typ(axis("a", "dp"), axis("b", "tp")), []float64{5, 7}},
		{typ(axis("b", "tp"), axis("a", "dp")), []float64{5, 7}},
		{typ(axis("a", "dp", "tp"), axis("b")), []float64{5, 6}},
		{typ(axis("a", "tp", "dp"), axis("b")), []float64{3, 4}},
		{typ(axis("b"), axis("a", "tp")), []float64{1, 3, 2, 4}},
		{ir.Type{DType: ir.F32, Axes: []ir.Axis{axis("a", "tp"), axis("b")}, Partial: []ir.Partial{{Mesh: "dp", Reduce: "sum"}}}, []float64{0, 0, 0, 0}},
		{ir.Type{DType: ir.F32, Axes: []ir.Axis{axis("a", "tp"), axis("b")}, Partial: []ir.Partial{{Mesh: "dp", Reduce: "max"}}}, []float64{1, 2, 3, 4}},
	} {
		var parts []*Tensor
		for d := 0; d < 4; d++ {
			p, err := Shard(global, c.t, mesh, Coord(mesh, d))
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, p)
		}
		if RelDiffOf(parts[2].Data, c.third) != 0 || len(parts[2].Data) != len(c.third) {
			t.Errorf("%s: device 2 holds %v, want %v", c.t, parts[2].Data, c.third)
		}
		back, err := Assemble(parts, c.t, mesh)
		if err != nil {
			t.Fatal(err)
		}
		if RelDiff(back.Reordered(global.Type), global) != 0 {
			t.Errorf("%s: assembled %v", c.t, back.Data)
		}
	}
}

func TestAssembleRefuses(t *testing.T) {
	mesh := []ir.MeshAxis{{Name: "dp", Size: 2}}
	x, y := counting(typ(ir.Axis{Name: "a", Size: 2})), counting(typ(ir.Axis{Name: "a", Size: 2}))
	y.Data[1] = 2.1
	if _, err := Assemble([]*Tensor{x, y}, x.Type, mesh); err == nil {
		t.Error("replicas that differ were joined")
	}
	cut := typ(ir.Axis{Name: "a", Size: 2, Mesh: []string{"dp"}})
	if _, err := Assemble([]*Tensor{x, nil}, cut, mesh); err == nil {
		t.Error("a missing part was not noticed")
	}
	if _, err := Assemble([]*Tensor{x, nil}, x.Type, mesh); err != nil {
		t.Errorf("one replica of two is enough: %v", err)
	}
	two := cut
	two.Partial = []ir.Partial{{Mesh: "x", Reduce: "sum"}, {Mesh: "y", Reduce: "max"}}
	if _, err := Assemble([]*Tensor{x, y}, two, mesh); err == nil {
		t.Error("reductions of two kinds were joined")
	}
	odd := counting(typ(ir.Axis{Name: "a", Size: 3}))
	if _, err := Shard(odd, cut, mesh, nil); err == nil {
		t.Error("3 elements were divided by 2")
	}
	if _, err := Shard(x, typ(ir.Axis{Name: "a", Mesh: []string{"pp"}}), mesh, nil); err == nil {
		t.Error("an unknown mesh axis was accepted")
	}
}

func TestRelDiff(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{0, 0}, []float64{0, 0}, 0},
		{[]float64{3, 4}, []float64{3, 4}, 0},
		{[]float64{3, 4}, []float64{0, 4}, 0.6},
		{[]float64{3e300, 4e300}, []float64{0, 4e300}, 0.6},
		{[]float64{3e-300, 4e-300}, []float64{0, 4e-300}, 0.6},
		{[]float64{inf, nan, 1}, []float64{inf, nan, 1}, 0},
		{[]float64{inf, 1}, []float64{-inf, 1}, inf},
		{[]float64{nan, 1}, []float64{0, 1}, inf},
		{[]float64{0}, []float64{1e-30}, 1},
	} {
		if got := RelDiffOf(c.a, c.b); math.Abs(got-c.want) > 1e-15 && got != c.want {
			t.Errorf("RelDiff(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if a, b := New(typ(ir.Axis{Name: "a", Size: 2})), New(typ(ir.Axis{Name: "b", Size: 2})); !math.IsInf(RelDiff(a, b), 1) {
		t.Error("tensors of other axes do not differ")
	}
}
