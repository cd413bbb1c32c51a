package hf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/runtime/checkpoint/safetensors"
)

// The files of a model that was saved without its output have names without the prefix: they are
// the same parameters.
func TestWithoutPrefix(t *testing.T) {
	for _, dir := range cases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			_, n, _ := imported(t, dir)
			if n.Prefix == "" {
				t.Fatal("the names have no prefix")
			}
			tmp := t.TempDir()
			importTo(t, dir, n, filepath.Join(tmp, "whole"))
			list, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
			if err != nil || len(list) == 0 {
				t.Fatal(list, err)
			}
			stripped(t, list, filepath.Join(tmp, "model.safetensors"), n.Prefix)
			importTo(t, tmp, n, filepath.Join(tmp, "bare"))
			a, err := os.ReadFile(filepath.Join(tmp, "whole"))
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(tmp, "bare")); err != nil || string(a) != string(b) {
				t.Error("other parameters", err)
			}
		})
	}
}

// stripped copies the tensors of files into one, and leaves a prefix of names out.
func stripped(t *testing.T, from []string, to, prefix string) {
	t.Helper()
	var list []safetensors.Tensor
	at := map[string]*safetensors.File{}
	for _, path := range from {
		f, err := safetensors.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, x := range f.Tensors() {
			at[x.Name] = f
			list = append(list, safetensors.Tensor{Name: strings.TrimPrefix(x.Name, prefix), DType: x.DType, Shape: x.Shape})
		}
	}
	err := safetensors.WriteFile(to, list, nil, func(w *safetensors.Writer) error {
		for name, f := range at {
			data := make([]byte, f.Find(name).Bytes())
			if err := f.ReadSlice(name, safetensors.Slice{}, data); err != nil {
				return err
			}
			if err := w.WriteSlice(strings.TrimPrefix(name, prefix), safetensors.Slice{}, data); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
