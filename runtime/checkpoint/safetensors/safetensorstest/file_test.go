package safetensorstest

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
)

// TestWriteAndRead: values of every dtype are those that were written, and so are bytes.
func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var list []safetensors.Tensor
	want := map[string][]float64{}
	for _, d := range []dtype.DType{dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.I32} {
		list = append(list, safetensors.Tensor{Name: d.String(), DType: d, Shape: []int64{3}})
		want[d.String()] = []float64{0, 1, -96}
	}
	Write(t, path, list, func(x *safetensors.Tensor) []float64 { return want[x.Name] })
	if diff := cmp.Diff(want, Floats(t, path)); diff != "" {
		t.Error(diff)
	}
	raw := Bytes(t, path)
	if diff := cmp.Diff([]byte{0, 0, 0x80, 0x3f, 0xc0, 0xc2}, raw["bf16"]); diff != "" || len(raw) != len(list) {
		t.Errorf("%d tensors; %s", len(raw), diff)
	}
}
