package exec

import (
	"math"
	"slices"
	"testing"

	"ptc/internal/philox"
	"ptc/runtime/program"
)

// TestQuantile holds quantile to the distribution function it inverts, and
// logarithm to the library's.
func TestQuantile(t *testing.T) {
	for i := 1; i < 40000; i++ {
		u := float64(i) / 40000
		x := quantile(u)
		if back := 0.5 * math.Erfc(-x/math.Sqrt2); math.Abs(back-u) > 1e-15*(1+math.Abs(x))+4e-16 {
			t.Fatalf("Φ(quantile(%v)) = %v", u, back)
		}
		if math.Abs(x+quantile(1-u)) > 1e-12*math.Abs(x)+1e-15 {
			t.Fatalf("not odd at %v", u)
		}
	}
	for e := 1; e <= 33; e++ {
		u := math.Ldexp(1, -e)
		x := quantile(u)
		if back := 0.5 * math.Erfc(-x/math.Sqrt2); math.Abs(back/u-1) > 1e-13 {
			t.Errorf("Φ(quantile(2^-%d)) is off by %v", e, back/u-1)
		}
	}
	for x := 1e-10; x < 1; x *= 1.00037 {
		if got, want := logarithm(x), math.Log(x); math.Abs(got-want) > 1e-15*math.Max(1, math.Abs(want)) {
			t.Fatalf("logarithm(%v) = %v, want %v", x, got, want)
		}
	}
	if quantile(0.5) != 0 {
		t.Error("the median is not 0")
	}
}

// initPlan has one tensor of 96×1000 elements, cut by the mesh as given.
func initPlan(dtype string, init program.Init, mesh []program.MeshAxis, rows, cols []string) *program.Plan {
	p := &program.Plan{Mesh: mesh}
	axis := func(name string, size int, over []string) program.Axis {
		a := program.Axis{Name: name, Size: size, Global: size, Mesh: over}
		for _, o := range over {
			for _, m := range mesh {
				if m.Name == o {
					a.Size /= m.Size
				}
			}
		}
		return a
	}
	axes := []program.Axis{axis("row", 96, rows), axis("col", 1000, cols)}
	d := program.Device{Arena: 1 << 20}
	bytes := int64(program.Elems(axes) * program.DTypeSize(dtype))
	d.Buffers = []program.Buffer{{Space: program.Params, Bytes: bytes, DType: dtype, Axes: axes}}
	d.Tensors = []program.Tensor{{Path: "blocks.0.w", Init: init}}
	p.Devices = []program.Device{d}
	return p
}

func initial(t *testing.T, p *program.Plan, seed uint64, threads int) []float32 {
	t.Helper()
	m := machine(t, p, threads)
	if err := m.Initialize(seed); err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 96000)
	if err := m.Read("blocks.0.w", x); err != nil {
		t.Fatal(err)
	}
	return x
}

var normal = program.Init{Kind: "normal", Args: []program.KV{{Key: "mean", Value: "1"}, {Key: "std", Value: "0.5"}}}

// TestInitialSharded: layouts and threads change no value.
func TestInitialSharded(t *testing.T) {
	mesh := []program.MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 4}}
	want := initial(t, initPlan("f32", normal, nil, nil, nil), 5, 1)
	for _, cut := range [][2][]string{{{"dp"}, nil}, {nil, {"tp"}}, {{"tp"}, {"dp"}}, {{"tp", "dp"}, nil}, {nil, nil}} {
		for _, threads := range []int{1, 3} {
			if got := initial(t, initPlan("f32", normal, mesh, cut[0], cut[1]), 5, threads); !slices.Equal(got, want) {
				t.Errorf("cut %v with %d threads: other values", cut, threads)
			}
		}
	}
	if slices.Equal(initial(t, initPlan("f32", normal, nil, nil, nil), 6, 1), want) {
		t.Error("another seed gives the same values")
	}
	if slices.Equal(initial(t, initPlan("f32", normal, nil, nil, nil), 5+1<<32, 1), want) {
		t.Error("the high bits of the seed do not count")
	}
	other := initPlan("f32", normal, nil, nil, nil)
	other.Devices[0].Tensors[0].Path = "blocks.1.w"
	m := machine(t, other, 1)
	if err := m.Initialize(5); err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 96000)
	if err := m.Read("blocks.1.w", x); err != nil || slices.Equal(x, want) {
		t.Errorf("another path gives the same values (%v)", err)
	}
}

// TestInitialMapping holds the documented mapping with a second reading of it.
func TestInitialMapping(t *testing.T) {
	x := initial(t, initPlan("f32", program.Init{Kind: "uniform"}, nil, nil, nil), 1<<40|77, 2)
	hash := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte("blocks.0.w") {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	for _, e := range []int{0, 1, 2, 3, 4, 511, 512, 95999} {
		b := philox.Block([4]uint32{uint32(e / 4), 0, uint32(hash), uint32(hash >> 32)}, [2]uint32{77, 1<<8 ^ 0x70746332})
		want := float32(-1 + 2*(float64(b[e%4])+0.5)/(1<<32))
		if x[e] != want {
			t.Errorf("element %d is %v, want %v", e, x[e], want)
		}
	}
}

func TestInitialMoments(t *testing.T) {
	for _, c := range []struct {
		init                  program.Init
		mean, std, skew, kurt float64
		lowest, highest       float64
	}{
		{init: normal, mean: 1, std: 0.5, kurt: 3, lowest: -2, highest: 4},
		{init: program.Init{Kind: "uniform", Args: []program.KV{{Key: "low", Value: "2"}, {Key: "high", Value: "5"}}},
			mean: 3.5, std: 3 / math.Sqrt(12), kurt: 1.8, lowest: 2, highest: 5},
	} {
		x := initial(t, initPlan("f32", c.init, nil, nil, nil), 1, 2)
		var m [5]float64
		for _, v := range x {
			m[1] += float64(v)
		}
		m[1] /= float64(len(x))
		for _, v := range x {
			d := float64(v) - m[1]
			m[2], m[3], m[4] = m[2]+d*d, m[3]+d*d*d, m[4]+d*d*d*d
		}
		n := float64(len(x))
		std := math.Sqrt(m[2] / n)
		skew, kurt := m[3]/n/(std*std*std), m[4]/n/(std*std*std*std)
		for _, got := range [][2]float64{{m[1], c.mean}, {std, c.std}, {skew, c.skew}, {kurt, c.kurt}} {
			if math.Abs(got[0]-got[1]) > 0.05 {
				t.Errorf("%s: %v, want %v", c.init.Kind, got[0], got[1])
			}
		}
		if float64(slices.Min(x)) < c.lowest || float64(slices.Max(x)) > c.highest {
			t.Errorf("%s: from %v to %v", c.init.Kind, slices.Min(x), slices.Max(x))
		}
	}
}

func TestInitialConstants(t *testing.T) {
	two := program.Init{Kind: "constant", Args: []program.KV{{Key: "value", Value: "2"}}}
	for _, c := range []struct {
		dtype string
		init  program.Init
		want  float32
	}{
		{"f32", program.Init{Kind: "zeros"}, 0}, {"f64", two, 2}, {"bf16", two, 2}, {"f16", two, 2}, {"i32", two, 2},
		{"bool", program.Init{Kind: "ones"}, 1},
	} {
		x := initial(t, initPlan(c.dtype, c.init, nil, nil, nil), 1, 2)
		if slices.Min(x) != c.want || slices.Max(x) != c.want {
			t.Errorf("%s of %s: from %v to %v", c.dtype, c.init.Kind, slices.Min(x), slices.Max(x))
		}
	}
}

func BenchmarkInitialize(b *testing.B) {
	m := machine(b, initPlan("f32", normal, nil, nil, nil), 1)
	b.SetBytes(96000 * 4)
	for range b.N {
		if err := m.Initialize(1); err != nil {
			b.Fatal(err)
		}
	}
}
