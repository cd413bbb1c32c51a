package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
)

var testTensors = []Tensor{
	{safetensors.Tensor{Name: "blocks.0.wq", DType: dtype.F32, Shape: []int64{4, 6}}, []string{"embed", "head"}},
	{safetensors.Tensor{Name: "blocks.0.wq/m", DType: dtype.BF16, Shape: []int64{4, 6}}, []string{"embed", "head"}},
	{safetensors.Tensor{Name: "blocks.0.wq/step", DType: dtype.I64, Shape: nil}, nil},
	{safetensors.Tensor{Name: "a", DType: dtype.U8, Shape: []int64{3}}, []string{"x"}},
}

// content is what step's tensor t holds.
func content(t Tensor, step int64) []byte {
	b := make([]byte, t.DType.Size())
	for _, n := range t.Shape {
		b = append(b[:0:0], bytes.Repeat(b, int(n))...)
	}
	for i := range b {
		b[i] = byte(i*7 + int(step)*31 + len(t.Name))
	}
	return b
}

func save(s *Store, step int64) (string, error) {
	w, err := s.Begin(Meta{Step: step, Seed: 1 << 63, Model: "m", Source: "s", Data: "d", Settings: []Setting{{"lr", 1e-3}}}, testTensors)
	if err != nil {
		return "", err
	}
	defer w.Abort()
	for _, t := range testTensors {
		if err := w.Write(t.Name, Slice{}, content(t, step)); err != nil {
			return "", err
		}
	}
	return w.Commit()
}

func saveT(t *testing.T, s *Store, steps ...int64) {
	t.Helper()
	for _, step := range steps {
		if _, err := save(s, step); err != nil {
			t.Fatal(err)
		}
	}
}

// newStore is a store that is locked, and whose warnings are collected.
func newStore(t *testing.T) (*Store, *[]string) {
	t.Helper()
	var warnings []string
	s := &Store{Dir: filepath.Join(t.TempDir(), "run"), Warn: func(m string) { warnings = append(warnings, m) }}
	lockT(t, s)
	return s, &warnings
}

func lockT(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Lock(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Unlock)
}

func latestT(t *testing.T, s *Store, want int64) {
	t.Helper()
	c, err := s.Latest()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Meta.Step != want {
		t.Fatalf("the latest is step %d, want %d", c.Meta.Step, want)
	}
	checkContent(t, c)
}

func checkContent(t *testing.T, c *Checkpoint) {
	t.Helper()
	for _, x := range testTensors {
		want := content(x, c.Meta.Step)
		got := make([]byte, len(want))
		if err := c.Read(x.Name, Slice{}, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("step %d: %s is not what was saved", c.Meta.Step, x.Name)
		}
	}
}

// files lists all that is below a store, hidden or not, besides the lock.
func files(t *testing.T, s *Store) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(s.Dir, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(s.Dir, path); rel != "." && rel != lockName {
			names = append(names, rel)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return names
}

func TestSaveAndLoad(t *testing.T) {
	s, warnings := newStore(t)
	dir, err := save(s, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"step-00000010", "step-00000010/manifest.json",
		"step-00000010/model.safetensors", "step-00000010/optimizer.safetensors"}
	if got := files(t, s); !slices.Equal(got, want) {
		t.Errorf("files %v", got)
	}
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if diff := cmp.Diff(Meta{10, 1 << 63, nil, "m", "s", "d", nil, nil, []Setting{{"lr", 1e-3}}, nil}, c.Meta); diff != "" {
		t.Error(diff)
	}
	if x := c.Tensors()[2]; x.Name != "blocks.0.wq/m" || x.DType != dtype.BF16 || !slices.Equal(x.Axes, []string{"embed", "head"}) {
		t.Errorf("tensor %+v", x)
	}
	if len(c.Tensors()) != 4 {
		t.Errorf("tensors %v", c.Tensors())
	}
	checkContent(t, c)
	if len(*warnings) != 0 {
		t.Errorf("warnings %v", *warnings)
	}
	plain, err := safetensors.Open(filepath.Join(dir, "model.safetensors")) // by anyone
	if err != nil || len(plain.Tensors()) != 2 {
		t.Errorf("the model's file alone: %v", err)
	}
	plain.Close()
}

func TestSaveIsReproducible(t *testing.T) {
	a, _ := newStore(t)
	b, _ := newStore(t)
	saveT(t, a, 3)
	saveT(t, b, 3)
	for _, name := range files(t, a) {
		x, _ := os.ReadFile(filepath.Join(a.Dir, name))
		y, _ := os.ReadFile(filepath.Join(b.Dir, name))
		if !bytes.Equal(x, y) {
			t.Errorf("%s differs", name)
		}
	}
}

// Saved by devices that hold columns, at once; read by devices that hold rows.
func TestOtherLayout(t *testing.T) {
	s, _ := newStore(t)
	x := Tensor{safetensors.Tensor{Name: "w", DType: dtype.U8, Shape: []int64{4, 6}}, []string{"i", "o"}}
	w, err := s.Begin(Meta{Step: 1}, []Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	var g sync.WaitGroup
	for d := range int64(3) {
		g.Add(1)
		go func() {
			defer g.Done()
			var part []byte
			for i := range int64(4) {
				part = append(part, byte(i*6+d*2), byte(i*6+d*2+1))
			}
			if err := w.Write("w", Slice{Offset: []int64{0, d * 2}, Extent: []int64{4, 2}}, part); err != nil {
				t.Error(err)
			}
		}()
	}
	g.Wait()
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	c, err := s.Latest()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for d := range int64(2) {
		got := make([]byte, 12)
		if err := c.Read("w", Slice{Offset: []int64{d * 2, 0}, Extent: []int64{2, 6}}, got); err != nil {
			t.Fatal(err)
		}
		for i, b := range got {
			if int(b) != int(d)*12+i {
				t.Fatalf("rows of device %d: %v", d, got)
			}
		}
	}
}

func TestKeepsTheLast(t *testing.T) {
	for _, c := range []struct {
		keep int
		want string
	}{{0, "[5 4 3]"}, {1, "[5]"}, {2, "[5 4]"}, {-1, "[5 4 3 2 1]"}} {
		s, _ := newStore(t)
		s.Keep = c.keep
		saveT(t, s, 1, 2, 3, 4, 5)
		if got := steps(t, s); got != c.want {
			t.Errorf("keep %d leaves %s, want %s", c.keep, got, c.want)
		}
		latestT(t, s, 5)
	}
}

func steps(t *testing.T, s *Store) string {
	t.Helper()
	es, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var ns []int64
	for _, e := range es {
		ns = append(ns, e.Step)
	}
	return fmt.Sprint(ns)
}

// A run is taken back to an older step: its checkpoints are the latest, whatever
// their step, and what it has passed goes as it gets older.
func TestRunTakenBack(t *testing.T) {
	s, _ := newStore(t)
	s.Keep = 3
	saveT(t, s, 10, 20, 30)
	saveT(t, s, 15)
	latestT(t, s, 15)
	if got := steps(t, s); got != "[15 30 20]" {
		t.Errorf("left are %s", got)
	}
	saveT(t, s, 20)
	latestT(t, s, 20)
	if got := steps(t, s); got != "[20 15 30]" {
		t.Errorf("left are %s", got)
	}
	for _, f := range files(t, s) {
		if strings.Contains(f, "old") || strings.Contains(f, "tmp") {
			t.Errorf("left behind: %s", f)
		}
	}
}

func damage(t *testing.T, path string, how func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, how(b), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDamage(t *testing.T) {
	flip := func(b []byte) []byte { b[len(b)-1] ^= 1; return b }
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	change := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte {
			if !bytes.Contains(b, []byte(old)) {
				t.Fatalf("nothing to damage: %s", b)
			}
			return bytes.Replace(b, []byte(old), []byte(new), 1)
		}
	}
	for _, c := range []struct {
		name, file string
		how        func([]byte) []byte
	}{
		{"a bit", "model.safetensors", flip},
		{"a bit of state", "optimizer.safetensors", flip},
		{"cut", "model.safetensors", cut},
		{"emptied", "manifest.json", func([]byte) []byte { return nil }},
		{"cut manifest", "manifest.json", func(b []byte) []byte { return b[:len(b)/2] }},
		{"format", "manifest.json", change(`"format": 3`, `"format": 4`)},
		{"older format", "manifest.json", change(`"format": 3`, `"format": 1`)},
		{"format before phases", "manifest.json", change(`"format": 3`, `"format": 2`)},
		{"step", "manifest.json", change(`"step": 2`, `"step": 4`)},
		{"seed", "manifest.json", change(`"seed": 9223372036854775808`, `"seed": 7`)},
		{"sequence", "manifest.json", change(`"sequence": 2`, `"sequence": 9`)},
		{"data", "manifest.json", change(`"data_fingerprint": "d"`, `"data_fingerprint": "e"`)},
		{"no hash", "manifest.json", func(b []byte) []byte {
			return regexp.MustCompile(` "manifest_sha256": "[0-9a-f]*",\n`).ReplaceAll(b, nil)
		}},
		{"end", "manifest.json", func(b []byte) []byte { return append(b, ' ') }},
		{"shape", "manifest.json", change("[\n    4,\n    6\n   ]", "[6, 4]")},
		{"name", "manifest.json", change(`"blocks.0.wq"`, `"blocks.0.wk"`)},
		{"path", "manifest.json", change(`"name": "model.safetensors"`, `"name": "../model.safetensors"`)},
		{"axes", "manifest.json", change(`"head"`, `"head", "x"`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, warnings := newStore(t)
			saveT(t, s, 1, 2)
			dir := filepath.Join(s.Dir, "step-00000002")
			damage(t, filepath.Join(dir, c.file), c.how)
			_, err := Load(dir)
			var ce *Error
			if !errors.As(err, &ce) || !strings.Contains(err.Error(), "is damaged") {
				t.Errorf("error %v", err)
			}
			latestT(t, s, 1)
			if len(*warnings) != 1 || !strings.Contains((*warnings)[0], "takes the checkpoint of step 1 instead") {
				t.Errorf("warnings %q", *warnings)
			}
		})
	}
}

func TestNothingToLoad(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	s, _ := newStore(t)
	if _, err := s.Latest(); !errors.Is(err, ErrNone) {
		t.Errorf("error %v", err)
	}
	saveT(t, s, 1)
	damage(t, filepath.Join(s.Dir, "step-00000001", "model.safetensors"), func([]byte) []byte { return nil })
	if _, err := s.Latest(); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("error %v", err)
	}
}

// failAt fails the n-th write of all files.
type failAt struct {
	n *int
	io.WriterAt
}

var errFault = errors.New("injected fault")

func (f failAt) WriteAt(p []byte, off int64) (int, error) {
	if *f.n--; *f.n < 0 {
		half, _ := f.WriterAt.WriteAt(p[:len(p)/2], off)
		return half, errFault
	}
	return f.WriterAt.WriteAt(p, off)
}

func TestAnyFailedWriteLeavesTheOldOnes(t *testing.T) {
	s, _ := newStore(t)
	saveT(t, s, 1)
	before := files(t, s)
	failures := 0
	for n := 0; ; n++ {
		left := n
		s.wrap = func(w io.WriterAt) io.WriterAt { return failAt{&left, w} }
		_, err := save(s, 2)
		if err == nil {
			break
		}
		failures++
		if !errors.Is(err, errFault) {
			t.Fatalf("write %d: %v", n, err)
		}
		if got := files(t, s); !slices.Equal(got, before) {
			t.Fatalf("write %d left %v", n, got)
		}
		latestT(t, s, 1)
	}
	if failures != 6 { // two headers, four tensors
		t.Errorf("%d writes were made to fail", failures)
	}
	latestT(t, s, 2)
}

func TestIncompleteIsNotCommitted(t *testing.T) {
	s, _ := newStore(t)
	saveT(t, s, 1)
	before := files(t, s)
	w, err := s.Begin(Meta{Step: 2}, testTensors)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range testTensors[:3] {
		if err := w.Write(x.Name, Slice{}, content(x, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Write("c", Slice{}, nil); err == nil {
		t.Error("a tensor that was not announced was written")
	}
	if _, err := w.Commit(); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("committed without a tensor: %v", err)
	}
	if _, err := w.Commit(); err == nil {
		t.Error("committed twice")
	}
	if err := w.Write("a", Slice{}, make([]byte, 3)); err == nil {
		t.Error("written after its end")
	}
	if got := files(t, s); !slices.Equal(got, before) {
		t.Errorf("left %v", got)
	}
}

func TestBeginRejects(t *testing.T) {
	s, _ := newStore(t)
	for want, begin := range map[string]func() (*Writer, error){
		"-1 is not the number of a step": func() (*Writer, error) { return s.Begin(Meta{Step: -1}, nil) },
		"has axes": func() (*Writer, error) {
			return s.Begin(Meta{}, []Tensor{{safetensors.Tensor{Name: "a", DType: dtype.U8, Shape: []int64{1}}, nil}})
		},
		"twice": func() (*Writer, error) { return s.Begin(Meta{}, []Tensor{testTensors[0], testTensors[0]}) },
	} {
		if _, err := begin(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if got := files(t, s); len(got) != 0 {
		t.Errorf("left %v", got)
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "step-00000001"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := save(s, 1); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("a file was replaced: %v", err)
	}
	if got := files(t, s); len(got) != 1 {
		t.Errorf("left %v", got)
	}
}

func FuzzManifest(f *testing.F) {
	m := newManifest(Meta{Step: 1}, testTensors)
	m.Files, m.Sequence = []manifestFile{{Name: modelFile}, {Name: optimizerFile}}, 1
	text, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":1,"files":[{},{}],"tensors":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeManifest(b)
		if err != nil {
			return
		}
		m.Sequence = max(m.Sequence, 1) // of format 1 there is none
		text, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeManifest(text); err != nil {
			t.Fatalf("encoded again: %v", err)
		}
	})
}
