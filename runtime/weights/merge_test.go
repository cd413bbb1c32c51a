package weights_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
	"ptc/runtime/weights"
)

// held is a source in memory, of f32.
type held map[string]*tensor

type tensor struct {
	safetensors.Tensor
	x []float64
}

func (h held) Describe(path string) *safetensors.Tensor {
	if h[path] == nil {
		return nil
	}
	return &h[path].Tensor
}

func (h held) ReadSlice(path string, s safetensors.Slice, dst []byte) error {
	whole := make([]byte, 4*len(h[path].x))
	dtype.F32.Encode(whole, h[path].x)
	return s.Copy(&h[path].Tensor, dst, whole)
}

func (h held) put(path string, seed uint64, shape ...int64) *tensor {
	t := &tensor{safetensors.Tensor{Name: path, DType: dtype.F32, Shape: shape}, nil}
	n := int64(1)
	for _, k := range shape {
		n *= k
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		t.x = append(t.x, float64(float32(r.NormFloat64())))
	}
	h[path] = t
	return t
}

func axes(names ...string) (out []program.Axis) {
	for _, n := range names {
		out = append(out, program.Axis{Name: n, Size: 1, Global: 1})
	}
	return out
}

// TestMerged: experts' matrices with an adapter for each, whose axes are in another order
// than the parameter's; slices of them; a parameter without an adapter; and a file without
// any.
func TestMerged(t *testing.T) {
	plan := &program.Plan{
		Adapters: []program.Adapter{{On: []string{"blocks.*.w"}, Scale: 0.5}},
		Devices: []program.Device{{
			Buffers: []program.Buffer{{Axes: axes("out", "experts", "in")}, {Axes: axes("experts", "in", "lora_rank")}, {Axes: axes("experts", "lora_rank", "out")}},
			Tensors: []program.Tensor{{Path: "blocks.0.w"}, {Path: "blocks.0.w.lora_down", Buffer: 1}, {Path: "blocks.0.w.lora_up", Buffer: 2}, {Path: "blocks.1.w"}},
		}},
	}
	src := held{}
	w, d, u := src.put("blocks.0.w", 1, 5, 2, 3), src.put("blocks.0.w.lora_down", 2, 2, 3, 4), src.put("blocks.0.w.lora_up", 3, 2, 4, 5)
	src.put("blocks.1.w", 4, 5, 2, 3)
	m, err := weights.Merged(src, plan)
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, m, "blocks.0.w", safetensors.Slice{Offset: []int64{1, 0, 1}, Extent: []int64{3, 2, 2}})
	i := 0
	for o := 1; o < 4; o++ {
		for e := range 2 {
			for n := 1; n < 3; n++ {
				want := w.x[(o*2+e)*3+n]
				for r := range 4 {
					want += 0.5 * d.x[(e*3+n)*4+r] * u.x[(e*4+r)*5+o]
				}
				if math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
					t.Fatalf("out %d, expert %d, in %d: %g, want %g", o, e, n, got[i], want)
				}
				i++
			}
		}
	}
	if x := read(t, m, "blocks.1.w", safetensors.Slice{}); x[7] != src["blocks.1.w"].x[7] {
		t.Error("a parameter without an adapter is changed")
	}
	delete(src, "blocks.0.w.lora_up")
	if m, err = weights.Merged(src, plan); err != nil {
		t.Fatal(err)
	}
	if err := m.ReadSlice("blocks.0.w", safetensors.Slice{}, make([]byte, 4*30)); err == nil {
		t.Error("half an adapter is merged")
	}
	delete(src, "blocks.0.w.lora_down")
	if m, err = weights.Merged(src, plan); err != nil {
		t.Fatal(err)
	}
	if x := read(t, m, "blocks.0.w", safetensors.Slice{}); x[7] != w.x[7] {
		t.Error("a file without adapters is changed")
	}
}

// TestMergedDoesNotFit: parts of an adapter of other sizes are an error, not a panic.
func TestMergedDoesNotFit(t *testing.T) {
	plan := &program.Plan{
		Adapters: []program.Adapter{{On: []string{"w"}, Scale: 1}},
		Devices: []program.Device{{
			Buffers: []program.Buffer{{Axes: axes("in", "out")}, {Axes: axes("in", "lora_rank")}, {Axes: axes("lora_rank", "out")}},
			Tensors: []program.Tensor{{Path: "w"}, {Path: "w.lora_down", Buffer: 1}, {Path: "w.lora_up", Buffer: 2}},
		}},
	}
	for _, c := range [][2][]int64{{{3, 2}, {2, 4}}, {{2, 2}, {2, 3}}, {{2, 2}, {3, 4}}, {{2}, {2, 4}}} {
		src := held{}
		src.put("w", 1, 2, 4)
		src.put("w.lora_down", 2, c[0]...)
		src.put("w.lora_up", 3, c[1]...)
		m, err := weights.Merged(src, plan)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.ReadSlice("w", safetensors.Slice{}, make([]byte, 4*8)); err == nil {
			t.Errorf("down %v and up %v are merged", c[0], c[1])
		}
	}
}

func read(t *testing.T, src weights.Source, path string, s safetensors.Slice) []float64 {
	t.Helper()
	n := int64(1)
	shape := s.Extent
	if shape == nil {
		shape = src.Describe(path).Shape
	}
	for _, k := range shape {
		n *= k
	}
	raw := make([]byte, 4*n)
	if err := src.ReadSlice(path, s, raw); err != nil {
		t.Fatal(err)
	}
	out := make([]float64, n)
	dtype.F32.Decode(out, raw)
	return out
}
