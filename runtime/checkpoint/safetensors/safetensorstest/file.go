package safetensorstest

import (
	"slices"
	"testing"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
)

// Bytes are those of each tensor of a file.
func Bytes(t testing.TB, path string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	each(t, path, func(x *safetensors.Tensor, raw []byte) { out[x.Name] = raw })
	return out
}

// Floats are the values of each tensor of a file, of one of the dtypes, or of any where
// none is given.
func Floats(t testing.TB, path string, of ...dtype.DType) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	each(t, path, func(x *safetensors.Tensor, raw []byte) {
		if len(of) > 0 && !slices.Contains(of, x.DType) {
			t.Fatalf("%s of %s is %s", x.Name, path, x.DType)
		}
		out[x.Name] = make([]float64, dtype.Elems(x.DType, len(raw)))
		x.DType.Decode(out[x.Name], raw)
	})
	return out
}

// each gives every tensor of a file with its bytes, in the order of the file.
func each(t testing.TB, path string, f func(x *safetensors.Tensor, raw []byte)) {
	t.Helper()
	file, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, x := range file.Tensors() {
		raw := make([]byte, x.Bytes())
		if err := file.ReadSlice(x.Name, safetensors.Slice{}, raw); err != nil {
			t.Fatal(err)
		}
		f(&x, raw)
	}
}

// Write writes a file of tensors, with the values that of gives each, rounded to its dtype.
func Write(t testing.TB, path string, tensors []safetensors.Tensor, of func(x *safetensors.Tensor) []float64) {
	t.Helper()
	err := safetensors.WriteFile(path, tensors, nil, func(w *safetensors.Writer) error {
		for i := range tensors {
			x := &tensors[i]
			raw := make([]byte, x.Bytes())
			x.DType.Encode(raw, of(x))
			if err := w.WriteSlice(x.Name, safetensors.Slice{}, raw); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
