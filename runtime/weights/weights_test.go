package weights

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/checkpoint/safetensors/safetensorstest"
	"ptc/runtime/program"
)

// names are of three parameters: q and k in one tensor, e in one for each position of
// its first axis, and the rows of q in pairs.
func names() *program.Names {
	n := &program.Names{Family: "m", Format: "hf", Architecture: "M", Prefix: "top.", Skip: []string{"top.{i}.mask"},
		Tensors: []program.Named{{Name: "top.qk", Over: 1, Pieces: []program.Piece{
			{Param: "q", From: []int64{0, 0}, Extent: []int64{4, 3}, View: []int64{2, 2, 3}, Order: []int64{2, 1, 0}, Shape: []int64{3, 4}},
			{Param: "k", From: []int64{0, 0}, Extent: []int64{3, 2}, View: []int64{3, 2}, Order: []int64{0, 1}, Shape: []int64{3, 2}}}}},
		Keys: []program.Key{{Names: []string{"size", "deep.size"}, Value: "3"}, {Names: []string{"window"}, Value: "null"},
			{Names: []string{"kind"}, Value: `"a"`, Default: true}}}
	for e := range int64(2) {
		n.Tensors = append(n.Tensors, program.Named{Name: "top.e" + string(rune('0'+e)), Pieces: []program.Piece{
			{Param: "e", From: []int64{e, 0}, Extent: []int64{1, 5}, View: []int64{5}, Order: []int64{0}, Shape: []int64{5}}}})
	}
	return n
}

// tensors are what a folder of names has.
func tensors(d dtype.DType) []safetensors.Tensor {
	return []safetensors.Tensor{{Name: "top.qk", DType: d, Shape: []int64{3, 6}}, {Name: "top.e0", DType: d, Shape: []int64{5}},
		{Name: "top.e1", DType: d, Shape: []int64{5}}}
}

// write makes a file of tensors whose elements count up.
func write(t *testing.T, path string, list []safetensors.Tensor) {
	t.Helper()
	safetensorstest.Write(t, path, list, func(x *safetensors.Tensor) []float64 {
		v := make([]float64, x.Bytes()/int64(x.DType.Size()))
		for i := range v {
			v[i] = float64(i + 1)
		}
		return v
	})
}

func read(t *testing.T, path, name string) []float64 {
	t.Helper()
	v, ok := safetensorstest.Floats(t, path)[name]
	if !ok {
		t.Fatalf("%s lacks %s", path, name)
	}
	return v
}

func importFrom(t *testing.T, dir string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "init.safetensors")
	f, err := Open(dir)
	if err != nil {
		return path, err
	}
	defer f.Close()
	return path, Import(f, names(), path)
}

func TestImport(t *testing.T) {
	for _, d := range []dtype.DType{dtype.F32, dtype.F16, dtype.BF16} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, wholeFile), append(tensors(d), safetensors.Tensor{Name: "top.12.mask", DType: dtype.U8, Shape: []int64{1}}))
		path, err := importFrom(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][]float64{
			// Column c of qk, 1 to 4 of each row of 6, is row 2·(c mod 2) + c/2 of q.
			"q": {1, 7, 13, 3, 9, 15, 2, 8, 14, 4, 10, 16},
			"k": {5, 6, 11, 12, 17, 18},
			"e": {1, 2, 3, 4, 5, 1, 2, 3, 4, 5},
		} {
			if diff := cmp.Diff(want, read(t, path, name)); diff != "" {
				t.Errorf("%v: %s: %s", d, name, diff)
			}
		}
	}
}

func TestPrefixMayLack(t *testing.T) {
	dir := t.TempDir()
	list := tensors(dtype.F32)
	for i := range list {
		list[i].Name = strings.TrimPrefix(list[i].Name, "top.")
	}
	write(t, filepath.Join(dir, wholeFile), append(list, safetensors.Tensor{Name: "0.mask", DType: dtype.F32}))
	if _, err := importFrom(t, dir); err != nil {
		t.Error(err)
	}
}

// TestTiedOutput: an output that a file has besides an embedding which is the output has to
// be it, as transformers would take another one.
func TestTiedOutput(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		first float64
		name  string
		want  string
	}{{[]int64{3, 6}, 1, "lm_head.weight", ""}, {[]int64{3, 6}, 2, "lm_head.weight", "lm_head.weight is not the embedding"},
		{[]int64{6, 3}, 1, "lm_head.weight", "is not the embedding"}, {[]int64{3, 6}, 1, "top.out", ""},
		{[]int64{3, 6}, 2, "top.out", "top.out is not the embedding"}, {[]int64{3, 6}, 2, "top.3.mask", ""}} {
		dir := t.TempDir()
		list := append(tensors(dtype.F32), safetensors.Tensor{Name: c.name, DType: dtype.F32, Shape: c.shape})
		safetensorstest.Write(t, filepath.Join(dir, wholeFile), list, func(x *safetensors.Tensor) []float64 {
			v := make([]float64, x.Bytes()/4)
			if v[0] = 1; x.Name == c.name {
				v[0] = c.first
			}
			return v
		})
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		n := names()
		n.Skip = append(n.Skip, "lm_head.weight", "top.out")
		err = Import(f, n, filepath.Join(t.TempDir(), "init.safetensors"))
		f.Close()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v from %g on: %v, want %q", c.shape, c.first, err, c.want)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(list []safetensors.Tensor) []safetensors.Tensor
		want   string
	}{
		"missing": {func(l []safetensors.Tensor) []safetensors.Tensor { return l[:2] }, "lacks top.e1"},
		"extra": {func(l []safetensors.Tensor) []safetensors.Tensor {
			return append(l, safetensors.Tensor{Name: "top.mask", DType: dtype.F32})
		}, "does not: top.mask"},
		"shape": {func(l []safetensors.Tensor) []safetensors.Tensor { l[0].Shape = []int64{6, 3}; return l }, "[6 3], but the model's is [3 6]"},
		"dtype": {func(l []safetensors.Tensor) []safetensors.Tensor { l[0].DType = dtype.I32; return l }, "I32; expected F32"},
		"mixed": {func(l []safetensors.Tensor) []safetensors.Tensor { l[2].DType = dtype.F16; return l }, "parts of one parameter"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, wholeFile), c.change(tensors(dtype.F32)))
		path, err := importFrom(t, dir)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: a file is left", name)
		}
	}
}

func TestShards(t *testing.T) {
	dir := t.TempDir()
	list := tensors(dtype.F32)
	write(t, filepath.Join(dir, "a.safetensors"), list[:1])
	write(t, filepath.Join(dir, "b.safetensors"), list[1:])
	index := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, indexFile), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	index(`{"weight_map": {"top.qk": "a.safetensors", "top.e0": "b.safetensors"}}`)
	if _, err := importFrom(t, dir); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(dir, "b.safetensors"), list)
	for text, want := range map[string]string{
		`{"weight_map": {"top.qk": "a.safetensors", "top.e0": "b.safetensors"}}`: "in another file as well",
		`{"weight_map": {"top.qk": "../a.safetensors"}}`:                         "is not a file of this folder",
		`{"weight_map": {}}`: "0 shards",
		`[]`:                 "not an index",
		`{"weight_map": {"top.qk": "none.safetensors"}}`: "none.safetensors",
	} {
		index(text)
		if _, err := importFrom(t, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestTruncated(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, wholeFile)
	write(t, path, tensors(dtype.F32))
	if err := os.Truncate(path, 150); err != nil {
		t.Fatal(err)
	}
	if _, err := importFrom(t, dir); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("half a file: %v", err)
	}
}

// What was imported and is exported is what was there, in any number of files.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, wholeFile), tensors(dtype.BF16))
	path, err := importFrom(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	src, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for _, o := range []Options{{}, {Shard: 1}, {DType: dtype.F32, Shard: 50}} {
		out := filepath.Join(t.TempDir(), "out")
		if err := Export(src, names(), out, o); err != nil {
			t.Fatal(err)
		}
		f, err := Open(out)
		if err != nil {
			t.Fatal(err)
		}
		if o.Shard == 1 && len(f.files) != 3 {
			t.Errorf("%d files, not 3", len(f.files))
		}
		for _, x := range tensors(dtype.BF16) {
			file := f.at[x.Name]
			data := make([]byte, file.Find(x.Name).Bytes())
			if err := file.ReadSlice(x.Name, safetensors.Slice{}, data); err != nil {
				t.Fatal(err)
			}
			v := make([]float64, elems(x.Shape))
			file.Find(x.Name).DType.Decode(v, data)
			for i := range v {
				if v[i] != float64(i+1) {
					t.Fatalf("%s is %v", x.Name, v)
				}
			}
		}
		f.Close()
		c, err := ReadConfig(out)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(names()); err != nil {
			t.Error(err)
		}
		if _, there := c["kind"]; there {
			t.Error("a default is written")
		}
		if err := Export(src, names(), out, o); err == nil {
			t.Error("a folder that is not empty is written to")
		}
	}
	n := names()
	n.Refuse = "a window"
	if err := Export(src, n, filepath.Join(dir, "no"), Options{}); err == nil || !strings.Contains(err.Error(), "a window") {
		t.Errorf("what is refused: %v", err)
	}
	n = names()
	n.Tensors[0].Pieces[0].From[0] = 1
	if err := Export(src, n, filepath.Join(dir, "no"), Options{}); err == nil || !strings.Contains(err.Error(), "from [1 0] on") {
		t.Errorf("a slice beyond the parameter: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".no*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// permute is the definition: the element at a place is that at the place with its
// coordinates in the other order.
func TestPermute(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 300 {
		rank := 1 + r.Intn(4)
		view, order := make([]int64, rank), make([]int64, rank)
		for i, o := range r.Perm(rank) {
			view[i], order[i] = int64(1+r.Intn(4)), int64(o)
		}
		size := []int{2, 4, 8}[r.Intn(3)]
		src := make([]byte, int(elems(view))*size)
		r.Read(src)
		dst := make([]byte, len(src))
		permute(dst, src, size, view, order)
		for k := range int(elems(view)) {
			at, rest := make([]int64, rank), int64(k)
			for i := rank - 1; i >= 0; i-- {
				at[order[i]] = rest % view[order[i]]
				rest /= view[order[i]]
			}
			from := int64(0)
			for i := range rank {
				from = from*view[i] + at[i]
			}
			if string(dst[k*size:(k+1)*size]) != string(src[int(from)*size:(int(from)+1)*size]) {
				t.Fatalf("element %d of %v in order %v", k, view, order)
			}
		}
		p := &program.Piece{View: view, Order: order}
		v, o := inverse(p)
		back := make([]byte, len(src))
		permute(back, dst, size, v, o)
		if string(back) != string(src) {
			t.Fatalf("%v in order %v does not go back", view, order)
		}
	}
}

// The first bytes of a GGUF file, by the format's definition.
func TestGGUF(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, wholeFile), tensors(dtype.F16))
	path, err := importFrom(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	src, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	n := names()
	n.Keys = []program.Key{{Names: []string{"a"}, Value: "7"}, {Names: []string{"b"}, Value: "0.5"}, {Names: []string{"c"}, Value: "true"}}
	n.PlusOne = ".e0"
	out := filepath.Join(dir, "m.gguf")
	if _, err := ExportGGUF(src, n, nil, out, Options{}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	if string(b[:4]) != "GGUF" || le.Uint32(b[4:]) != 3 || le.Uint64(b[8:]) != 3 || le.Uint64(b[16:]) != 6 || len(b)%32 != 0 {
		t.Errorf("the file begins with %q and has %d bytes", b[:24], len(b))
	}
	// At the end are e0 and e1, vectors and so of f32, each 20 bytes in 32.
	for i := range 5 {
		if x := le.Uint32(b[len(b)-32+4*i:]); x != [5]uint32{0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40a00000}[i] {
			t.Errorf("element %d of e1 is %x", i, x)
		}
		if x := math.Float32frombits(le.Uint32(b[len(b)-64+4*i:])); x != float32(i+2) {
			t.Errorf("element %d of e0, to which 1 is added, is %g", i, x)
		}
	}
	// Before them is qk in f16, row-major: 36 bytes in 64.
	for i := range 18 {
		var v [1]float64
		dtype.F16.Decode(v[:], b[len(b)-128+2*i:])
		if v[0] != float64(i+1) {
			t.Errorf("element %d of qk is %v", i, v[0])
		}
	}
}

// TestOpenSaysHowToConvert: of a folder with parameters in another form the error says which files
// are read, and how to get them.
func TestOpenSaysHowToConvert(t *testing.T) {
	for _, name := range []string{"", "pytorch_model.bin", "pytorch_model.bin.index.json"} {
		dir := t.TempDir()
		if name != "" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Open(dir)
		if err == nil || name == "" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: %v", name, err)
		}
		if has := err != nil && strings.Contains(err.Error(), "save_pretrained(DIR, safe_serialization=True)"); has != (name != "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
