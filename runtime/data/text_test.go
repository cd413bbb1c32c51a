package data

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeTree writes files below a new folder.
func writeTree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// words is text in which any 8 bytes are almost surely found once only.
func words(seed int64, n int) string {
	r := rand.New(rand.NewSource(seed))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + r.Intn(90))
	}
	return string(b)
}

func tree(n, size int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("d%d/f%02d.txt", i%3, i)] = words(int64(i), size+i)
	}
	return files
}

func openT(t testing.TB, kind string, b Batch, opts ...Option) Source {
	t.Helper()
	s, err := Open(kind, opts, b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// whole gives views of whole fields.
func whole(s Source) []View {
	vs := make([]View, len(s.Fields()))
	for i, f := range s.Fields() {
		n := 1
		for _, d := range f.Shape {
			n *= d
		}
		if f.DType == I32 {
			vs[i].I32 = make([]int32, n)
		} else {
			vs[i].F32 = make([]float32, n)
		}
	}
	return vs
}

func fillT(t testing.TB, s Source, step int64) []View {
	t.Helper()
	vs := whole(s)
	if err := s.Fill(step, vs); err != nil {
		t.Fatal(err)
	}
	return vs
}

func text8(ids []int32) string {
	b := make([]byte, len(ids))
	for i, v := range ids {
		b[i] = byte(v)
	}
	return string(b)
}

func TestTextEveryWindowOncePerEpoch(t *testing.T) {
	const batch, window = 4, 16
	dir := writeTree(t, tree(7, 500))
	s := openT(t, "text", Batch{Size: batch, Window: window, Seed: 5},
		Option{"files", dir + "/**/*.txt"}, Option{"valid", "0"})
	joined := ""
	for _, d := range []int{0, 1, 2} { // by path: folder first
		for i := d; i < 7; i += 3 {
			joined += words(int64(i), 500+i) + "\x00"
		}
	}
	n := (len(joined) - 1) / window
	if s.Tokens() != int64(n*window) {
		t.Fatalf("%d tokens in an epoch, want %d", s.Tokens(), n*window)
	}
	for epoch := range 2 {
		count := make([]int, n)
		for g := epoch * n; g < (epoch+1)*n; g++ {
			vs := fillT(t, s, int64(g/batch)+1)
			row := g % batch
			got := text8(vs[0].I32[row*window : (row+1)*window])
			next := text8(vs[1].I32[row*window : (row+1)*window])
			at := strings.Index(joined, got)
			if at < 0 || at%window != 0 {
				t.Fatalf("example %d is no window: %q at %d", g, got, at)
			}
			if next != joined[at+1:at+1+window] {
				t.Fatalf("targets of %q are %q", got, next)
			}
			count[at/window]++
		}
		for w, c := range count {
			if c != 1 {
				t.Errorf("epoch %d has window %d %d times", epoch, w, c)
			}
		}
	}
}

func TestTextResumeEqualsStraight(t *testing.T) {
	dir := writeTree(t, tree(5, 400))
	b := Batch{Size: 3, Window: 8, Seed: 11}
	straight := openT(t, "text", b, Option{"files", dir + "/**"})
	var all [][]View
	for step := int64(1); step <= 200; step++ { // beyond an epoch
		all = append(all, fillT(t, straight, step))
	}
	resumed := openT(t, "text", b, Option{"files", dir + "/**"})
	for _, step := range []int64{200, 63, 64, 1} {
		got := fillT(t, resumed, step)
		for i := range got {
			if !slices.Equal(got[i].I32, all[step-1][i].I32) {
				t.Errorf("step %d, field %d differ after resuming", step, i)
			}
		}
	}
	if slices.Equal(all[0][0].I32, all[1][0].I32) {
		t.Error("two steps are fed the same")
	}
}

func TestTextPredictLast(t *testing.T) {
	dir := writeTree(t, tree(3, 300))
	b := Batch{Size: 2, Window: 8}
	next := fillT(t, openT(t, "text", b, Option{"files", dir}), 4)
	last := fillT(t, openT(t, "text", b, Option{"files", dir}, Option{"predict", "last"}), 4)
	want := []int32{next[1].I32[7], next[1].I32[15]}
	if !slices.Equal(last[1].I32, want) || !slices.Equal(last[0].I32, next[0].I32) {
		t.Errorf("targets %v, want %v", last[1].I32, want)
	}
}

func TestTextSplitIsDisjoint(t *testing.T) {
	for _, c := range []struct {
		name  string
		files int
		extra string // a copy of every file under another name
	}{{"by files", 40, ""}, {"by ends", 3, ""}, {"copies", 40, "copy/"}} {
		t.Run(c.name, func(t *testing.T) {
			files := tree(c.files, 400)
			if c.extra != "" {
				for name, text := range tree(c.files, 400) {
					files[c.extra+name] = text
				}
			}
			dir := writeTree(t, files)
			const window = 16
			s := openT(t, "text", Batch{Size: 1, Window: window}, Option{"files", dir + "/**"}, Option{"valid", "0.1"})
			valid := ""
			for i := range heldBatches(s) {
				vs := whole(s)
				if err := heldOut(s, i, vs); err != nil {
					t.Fatal(err)
				}
				valid += text8(vs[0].I32) + "\n"
			}
			if len(valid) < 60 {
				t.Fatalf("only %d bytes are held out", len(valid))
			}
			steps := s.Tokens() / window
			for step := int64(1); step <= steps; step++ {
				w := text8(fillT(t, s, step)[0].I32)
				if strings.Contains(valid, w[:8]) && !strings.Contains(w[:8], "\x00") {
					t.Fatalf("training text %q is held out as well", w)
				}
			}
		})
	}
}

// The same tree in another place, listed by another pattern, is the same data.
func TestTextDoesNotDependOnThePlace(t *testing.T) {
	files := tree(30, 200)
	a, b := writeTree(t, files), writeTree(t, files)
	t.Setenv("CORPUS_A", a)
	batch := Batch{Size: 2, Window: 8, Vars: []Option{{"CORPUS_B", b}}}
	s1 := openT(t, "text", batch, Option{"", "${CORPUS_A}/**/*.txt"})
	s2 := openT(t, "text", batch, Option{"files", "${CORPUS_B}/**/f*"})
	if s1.Fingerprint() != s2.Fingerprint() {
		t.Error("fingerprints differ")
	}
	t.Chdir(a)
	s3 := openT(t, "text", batch, Option{"files", "**/*.txt"})
	if s3.Fingerprint() != s1.Fingerprint() {
		t.Error("a relative pattern gives other data")
	}
	files["d0/f00.txt"] += "x"
	s4 := openT(t, "text", batch, Option{"files", writeTree(t, files) + "/**"})
	if s4.Fingerprint() == s1.Fingerprint() {
		t.Error("a changed file has the same fingerprint")
	}
}

func TestTextLimitAndExclude(t *testing.T) {
	dir := writeTree(t, tree(20, 1000))
	b := Batch{Size: 1, Window: 8}
	s := openT(t, "text", b, Option{"files", dir + "/**"}, Option{"limit", "4KiB"}, Option{"valid", "0"})
	if n := s.Tokens(); n < 4096-8 || n > 4096+20 {
		t.Errorf("limit of 4096 bytes gives %d tokens", n)
	}
	s = openT(t, "text", b, Option{"files", dir + "/**"}, Option{"exclude", "d0/**"}, Option{"exclude", "d1/**"}, Option{"valid", "0"})
	if n := s.Tokens(); n < 6*1000 || n > 6*1030 {
		t.Errorf("a third of the files gives %d tokens", n)
	}
}

func TestTextErrors(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"text.txt": words(1, 300), "empty/a": "", "short/a": "abc", "latin/é.txt": strings.Repeat("é", 300),
		"bin/a": string(bytes.Repeat([]byte{1, 0, 2, 0}, 100)),
	})
	t.Setenv("PTC_TEST_EMPTY", "")
	good := []Option{{"files", dir + "/text.txt"}}
	with := func(key, value string) []Option { return append(slices.Clone(good), Option{key, value}) }
	for _, c := range []struct {
		name string
		opts []Option
		b    Batch
		want string
	}{
		{"no files", nil, Batch{Size: 1, Window: 4}, "no files"},
		{"no match", []Option{{"files", dir + "/*.go"}}, Batch{Size: 1, Window: 4}, "no file matches"},
		{"no folder", []Option{{"files", dir + "/none/*.go"}}, Batch{Size: 1, Window: 4}, "there is no folder"},
		{"bad glob", []Option{{"files", dir + "/["}}, Batch{Size: 1, Window: 4}, "not a valid pattern"},
		{"unset", []Option{{"files", "${PTC_TEST_UNSET}/*"}}, Batch{Size: 1, Window: 4}, "set PTC_TEST_UNSET in the environment"},
		{"empty variable", []Option{{"files", "${PTC_TEST_EMPTY}/*"}}, Batch{Size: 1, Window: 4}, "no value"},
		{"bad variable", []Option{{"files", "${A B}/*"}}, Batch{Size: 1, Window: 4}, "${HOME}"},
		{"unclosed", []Option{{"files", "${A/*"}}, Batch{Size: 1, Window: 4}, "${HOME}"},
		{"empty", []Option{{"files", dir + "/empty/*"}}, Batch{Size: 1, Window: 4}, "empty"},
		{"short", []Option{{"files", dir + "/short/*"}}, Batch{Size: 1, Window: 64}, "a window needs 65"},
		{"binary", []Option{{"files", dir + "/bin/*"}}, Batch{Size: 1, Window: 4}, "200 of its 400 bytes are NUL"},
		{"vocab", []Option{{"files", dir + "/latin/*"}}, Batch{Size: 1, Window: 4, Vocab: 128}, "is 195, but the vocabulary has 128"},
		{"valid too small", with("valid", "0.01"), Batch{Size: 1, Window: 64}, "valid = 0.01 holds out"},
		{"unknown key", with("windw", "4"), Batch{Size: 1, Window: 4}, `no option "windw"`},
		{"repeated key", append(with("window", "4"), Option{"window", "5"}), Batch{Size: 1}, "given 2 times"},
		{"window differs", with("window", "5"), Batch{Size: 1, Window: 4}, "windows of 4"},
		{"window, the number of tokens in an example, is not given", good, Batch{Size: 1}, "window, the number of tokens in an example, is not given"},
		{"bad number", with("valid", "NaN"), Batch{Size: 1, Window: 4}, `valid = "NaN"`},
		{"bad size", with("limit", "many"), Batch{Size: 1, Window: 4}, "64MiB"},
		{"bad choice", with("predict", "first"), Batch{Size: 1, Window: 4}, "next, last"},
		{"tokenizer", with("tokenizer", "words"), Batch{Size: 1, Window: 4}, "known: bytes"},
		{"batch", good, Batch{Window: 4}, "batch size is 0"},
		{"field", good, Batch{Size: 1, Window: 4, Fields: []Field{{"labels", I32, []int{1}}}}, `no field "labels"`},
		{"field shape", good, Batch{Size: 1, Window: 4, Fields: []Field{{"targets", I32, []int{1}}}}, "the source has targets: i32[1, 4]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open("text", c.opts, c.b)
			var de *Error
			if !errors.As(err, &de) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want *Error with %q", err, c.want)
			}
			if de != nil && de.Kind != "text" {
				t.Errorf("kind %q", de.Kind)
			}
		})
	}
	if _, err := Open("none", nil, Batch{Size: 1}); err == nil || !strings.Contains(err.Error(), "synthetic, text") {
		t.Errorf("unknown kind: %v", err)
	}
}

func TestTextUnreadableFile(t *testing.T) {
	dir := writeTree(t, map[string]string{"a": words(1, 100)})
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	openT(t, "text", Batch{Size: 1, Window: 4}, Option{"files", dir + "/*"}) // a dead link is no file
	if os.Getuid() == 0 {
		return // permissions do not bind this user
	}
	if err := os.Chmod(filepath.Join(dir, "a"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("text", []Option{{"files", dir + "/*"}}, Batch{Size: 1, Window: 4}); err == nil {
		t.Error("a file that cannot be read was skipped")
	}
}

// A variable's value is a name, even one that looks like a pattern.
func TestVariablesAreLiteral(t *testing.T) {
	dir := filepath.Join(writeTree(t, map[string]string{"a[b]{c,d}*/x.txt": words(1, 100)}), "a[b]{c,d}*")
	t.Setenv("PTC_TEST_DIR", dir)
	s := openT(t, "text", Batch{Size: 1, Window: 4}, Option{"files", "${PTC_TEST_DIR}/*.txt"})
	if !strings.Contains(s.Describe(), "1 files") {
		t.Error(s.Describe())
	}
}

func TestGorootResolves(t *testing.T) {
	t.Setenv("GOROOT", "")
	dir, ok := lookup("GOROOT", nil)
	if !ok {
		t.Fatal("go test puts the go command on PATH, and it was not found")
	}
	if _, err := os.Stat(filepath.Join(dir, "src", "fmt")); err != nil {
		t.Error(err)
	}
	t.Setenv("GOROOT", "/elsewhere")
	if dir, _ := lookup("GOROOT", nil); dir != "/elsewhere" {
		t.Errorf("the environment does not win: %s", dir)
	}
}
