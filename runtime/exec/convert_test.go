package exec

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"ptc/internal/dtype"
)

func TestConvert(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		dtype    dtype.DType
		in, want []float32
	}{
		{dtype.F64, []float32{0, 1.5, -inf, 1e-40}, []float32{0, 1.5, -inf, 1e-40}},
		{dtype.BF16, []float32{1 + 1.0/256, 1 + 3.0/256, 3e38, 3.4e38, -inf, 1e-40}, []float32{1, 1 + 4.0/256, 3.0040553e38, inf, -inf, 9.1835e-41}},
		{dtype.F16, []float32{65504, 65520, 1 + 1.0/2048, 6e-8, 1e-9, -inf}, []float32{65504, inf, 1, 5.9604645e-8, 0, -inf}},
		{dtype.I32, []float32{0, -7, 1 << 30}, []float32{0, -7, 1 << 30}},
		{dtype.Bool, []float32{0, 1}, []float32{0, 1}},
	} {
		mid := make([]byte, len(c.in)*c.dtype.Size())
		if err := Convert(mid, c.dtype, bytesOf(c.in), dtype.F32); err != nil {
			t.Fatalf("to %s: %v", c.dtype, err)
		}
		got := make([]float32, len(c.in))
		if err := Convert(bytesOf(got), dtype.F32, mid, c.dtype); err != nil {
			t.Fatalf("from %s: %v", c.dtype, err)
		}
		for i := range got {
			if d := math.Abs(float64(got[i] - c.want[i])); got[i] != c.want[i] && !(d < 1e-3*math.Abs(float64(c.want[i]))) {
				t.Errorf("%s: %v became %v, want %v", c.dtype, c.in[i], got[i], c.want[i])
			}
		}
	}
	nan := []float32{float32(math.NaN())}
	for _, d := range []dtype.DType{dtype.BF16, dtype.F16} {
		mid, back := make([]byte, 2), make([]float32, 1)
		if Convert(mid, d, bytesOf(nan), dtype.F32) != nil || Convert(bytesOf(back), dtype.F32, mid, d) != nil || back[0] == back[0] {
			t.Errorf("%s: NaN became %v", d, back[0])
		}
	}
	x := count(1500) // more than one buffer
	wide, back := make([]byte, 12000), make([]float32, 1500)
	if Convert(wide, dtype.F64, bytesOf(x), dtype.F32) != nil || Convert(bytesOf(back), dtype.F32, wide, dtype.F64) != nil || !slices.Equal(x, back) {
		t.Error("a long tensor does not come back from f64")
	}
}

func TestConvertRefuses(t *testing.T) {
	half := bytesOf([]float32{0.5})
	for name, err := range map[string]error{
		"fraction as i32":  Convert(make([]byte, 4), dtype.I32, half, dtype.F32),
		"fraction as bool": Convert(make([]byte, 1), dtype.Bool, half, dtype.F32),
		"large as i32":     Convert(make([]byte, 4), dtype.I32, bytesOf([]float32{1 << 31}), dtype.F32),
		"NaN as i32":       Convert(make([]byte, 4), dtype.I32, bytesOf([]float32{float32(math.NaN())}), dtype.F32),
		"other length":     Convert(make([]byte, 8), dtype.F32, half, dtype.F32),
		"cut element":      Convert(make([]byte, 2), dtype.BF16, half[:3], dtype.F32),
	} {
		if err == nil {
			t.Errorf("%s: converted", name)
		}
	}
	same := make([]byte, 3)
	if err := Convert(same, dtype.Bool, []byte{1, 0, 1}, dtype.Bool); err != nil || !bytes.Equal(same, []byte{1, 0, 1}) {
		t.Errorf("bool to bool: %v, %v", same, err)
	}
}
