package checkpoint

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
)

// FuzzGrid: whatever places of slices a manifest has, they are refused, or the slices make up the tensor, each
// element once.
func FuzzGrid(f *testing.F) {
	d := Divide(partTensors, 3, partBoxes)
	m := newManifest(Meta{}, partTensors)
	m.divide(d)
	for _, t := range m.Tensors {
		text, err := json.Marshal(t)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 3)
	}
	f.Add([]byte(`{"shape":[2,2],"axes":["x","y"],"starts":[[0,1],[0,1]],"parts":[1,2,2,1]}`), 2)
	f.Add([]byte(`{"shape":[2,2],"axes":["x","y"],"starts":[[0,1],[0,1]],"parts":[1,2,1,3]}`), 3)
	f.Add([]byte(`{"shape":[0],"axes":["x"],"starts":[[0]],"parts":[1]}`), 1)
	f.Fuzz(func(t *testing.T, text []byte, parts int) {
		var x manifestTensor
		m := manifest{Parts: parts, Format: formatParts}
		if json.Unmarshal(text, &x) != nil || parts < 1 || parts > maxParts || m.checkTensor(&x) != nil {
			return
		}
		all := int64(1)
		for _, n := range x.Shape {
			all *= n
		}
		if all > 1<<12 || len(x.Shape) > 8 {
			return
		}
		whole := safetensors.Tensor{DType: dtype.U8, Shape: x.Shape}
		seen := make([]byte, all)
		for _, h := range x.grid.slices(x.Shape) {
			one, ok := x.grid.of(h.part, x.Shape)
			if !ok || !slices.Equal(one.Offset, h.Offset) || !slices.Equal(one.Extent, h.Extent) || h.part < 1 || h.part > parts {
				t.Fatalf("part %d has %v and %v", h.part, one, h.Slice)
			}
			mark := make([]byte, h.Elems())
			if err := h.Copy(&whole, mark, seen); err != nil {
				t.Fatal(err)
			}
			for i := range mark {
				mark[i]++
			}
			if err := h.Place(&whole, seen, mark); err != nil {
				t.Fatal(err)
			}
		}
		if bytes.ContainsFunc(seen, func(r rune) bool { return r != 1 }) {
			t.Fatalf("elements are in as many slices: %v", seen)
		}
	})
}

// TestManifestsOfParts: what no program writes is refused.
func TestManifestsOfParts(t *testing.T) {
	valid := func() *manifest {
		m := newManifest(Meta{Step: 1}, partTensors)
		m.divide(Divide(partTensors, 3, partBoxes))
		m.Sequence = 1
		for part := range 3 {
			for _, name := range partFiles(part+1, 3) {
				m.Files = append(m.Files, manifestFile{Name: name})
			}
		}
		return m
	}
	for what, change := range map[string]func(m *manifest){
		"":                       func(*manifest) {},
		"names the file":         func(m *manifest) { m.Files[0].Name = "../../model-00001-of-00003.safetensors" },
		"names the file \"model": func(m *manifest) { m.Files[0], m.Files[2] = m.Files[2], m.Files[0] },
		"5 files and 3 parts":    func(m *manifest) { m.Files = m.Files[:5] },
		"6 files and 2 parts":    func(m *manifest) { m.Parts = 2 },
		"100000 parts":           func(m *manifest) { m.Parts = 100_000 },
		"a slice is in part 4 of 3": func(m *manifest) {
			m.Tensors[1].grid.Parts[0] = 4
		},
		"are not a slice":                    func(m *manifest) { m.Tensors[1].grid.Parts = []int32{1, 2, 1} },
		"3 slices need as many parts, but 2": func(m *manifest) { m.Tensors[1].grid.Parts = []int32{1, 2} },
		"do not start at 0":                  func(m *manifest) { m.Tensors[1].Starts[0][0] = 1 },
		"starts at 6":                        func(m *manifest) { m.Tensors[1].Starts[0][2] = 6 },
		"starts at 0":                        func(m *manifest) { m.Tensors[1].Starts[0][1] = 0 },
		"along 1 axes":                       func(m *manifest) { m.Tensors[1].Starts = m.Tensors[1].Starts[:1] },
		"it names a file":                    func(m *manifest) { m.Tensors[1].File = modelFile },
		"its shape is":                       func(m *manifest) { m.Tensors[1].Shape[1] = 1 << 60 },
		"belongs in model.safetensors": func(m *manifest) {
			m.Parts, m.Files = 0, []manifestFile{{Name: modelFile}, {Name: optimizerFile}}
		},
	} {
		m := valid()
		change(m)
		text, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		_, err = decodeManifest(text)
		if what == "" && err != nil || what != "" && (err == nil || !strings.Contains(err.Error(), what)) {
			t.Errorf("%q: %v", what, err)
		}
	}
}
