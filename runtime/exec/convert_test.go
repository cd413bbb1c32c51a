package exec

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

func TestConvert(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		dtype    string
		in, want []float32
	}{
		{"f64", []float32{0, 1.5, -inf, 1e-40}, []float32{0, 1.5, -inf, 1e-40}},
		{"bf16", []float32{1 + 1.0/256, 1 + 3.0/256, 3e38, 3.4e38, -inf, 1e-40}, []float32{1, 1 + 4.0/256, 3.0040553e38, inf, -inf, 9.1835e-41}},
		{"f16", []float32{65504, 65520, 1 + 1.0/2048, 6e-8, 1e-9, -inf}, []float32{65504, inf, 1, 5.9604645e-8, 0, -inf}},
		{"i32", []float32{0, -7, 1 << 30}, []float32{0, -7, 1 << 30}},
		{"bool", []float32{0, 1}, []float32{0, 1}},
	} {
		mid := make([]byte, len(c.in)*map[string]int{"f64": 8, "bf16": 2, "f16": 2, "i32": 4, "bool": 1}[c.dtype])
		if err := Convert(mid, c.dtype, bytesOf(c.in), "f32"); err != nil {
			t.Fatalf("to %s: %v", c.dtype, err)
		}
		got := make([]float32, len(c.in))
		if err := Convert(bytesOf(got), "f32", mid, c.dtype); err != nil {
			t.Fatalf("from %s: %v", c.dtype, err)
		}
		for i := range got {
			if d := math.Abs(float64(got[i] - c.want[i])); got[i] != c.want[i] && !(d < 1e-3*math.Abs(float64(c.want[i]))) {
				t.Errorf("%s: %v became %v, want %v", c.dtype, c.in[i], got[i], c.want[i])
			}
		}
	}
	nan := []float32{float32(math.NaN())}
	for _, d := range []string{"bf16", "f16"} {
		mid, back := make([]byte, 2), make([]float32, 1)
		if Convert(mid, d, bytesOf(nan), "f32") != nil || Convert(bytesOf(back), "f32", mid, d) != nil || back[0] == back[0] {
			t.Errorf("%s: NaN became %v", d, back[0])
		}
	}
	x := count(1500) // more than one buffer
	wide, back := make([]byte, 12000), make([]float32, 1500)
	if Convert(wide, "f64", bytesOf(x), "f32") != nil || Convert(bytesOf(back), "f32", wide, "f64") != nil || !slices.Equal(x, back) {
		t.Error("a long tensor does not come back from f64")
	}
}

func TestConvertRefuses(t *testing.T) {
	half := bytesOf([]float32{0.5})
	for name, err := range map[string]error{
		"fraction as i32":  Convert(make([]byte, 4), "i32", half, "f32"),
		"fraction as bool": Convert(make([]byte, 1), "bool", half, "f32"),
		"large as i32":     Convert(make([]byte, 4), "i32", bytesOf([]float32{1 << 31}), "f32"),
		"NaN as i32":       Convert(make([]byte, 4), "i32", bytesOf([]float32{float32(math.NaN())}), "f32"),
		"unknown":          Convert(make([]byte, 4), "f8", half, "f32"),
		"other length":     Convert(make([]byte, 8), "f32", half, "f32"),
		"cut element":      Convert(make([]byte, 2), "bf16", half[:3], "f32"),
	} {
		if err == nil {
			t.Errorf("%s: converted", name)
		}
	}
	same := make([]byte, 3)
	if err := Convert(same, "bool", []byte{1, 0, 1}, "bool"); err != nil || !bytes.Equal(same, []byte{1, 0, 1}) {
		t.Errorf("bool to bool: %v, %v", same, err)
	}
}
