package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc/internal/dtype"
)

// memory is a file in memory.
type memory struct{ b []byte }

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(m.b) {
		m.b = append(m.b, make([]byte, need-len(m.b))...)
	}
	return copy(m.b[off:], p), nil
}

// raw is a file with the header and so many bytes of data.
func raw(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func read(b []byte) (*Reader, error) { return NewReader(bytes.NewReader(b), int64(len(b))) }

// TestNullMetadata: a program that has no metadata may say so.
func TestNullMetadata(t *testing.T) {
	for _, sep := range []string{"", " ", "\n\t "} {
		r, err := read(raw(`{"__metadata__"`+sep+":"+sep+`null,"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1))
		if err != nil || r.Find("a") == nil || len(r.Metadata()) != 0 {
			t.Errorf("%q: %v", sep, err)
		}
	}
	for _, text := range []string{`{"__metadata__":nul}`, `{"__metadata__":nullx}`, `{"__metadata__" null}`, `{"__metadata__":`, `{"__metadata__":null,"__metadata__":null}`} {
		if _, err := read(raw(text, 0)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

func TestWriterGivesKnownBytes(t *testing.T) {
	var m memory
	w, err := NewWriter(&m, []Tensor{
		{Name: "z", DType: dtype.U8, Shape: []int64{3}},
		{Name: "a", DType: dtype.I32, Shape: nil},
		{Name: "m", DType: dtype.F64, Shape: []int64{1, 0}},
	}, map[string]string{"k": "v", "b": "<"})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"z": {1, 2, 3}, "a": {4, 0, 0, 0}, "m": {}} {
		if err := w.WriteSlice(name, Slice{}, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	header := `{"__metadata__":{"b":"\u003c","k":"v"},` +
		`"a":{"dtype":"I32","shape":[],"data_offsets":[0,4]},` +
		`"m":{"dtype":"F64","shape":[1,0],"data_offsets":[0,0]},` +
		`"z":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}}`
	header += strings.Repeat(" ", (8-len(header)%8)%8)
	want := append(raw(header, 0), 4, 0, 0, 0, 1, 2, 3)
	if !bytes.Equal(m.b, want) || w.Size() != int64(len(want)) {
		t.Fatalf("wrote\n%q, want\n%q", m.b, want)
	}
	r, err := read(m.b)
	if err != nil {
		t.Fatal(err)
	}
	if r.Metadata()["b"] != "<" || len(r.Tensors()) != 3 || r.Find("none") != nil {
		t.Errorf("read back %v %v", r.Metadata(), r.Tensors())
	}
}

func TestReaderRejects(t *testing.T) {
	tensor := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"a":{"dtype":%q,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
	}
	long := strings.Repeat("1,", 40) + "1"
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "0 bytes"},
		{"short length", []byte{1, 0}, "2 bytes"},
		{"huge header", binary.LittleEndian.AppendUint64(nil, 1<<63+5), "the format allows"},
		{"header beyond the file", append(binary.LittleEndian.AppendUint64(nil, 99), '{'), "claims 99"},
		{"no object", raw(`[]`, 0), "start with {"},
		{"space first", raw(` {}`, 0), "start with {"},
		{"cut JSON", raw(`{"a":`, 0), "not valid JSON"},
		{"trailing comma", raw(`{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},}`, 1), "JSON"},
		{"text after", raw(`{}x`, 0), "has text after"},
		{"not UTF-8", raw("{\"\xff\":1}", 0), "UTF-8"},
		{"tensor is a number", raw(`{"a":1}`, 0), "1 instead of {"},
		{"duplicate tensor", raw(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0), "twice"},
		{"duplicate field", raw(`{"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1), "dtype occurs twice"},
		{"unknown field", raw(`{"a":{"Dtype":"U8"}}`, 1), `"Dtype" is not known`},
		{"missing field", raw(`{"a":{"dtype":"U8","shape":[]}}`, 1), "it needs"},
		{"unknown dtype", raw(tensor("F8", "[]", "[0,1]"), 1), `"F8" is not known`},
		{"negative size", raw(tensor("U8", "[-1]", "[0,1]"), 1), "-1"},
		{"fraction", raw(tensor("U8", "[1.0]", "[0,1]"), 1), "1.0"},
		{"exponent", raw(tensor("U8", "[1e0]", "[0,1]"), 1), "1e0"},
		{"rank", raw(tensor("U8", "["+long+"]", "[0,1]"), 1), "more than 32"},
		{"overflow", raw(tensor("F64", "[4294967296,4294967296]", "[0,0]"), 0), "overflows"},
		{"overflow by the element", raw(tensor("F64", "[2305843009213693952]", "[0,0]"), 0), "overflows"},
		{"reversed offsets", raw(tensor("U8", "[1]", "[1,0]"), 1), "takes 1 bytes"},
		{"wrong size", raw(tensor("F32", "[2]", "[0,4]"), 4), "takes 8 bytes"},
		{"beyond the file", raw(tensor("U8", "[9]", "[0,9]"), 8), "end at 9"},
		{"truncated data", raw(tensor("U8", "[9]", "[0,9]"), 9)[:66], "bytes of data"},
		{"more data", raw(tensor("U8", "[1]", "[0,1]"), 2), "has 2 bytes"},
		{"gap", raw(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3), "before it ends at 1"},
		{"overlap", raw(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3), "ends at 2"},
		{"metadata number", raw(`{"__metadata__":{"a":1}}`, 0), "instead of a string"},
		{"metadata twice", raw(`{"__metadata__":{"a":"1","a":"2"}}`, 0), "twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.file)
			var se *Error
			if !errors.As(err, &se) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want *Error with %q", err, c.want)
			}
		})
	}
	if _, err := read(raw(tensor("U8", "[1]", "[0,1]")+"   ", 1)); err != nil {
		t.Errorf("a padded header is refused: %v", err)
	}
}

// A header that claims much must not make the reader reserve much.
func TestReaderDoesNotTrustClaims(t *testing.T) {
	file := raw(`{"a":{"dtype":"F64","shape":[100000000],"data_offsets":[0,800000000]}}`, 4)
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, err := read(file); err == nil {
				b.Fatal("accepted")
			}
		}
	})
	if n := r.AllocedBytesPerOp(); n > 1<<16 {
		t.Errorf("%d bytes for a file of %d", n, len(file))
	}
}

// iota8 is a tensor whose element i is i, as bytes.
func iota32(n int) []byte {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

// cutBox takes a slice by definition: element by element.
func cutBox(whole []byte, shape []int64, s Slice) []byte {
	var out []byte
	for i := int64(0); i < int64(len(whole)/4); i++ {
		rest, in := i, true
		for a := len(shape) - 1; a >= 0; a-- {
			x := rest % shape[a]
			rest /= shape[a]
			in = in && x >= s.Offset[a] && x < s.Offset[a]+s.Extent[a]
		}
		if in {
			out = append(out, whole[4*i:4*i+4]...)
		}
	}
	return out
}

// boxes cuts a shape at one place on each axis into 2^rank slices.
func boxes(shape []int64, cut func(axis int) int64) []Slice {
	out := []Slice{{[]int64{}, []int64{}}}
	for a, n := range shape {
		var next []Slice
		for _, s := range out {
			c := cut(a)
			next = append(next,
				Slice{append(slices.Clone(s.Offset), 0), append(slices.Clone(s.Extent), c)},
				Slice{append(slices.Clone(s.Offset), c), append(slices.Clone(s.Extent), n-c)})
		}
		out = next
	}
	return out
}

// Written in the slices of one layout, read in those of others.
func TestSlicesUnderOtherLayouts(t *testing.T) {
	for _, shape := range [][]int64{{}, {7}, {5, 6}, {3, 4, 5}, {2, 3, 2, 3}, {600, 700}} {
		n := 1
		for _, d := range shape {
			n *= int(d)
		}
		whole := iota32(n)
		var m memory
		w, err := NewWriter(&m, []Tensor{{Name: "t", DType: dtype.I32, Shape: shape}, {Name: "s", DType: dtype.U8, Shape: []int64{1}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		parts := boxes(shape, func(a int) int64 { return shape[a] / 2 })
		slices.Reverse(parts)
		for _, s := range parts {
			if err := w.WriteSlice("t", s, cutBox(whole, shape, s)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.WriteSlice("s", Slice{}, []byte{1}); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		r, err := read(m.b)
		if err != nil {
			t.Fatal(err)
		}
		layouts := boxes(shape, func(a int) int64 { return (shape[a] + 2) / 3 })
		for _, s := range append(layouts, Slice{make([]int64, len(shape)), shape}) {
			want := cutBox(whole, shape, s)
			got := make([]byte, len(want))
			if err := r.ReadSlice("t", s, got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("slice %v of %v differs", s, shape)
			}
		}
	}
}

func TestWriterRejects(t *testing.T) {
	good := Tensor{Name: "a", DType: dtype.F32, Shape: []int64{4, 2}}
	for _, c := range []struct {
		ts   []Tensor
		meta map[string]string
		want string
	}{
		{[]Tensor{good, good}, nil, "twice"},
		{[]Tensor{{Name: "__metadata__", DType: dtype.U8}}, nil, "not a valid name"},
		{[]Tensor{{Name: "\xff", DType: dtype.U8}}, nil, "not a valid name"},
		{[]Tensor{{Name: "a"}}, nil, "no element type"},
		{[]Tensor{{Name: "a", DType: dtype.U8, Shape: []int64{0, -1}}}, nil, "negative"},
		{[]Tensor{{Name: "a", DType: dtype.F64, Shape: []int64{1 << 60}}}, nil, "overflows"},
		{[]Tensor{{Name: "a", DType: dtype.U8, Shape: []int64{1 << 61}}, {Name: "b", DType: dtype.U8, Shape: []int64{1<<61 + 1}}}, nil, "largest offset"},
		{nil, map[string]string{"a": "\xff"}, "UTF-8"},
	} {
		if _, err := NewWriter(&memory{}, c.ts, c.meta); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.ts, err, c.want)
		}
	}
	w, err := NewWriter(&memory{}, []Tensor{good}, nil)
	if err != nil {
		t.Fatal(err)
	}
	half := Slice{[]int64{0, 0}, []int64{2, 2}}
	if err := w.WriteSlice("a", half, make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"overlaps slice":  w.WriteSlice("a", Slice{[]int64{1, 1}, []int64{2, 1}}, make([]byte, 8)),
		"leaves":          w.WriteSlice("a", Slice{[]int64{3, 0}, []int64{2, 2}}, make([]byte, 16)),
		"another rank":    w.WriteSlice("a", Slice{[]int64{3}, []int64{1}}, make([]byte, 4)),
		"takes 16 bytes":  w.WriteSlice("a", Slice{[]int64{2, 0}, []int64{2, 2}}, make([]byte, 15)),
		"not in the list": w.WriteSlice("b", Slice{}, nil),
		"has 16 of":       w.Finish(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// failing fails at the n-th write.
type failing struct {
	io.WriterAt
	n int
}

var errFull = errors.New("no space left")

func (f *failing) WriteAt(p []byte, off int64) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errFull
	}
	return f.WriterAt.WriteAt(p, off)
}

func TestWriterReportsEveryFailedWrite(t *testing.T) {
	write := func(n int) error {
		w, err := NewWriter(&failing{&memory{}, n}, []Tensor{{Name: "a", DType: dtype.U8, Shape: []int64{3, 4}}}, nil)
		if err != nil {
			return err
		}
		for _, s := range boxes([]int64{3, 4}, func(int) int64 { return 1 }) {
			if err := w.WriteSlice("a", s, make([]byte, s.Extent[0]*s.Extent[1])); err != nil {
				return err
			}
		}
		return w.Finish()
	}
	for n := range 7 { // the header, and 1 + 1 + 2 + 2 runs
		if err := write(n); !errors.Is(err, errFull) {
			t.Errorf("failure of write %d gives %v", n, err)
		}
	}
	if err := write(7); err != nil {
		t.Error(err)
	}
}

func TestWriteFileKeepsTheOldOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	ts := []Tensor{{Name: "a", DType: dtype.U8, Shape: []int64{2}}}
	save := func(b ...byte) error {
		return WriteFile(path, ts, nil, func(w *Writer) error { return w.WriteSlice("a", Slice{}, b) })
	}
	if err := save(1, 2); err != nil {
		t.Fatal(err)
	}
	if err := save(1, 2, 3); err == nil {
		t.Fatal("accepted")
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, 2)
	if err := f.ReadSlice("a", Slice{}, got); err != nil || got[1] != 2 {
		t.Errorf("the old file has %v (%v)", got, err)
	}
	if es, _ := os.ReadDir(filepath.Dir(path)); len(es) != 1 {
		t.Errorf("left behind: %v", es)
	}
}

// FuzzSafetensors holds the reader to its promise: what it accepts can be read
// to the last byte, and written again as an equal file.
func FuzzSafetensors(f *testing.F) {
	f.Add(raw(`{}`, 0))
	f.Add(raw(`{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}}  `, 9))
	f.Add(raw(`{"__metadata__":null,"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1))
	f.Add(raw(`{"__metadata__":{"k":"v"},"a":{"dtype":"BF16","shape":[0,9],"data_offsets":[0,0]}}`, 0))
	f.Add(raw(`{"a":{"dtype":"I64","shape":[4611686018427387903,4],"data_offsets":[0,1]}}`, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := read(b)
		if err != nil {
			var se *Error
			if !errors.As(err, &se) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		var m memory
		w, err := NewWriter(&m, r.Tensors(), r.Metadata())
		if err != nil {
			t.Fatal(err)
		}
		data := map[string][]byte{}
		for _, x := range r.Tensors() {
			data[x.Name] = make([]byte, x.Bytes())
			if err := r.ReadSlice(x.Name, Slice{}, data[x.Name]); err != nil {
				t.Fatal(err)
			}
			if err := w.WriteSlice(x.Name, Slice{}, data[x.Name]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		again, err := read(m.b)
		if err != nil {
			t.Fatalf("written again: %v", err)
		}
		for _, x := range again.Tensors() {
			got := make([]byte, x.Bytes())
			if err := again.ReadSlice(x.Name, Slice{}, got); err != nil || !bytes.Equal(got, data[x.Name]) {
				t.Fatalf("%s changed (%v)", x.Name, err)
			}
			if x.Offset%int64(x.DType.Size()) != 0 {
				t.Fatalf("%s is not aligned", x.Name)
			}
		}
	})
}
