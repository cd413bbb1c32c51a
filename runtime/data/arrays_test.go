package data

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
)

const arrayCount = 40 // rows

// arrayOptions name a file of u8, [40, 4, 5], and one of f32, [40, 3].
func arrayOptions(t testing.TB, opts ...Option) []Option {
	t.Helper()
	dir := writeFiles(t, map[string][]byte{
		"x.npy": npyFile("|u1", "40, 4, 5", imageBytes()),
		"y.npy": npyFile("<f4", "40, 3", floatBytes(5, arrayCount*3)),
	})
	return append([]Option{{"x_file", dir + "/x.npy"}, {"y_file", dir + "/y.npy"}, {"valid", "0.25"}}, opts...)
}

func imageBytes() []byte {
	r := rand.New(rand.NewPCG(4, 1))
	raw := make([]byte, arrayCount*20)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	for row := range arrayCount {
		raw[row*20] = byte(row) // says which it is
	}
	return raw
}

func floatBytes(seed uint64, n int) (raw []byte) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(r.NormFloat64())))
	}
	return raw
}

// TestArrays: rows of both files go together, each once in an epoch, and those that are held
// out are others, the same with every seed.
func TestArrays(t *testing.T) {
	const batch = 6
	b := Batch{Size: batch, Seed: 3, Fields: []Field{{"x", F32, []int{batch, 4, 5}}, {"y", F32, []int{batch, 3}}}}
	s := openT(t, "arrays", b, arrayOptions(t, Option{"scale", "0.5"})...)
	images, labels := imageBytes(), floatBytes(5, arrayCount*3)
	check := func(views []View, row int) int {
		t.Helper()
		n := int(views[0].F32[row*20] * 2)
		for i := range 20 {
			if views[0].F32[row*20+i] != float32(images[n*20+i])/2 {
				t.Fatalf("row %d: element %d is %v", n, i, views[0].F32[row*20+i])
			}
		}
		for i := range 3 {
			if math.Float32bits(views[1].F32[row*3+i]) != binary.LittleEndian.Uint32(labels[(n*3+i)*4:]) {
				t.Fatalf("row %d has another label", n)
			}
		}
		return n
	}
	seen := map[int]int{}
	for step := range int64(5) { // an epoch of 30 rows
		views := fillT(t, s, step+1)
		for row := range batch {
			seen[check(views, row)]++
		}
	}
	if len(seen) != 30 {
		t.Errorf("an epoch has %d rows", len(seen))
	}
	b.Seed = 9
	other := openT(t, "arrays", b, arrayOptions(t, Option{"scale", "0.5"})...)
	views := whole(other)
	if err := heldOut(other, 0, views); err != nil || heldBatches(other) != 1 {
		t.Fatal(err, heldBatches(other))
	}
	for row := range batch {
		if n := check(views, row); seen[n] > 0 {
			t.Errorf("row %d is held out, and trained on with another seed", n)
		}
	}
	if s.Fingerprint() != other.Fingerprint() {
		t.Error("the seed is in the fingerprint")
	}
	seq, err := sequential("arrays", arrayOptions(t), b)
	if err != nil || seq.Examples() != arrayCount {
		t.Fatal(err)
	}
	if n := int(fillT(t, seq, 2)[0].F32[0]); n != batch {
		t.Errorf("the first row of step 2 is %d", n)
	}
}

// TestArrayTypes: every type gives its numbers, in .npy and in safetensors.
func TestArrayTypes(t *testing.T) {
	const n = 5
	dir := t.TempDir()
	values := []float64{0, 1, 3, 96, 100}
	raw := func(d dtype.DType) (out []byte) {
		for _, v := range values {
			switch d {
			case dtype.F32:
				out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v)))
			case dtype.F64:
				out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
			case dtype.BF16:
				out = binary.LittleEndian.AppendUint16(out, dtype.ToBF16(float32(v)))
			case dtype.F16:
				out = binary.LittleEndian.AppendUint16(out, dtype.ToF16(float32(v)))
			default:
				out = append(out, binary.LittleEndian.AppendUint64(nil, uint64(v))[:d.Size()]...)
			}
		}
		return out
	}
	types := []dtype.DType{dtype.BF16, dtype.F16, dtype.F32, dtype.F64, dtype.I32, dtype.I64, dtype.U8}
	var tensors []safetensors.Tensor
	for _, d := range types {
		tensors = append(tensors, safetensors.Tensor{Name: d.String(), DType: d, Shape: []int64{n}})
	}
	err := safetensors.WriteFile(dir+"/all.safetensors", tensors, nil, func(w *safetensors.Writer) error {
		for _, d := range types {
			if err := w.WriteSlice(d.String(), safetensors.Slice{}, raw(d)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range types {
		b := Batch{Size: n, Fields: []Field{{"x", F32, []int{n}}}}
		s := openT(t, "arrays", b, Option{"x_file", dir + "/all.safetensors:" + d.String()}, Option{"valid", "0"}, Option{"shuffle", "false"})
		got := fillT(t, s, 1)[0].F32
		if !slices.EqualFunc(got, values, func(a float32, b float64) bool { return float64(a) == b }) {
			t.Errorf("%s: %v", d, got)
		}
	}
}

func TestArrayErrors(t *testing.T) {
	big := binary.LittleEndian.AppendUint64(nil, 1<<40)
	dir := writeFiles(t, map[string][]byte{
		"x.npy":              npyFile("<f4", "4, 2", floatBytes(1, 8)),
		"few.npy":            npyFile("<f4", "3, 2", floatBytes(1, 6)),
		"big.npy":            npyFile("<i8", "1", big),
		"none.npy":           npyFile("<f4", "0, 2", nil),
		"short.npy":          npyFile("<f4", "4, 2", nil),
		"broken.npy":         []byte("no array"),
		"broken.safetensors": []byte("no tensors"),
	})
	x := []Field{{"x", F32, []int{2, 2}}}
	for _, c := range []struct {
		want   string
		fields []Field
		opts   []Option
	}{
		{"no files are given", nil, nil},
		{`no file for the field "x"`, x, nil},
		{"2 match", x, []Option{{"x_file", dir + "/{x,few}.npy"}}},
		{"has the shape [4 2]", []Field{{"x", F32, []int{2, 3}}}, []Option{{"x_file", dir + "/x.npy"}}},
		{"not integers", []Field{{"x", I32, []int{2, 2}}}, []Option{{"x_file", dir + "/x.npy"}}},
		{"has 4 rows", nil, []Option{{"x_file", dir + "/few.npy"}, {"y_file", dir + "/x.npy"}}},
		{"no rows", nil, []Option{{"x_file", dir + "/none.npy"}}},
		{"needs", nil, []Option{{"x_file", dir + "/short.npy"}}},
		{"no .npy file", nil, []Option{{"x_file", dir + "/broken.npy"}}},
		{"cannot be used", nil, []Option{{"x_file", dir + "/broken.safetensors:x"}}},
		{"holds out none", nil, []Option{{"x_file", dir + "/x.npy"}, {"valid", "0.01"}}},
		{"no option", nil, []Option{{"x_file", dir + "/x.npy"}, {"z", "1"}}},
	} {
		_, err := Open("arrays", c.opts, Batch{Size: 2, Fields: c.fields})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, and %q is expected", err, c.want)
		}
	}
	s := openT(t, "arrays", Batch{Size: 1}, Option{"y_file", dir + "/big.npy"})
	if err := s.Fill(1, whole(s)); err == nil || !strings.Contains(err.Error(), "does not fit i32") {
		t.Errorf("%v", err)
	}
}
