package data

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// orderedFile is a .npy file with this header and body.
func orderedFile(descr, order, shape string, body []byte) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
	return append(append(binary.LittleEndian.AppendUint16([]byte(npyMagic+"\x01\x00"), uint16(len(header))), header...), body...)
}

func put(t *testing.T, dir, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Arrays in Fortran's order and of the other order of bytes have the same elements, whatever
// shape and type.
func TestForeignOrders(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	types := map[string]int{"f4": 4, "f8": 8, "i4": 4, "i2": 2, "u1": 1, "i8": 8}
	for range 60 {
		rank := 1 + r.Intn(4)
		var shape []int64
		n, text := 1, "("
		for range rank {
			d := 1 + r.Intn(5)
			shape, n = append(shape, int64(d)), n*d
			text += fmt.Sprint(d, ", ")
		}
		text += ")"
		for kind, width := range types {
			big, column := r.Intn(2) == 1, r.Intn(2) == 1
			body := make([]byte, n*width)
			for at := range n { // in our order
				place, rest, stride := 0, at, n
				if column {
					place, stride = 0, 1
					index := make([]int, rank)
					for d := rank - 1; d >= 0; d-- {
						index[d], rest = rest%int(shape[d]), rest/int(shape[d])
					}
					for d := range rank {
						place += index[d] * stride
						stride *= int(shape[d])
					}
				} else {
					place = at
				}
				bits := uint64(at % 100)
				switch kind {
				case "f4":
					bits = uint64(math.Float32bits(float32(at % 100)))
				case "f8":
					bits = math.Float64bits(float64(at % 100))
				}
				for b := range width {
					to := b
					if big {
						to = width - 1 - b
					}
					body[place*width+to] = byte(bits >> (8 * b))
				}
			}
			order, sign := "False", "<"
			if column {
				order = "True"
			}
			if big {
				sign = ">"
			}
			if width == 1 {
				sign = "|"
			}
			path := put(t, t.TempDir(), "a.npy", orderedFile(sign+kind, order, text, body))
			a, err := openArray(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float32, n)
			if err := a.elements(0, 0, n, nil, got); err != nil {
				t.Fatal(err)
			}
			for i, x := range got {
				if x != float32(i%100) {
					t.Fatalf("%s%s of shape %v, order %s: element %d is %g", sign, kind, shape, order, i, x)
				}
			}
		}
	}
	// One axis is in both orders.
	path := put(t, t.TempDir(), "t.npy", orderedFile(">u2", "True", "(3,)", []byte{0, 1, 0, 2, 1, 0}))
	ids, total, err := ReadTokens([]string{path}, "auto", 0, 3)
	if err != nil || total != 3 || fmt.Sprint(ids) != "[1 2 256]" {
		t.Errorf("%v of %d: %v", ids, total, err)
	}
}

// A header that claims more than there is, or rows that cannot be put together, is an error.
func TestForeignClaims(t *testing.T) {
	if _, err := readNPY(orderedFile(">f4", "True", "(1000000, 1000000)", nil), 1000); err == nil {
		t.Error("an array that is not there is read")
	}
	a := &array{dtype: "f64", shape: []int64{2, 1 << 40}, column: true}
	if _, err := a.spool(strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "np.ascontiguousarray") {
		t.Error(err)
	}
	a = &array{dtype: "f64", shape: []int64{3, 2}, column: true}
	if _, err := a.spool(strings.NewReader("12345678")); err == nil {
		t.Error("a file that became shorter is read")
	}
}

// Files that do not say what they are in full are errors with what to do about it.
func TestUncertainTokens(t *testing.T) {
	dir := t.TempDir()
	llmc := make([]byte, llmcHeader+8)
	binary.LittleEndian.PutUint32(llmc, llmcGPT2)
	binary.LittleEndian.PutUint32(llmc[4:], 2)
	binary.LittleEndian.PutUint32(llmc[8:], 4)
	u16 := []byte{1, 0, 2, 0, 3, 0, 4, 0}
	for _, c := range []struct {
		name, dtype string
		text        []byte
		vocab       int
		want        string
	}{
		{"raw.bin", "auto", u16, 65536, ""},
		{"raw.bin", "auto", u16, 65537, "give dtype = u32"},
		{"raw.bin", "u16", u16, 65537, ""},
		{"llmc.bin", "auto", llmc, 0, "version 2, and version 1"},
		{"short.bin", "auto", llmc[:100], 0, "begins as a file of llm.c"},
		{"wiki_text_document.bin", "auto", u16, 0, "its index .idx is not next to it"},
		{"wiki_text_document.bin", "u16", u16, 0, ""},
	} {
		path := put(t, dir, c.name, c.text)
		s, err := openStore(textFile{path: path, name: c.name}, c.dtype, c.vocab)
		if err == nil && s.n != 4 {
			t.Errorf("%s: %d tokens", c.name, s.n)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as %s: %v, want %q", c.name, c.dtype, err, c.want)
		}
	}
}

// A file whose index is lost is not read as numbers among files that have theirs.
func TestLostIndex(t *testing.T) {
	dir := t.TempDir()
	a := put(t, dir, "a.bin", []byte{1, 0, 2, 0})
	put(t, dir, "a.idx", megatronIndexFile(8, 2, 2))
	b := put(t, dir, "b.bin", []byte{3, 0, 4, 0})
	if _, _, err := ReadTokens([]string{a, b}, "auto", 0, 4); err == nil || !strings.Contains(err.Error(), "b.bin: its index .idx is not next to it, and that of "+a) {
		t.Error(err)
	}
	if ids, _, err := ReadTokens([]string{a, b}, "u16", 0, 4); err != nil || fmt.Sprint(ids) != "[1 2 3 4]" {
		t.Error(ids, err)
	}
}

// A name with brackets that is there is a name, and a pattern stays one.
func TestBrackets(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x[1].bin", "x2.bin", "run[a]/1.bin", "run[a]/2.bin", "{v}/w[0]/3.bin"} {
		put(t, dir, name, []byte("ab"))
	}
	t.Setenv("PTC_TEST_DIR", filepath.Join(dir, "run[a]"))
	for pattern, want := range map[string]string{
		"x[1].bin": "x[1].bin", "x[23].bin": "x2.bin", "x[a-z].bin": "", "run[a]/1.bin": "1.bin", "run[a]/*.bin": "1.bin 2.bin",
		"run[a]": "1.bin 2.bin", "{v}/w[0]/*": "3.bin", "{v}/w[0]": "3.bin", "x{2,3}.bin": "x2.bin", "*[1].bin": "",
		"${PTC_TEST_DIR}/2.bin": "2.bin", "${PTC_TEST_DIR}": "1.bin 2.bin",
	} {
		if !strings.HasPrefix(pattern, "$") {
			pattern = filepath.ToSlash(dir) + "/" + pattern
		}
		files, err := findFiles([]string{pattern}, nil, nil)
		var got []string
		for _, f := range files {
			got = append(got, filepath.Base(f.rel))
		}
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%s: %v, %v; want %s", pattern, got, err, want)
		}
	}
}

// Numbers that a model does not have are errors with their place.
func TestArrayNumbers(t *testing.T) {
	dir := t.TempDir()
	x := put(t, dir, "x.npy", orderedFile("|i1", "False", "(2, 2)", []byte{0, 1, 0xff, 4}))
	for _, c := range []struct{ least, below, want string }{
		{"", "5", ""}, {"-1", "5", ""}, {"", "4", "element 3 is 4, and the model takes numbers from 0 to 3 for the field `x`"},
		{"0", "5", "element 2 is -1, and the model takes numbers from 0 to 4 for the field `x` (`masked = true`"}, {"", "", ""},
	} {
		opts := []Option{{"x_file", x}, {"valid", "0"}, {"shuffle", "false"}}
		if c.least != "" {
			opts = append(opts, Option{"x_least", c.least})
		}
		if c.below != "" {
			opts = append(opts, Option{"x_below", c.below})
		}
		s, err := Open("arrays", opts, Batch{Size: 2})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Fill(1, []View{{I32: make([]int32, 4)}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The option below counts where the batch says nothing, or more.
func TestTokensBelow(t *testing.T) {
	path := put(t, t.TempDir(), "t.bin", []byte{1, 0, 2, 0, 3, 0, 4, 0})
	for _, c := range []struct {
		vocab int
		below string
		fails bool
	}{{0, "4", true}, {0, "5", false}, {9, "4", true}, {4, "9", true}, {5, "9", false}, {0, "", false}} {
		opts := []Option{{"files", path}, {"window", "3"}, {"valid", "0"}}
		if c.below != "" {
			opts = append(opts, Option{"below", c.below})
		}
		s, err := Open("tokens", opts, Batch{Size: 1, Vocab: c.vocab})
		if err == nil {
			err = s.Fill(1, []View{{I32: make([]int32, 3)}, {I32: make([]int32, 3)}})
		}
		if (err != nil) != c.fails {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Whatever a header says, an array is read within the file or refused, and put in order whole.
func FuzzNPY(f *testing.F) {
	f.Add(orderedFile(">f4", "True", "(2, 3)", make([]byte, 24)))
	f.Add(orderedFile(">i8", "False", "(0, 3)", nil))
	f.Add(orderedFile("<u2", "True", "(1, 99999999999, 0)", nil))
	f.Add(orderedFile("|b1", "True", "(3, 2, 1, 2)", make([]byte, 12)))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := readNPY(text[:min(len(text), maxNPYHeader)], int64(len(text)))
		if err != nil {
			return
		}
		elements := int64(1)
		for _, n := range a.shape {
			elements *= n
		}
		bytes := elements * int64(npyWidth(a.dtype))
		if a.offset < 10 || bytes < 0 || a.offset+bytes > int64(len(text)) {
			t.Fatalf("%+v of %d bytes", a, len(text))
		}
		if !a.foreign() {
			return
		}
		file, err := a.spool(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if st, err := file.Stat(); err != nil || st.Size() != bytes {
			t.Errorf("%d bytes of %d: %v", st.Size(), bytes, err)
		}
	})
}
