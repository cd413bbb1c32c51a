package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/storage/fakestore"
)

// serveObjects starts an object store that the environment names.
func serveObjects(t *testing.T) *fakestore.Store {
	t.Helper()
	f := &fakestore.Store{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	for key, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ENDPOINT_URL_S3": "", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"} {
		t.Setenv(key, value)
	}
	return f
}

const objectDir = "s3://bkt/run/ck"

// newObjects is a store of objects that is locked, and whose warnings are collected.
func newObjects(t *testing.T) (*Store, *fakestore.Store, *[]string) {
	t.Helper()
	f := serveObjects(t)
	var warnings []string
	s := &Store{Dir: objectDir, Warn: func(m string) { warnings = append(warnings, m) }}
	lockT(t, s)
	return s, f, &warnings
}

// saveInOrder saves a step with the content of a generation, in the order that objects ask for.
func saveInOrder(s *Store, step, generation int64, valid *float64) error {
	w, err := s.Begin(Meta{Step: step, Seed: uint64(generation), Valid: valid}, testTensors)
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, i := range Order(testTensors) {
		if err := w.Write(testTensors[i].Name, Slice{}, content(testTensors[i], generation)); err != nil {
			return err
		}
	}
	_, err = w.Commit()
	return err
}

func saveInOrderT(t *testing.T, s *Store, steps ...int64) {
	t.Helper()
	for _, step := range steps {
		if err := saveInOrder(s, step, step, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// folders are the folders that have objects, each with how many it has.
func folders(f *fakestore.Store) (out []string) {
	n := map[string]int{}
	for _, key := range f.Keys() {
		rel := strings.TrimPrefix(key, "run/ck/")
		name, _, _ := strings.Cut(rel, "/")
		n[name]++
	}
	for name, k := range n {
		out = append(out, fmt.Sprintf("%s %d", name, k))
	}
	slices.Sort(out)
	return out
}

// TestObjects: what is saved to an object store is given back, byte for byte what a disk has.
func TestObjects(t *testing.T) {
	s, f, warnings := newObjects(t)
	saveInOrderT(t, s, 1, 2, 3, 4)
	latestT(t, s, 4)
	if diff := cmp.Diff([]string{".lock 1", "step-00000002 3", "step-00000003 3", "step-00000004 3"}, folders(f)); diff != "" {
		t.Error(diff)
	}
	if path, err := Params(objectDir+"/", false, nil); err != nil || path != objectDir+"/step-00000004/model.safetensors" {
		t.Errorf("%s, %v", path, err)
	}
	if path, err := Params(objectDir+"/step-00000003", false, nil); err != nil || path != objectDir+"/step-00000003/model.safetensors" {
		t.Errorf("%s, %v", path, err)
	}
	here, _ := newStore(t)
	saveInOrderT(t, here, 1, 2, 3, 4)
	for _, name := range append(slices.Clone(dataFiles[:]), manifestName) {
		file, err := diskOpen(here.Dir+"/step-00000004", name)
		if err != nil || !bytes.Equal(file, f.Objects["run/ck/step-00000004/"+name]) {
			t.Errorf("%s differs from that on a disk: %v", name, err)
		}
	}
	s.Unlock()
	if slices.Contains(f.Keys(), "run/ck/.lock") || len(*warnings) != 0 {
		t.Errorf("a lock is left, or %q", *warnings)
	}
}

func diskOpen(dir, name string) ([]byte, error) {
	d, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, f.Size())
	_, err = f.ReadAt(text, 0)
	return text, err
}

// TestObjectsKept: the last ones and the best remain, and what is overwritten goes once there is
// another.
func TestObjectsKept(t *testing.T) {
	s, f, _ := newObjects(t)
	s.Keep, s.KeepBest = 1, true
	for i, loss := range []float64{3, 1, 2, 4} {
		if err := saveInOrder(s, int64(i+1), int64(i+1), &loss); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{".lock 1", "step-00000002 3", "step-00000004 3"}, folders(f)); diff != "" {
		t.Error(diff)
	}
	if path, err := Params(objectDir, true, nil); err != nil || !strings.Contains(path, "step-00000002/") {
		t.Errorf("%s, %v", path, err)
	}
	s.Unlock()
	next := &Store{Dir: objectDir, Overwrite: true}
	lockT(t, next)
	if len(folders(f)) != 3 {
		t.Error("removed before there is another")
	}
	saveInOrderT(t, next, 1)
	if diff := cmp.Diff([]string{".lock 1", "step-00000001 3"}, folders(f)); diff != "" {
		t.Error(diff)
	}
}

// TestObjectsSameStep: a step that is saved again has a folder of its own, and replaces the older
// one once it is whole.
func TestObjectsSameStep(t *testing.T) {
	s, f, _ := newObjects(t)
	saveInOrderT(t, s, 1, 2)
	for _, g := range []int64{7, 8} {
		if err := saveInOrder(s, 2, g, nil); err != nil {
			t.Fatal(err)
		}
		if got := generation(t, s); got != g {
			t.Errorf("generation %d, not %d", got, g)
		}
	}
	if diff := cmp.Diff([]string{".lock 1", "step-00000001 3", "step-00000002 3"}, folders(f)); diff != "" {
		t.Error(diff) // the third takes the name that the second has freed
	}
}

// TestObjectsStopped stops a save after each of its requests in turn, as a kill would: the latest
// checkpoint is the one before or the new one, and the next run goes on and leaves nothing behind.
func TestObjectsStopped(t *testing.T) {
	for name, c := range map[string]struct {
		before    []int64 // generations, at these steps
		overwrite bool
		step      int64 // that is saved as generation 9
	}{
		"first": {nil, false, 1}, "next": {[]int64{1, 2}, false, 3}, "same step": {[]int64{1, 2}, false, 2},
		"last of many": {[]int64{1, 2, 3}, false, 4}, "overwrite": {[]int64{7, 8}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := serveObjects(t)
			for k := 0; ; k++ {
				f.Locked(func() { f.Objects = nil })
				s := &Store{Dir: objectDir}
				lockT(t, s)
				saveInOrderT(t, s, c.before...)
				s.Unlock()
				done, err := dies(objectDir, c.overwrite, k, func(s *Store) error { return saveInOrder(s, c.step, 9, nil) })
				want := append([]int64{0}, c.before...)[len(c.before)]
				if slices.Contains(done, "complete "+manifestName) {
					want = 9
				}
				reader := &Store{Dir: objectDir, Warn: func(m string) { t.Errorf("stopped after %q: %s", done, m) }}
				if got := generation(t, reader); got != want {
					t.Fatalf("stopped after %q: the latest is generation %d, not %d", done, got, want)
				}
				next := &Store{Dir: objectDir}
				lockT(t, next)
				if err := saveInOrder(next, 5, 10, nil); err != nil || generation(t, reader) != 10 {
					t.Fatalf("stopped after %q, the next run: %v", done, err)
				}
				for _, folder := range folders(f) {
					if !strings.HasPrefix(folder, ".lock") && !strings.HasSuffix(folder, " 3") {
						t.Fatalf("stopped after %q: left behind: %q", done, folders(f))
					}
				}
				next.Unlock()
				if err == nil && len(done) < k {
					if k < 8 {
						t.Errorf("a save has %d steps: %q", len(done), done)
					}
					return
				}
			}
		})
	}
}

// bigTensors take several parts of an upload.
var bigTensors = []Tensor{
	{safetensors.Tensor{Name: "w", DType: dtype.F32, Shape: []int64{5 << 20}}, []string{"x"}},
	{safetensors.Tensor{Name: "w/m", DType: dtype.BF16, Shape: []int64{5 << 20}}, []string{"x"}},
}

// TestObjectsKilledUploading: an upload that a killed run has begun is not seen, and is ended by the
// next run. What is saved in parts is read back.
func TestObjectsKilledUploading(t *testing.T) {
	s, f, _ := newObjects(t)
	saveInOrderT(t, s, 1)
	body := bytes.Repeat([]byte("checkpoint "), 20<<20/11+1)
	killed, err := s.Begin(Meta{Step: 2}, bigTensors)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Write("w", Slice{}, body[:20<<20]); err != nil {
		t.Fatal(err)
	}
	latestT(t, s, 1)
	if diff := cmp.Diff([]string{"run/ck/step-00000002/model.safetensors"}, f.Uploads()); diff != "" {
		t.Error(diff)
	}
	next := &Store{Dir: objectDir}
	lockT(t, next)
	w, err := next.Begin(Meta{Step: 2, Seed: 5}, bigTensors)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Uploads()) != 0 {
		t.Errorf("left: %v", f.Uploads())
	}
	for _, i := range Order(bigTensors) {
		if err := w.Write(bigTensors[i].Name, Slice{}, body[:bigTensors[i].Bytes()]); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 20<<20)
	if err := c.Read("w", Slice{}, got); err != nil || !bytes.Equal(got, body[:20<<20]) {
		t.Errorf("it is not what was saved: %v", err)
	}
	// The one that was thought dead lives.
	var held *HeldError
	if _, err := killed.Commit(); err == nil || !strings.Contains(err.Error(), "only 0 of its") && !strings.Contains(err.Error(), "has dropped") {
		t.Errorf("an unfinished save: %v", err)
	}
	if err := saveInOrder(s, 3, 3, nil); !errors.As(err, &held) || !strings.Contains(err.Error(), "is using it") {
		t.Errorf("a run that was taken over from saves: %v", err)
	}
	if c, err := next.Latest(); err != nil || c.Meta.Seed != 5 {
		t.Errorf("%v", err)
	}
}

// TestObjectsTakenOver: of two runs the newer saves, and the older finds out before anything of its
// save is seen, whenever it happens.
func TestObjectsTakenOver(t *testing.T) {
	for _, at := range []string{"write", "complete model.safetensors", "complete manifest.json"} {
		t.Run(at, func(t *testing.T) {
			old, _, _ := newObjects(t)
			saveInOrderT(t, old, 1)
			var warnings []string
			next := &Store{Dir: objectDir, Warn: func(m string) { warnings = append(warnings, m) }}
			taken := false
			old.fault = func(step string) error {
				if step == at && !taken {
					taken = true
					lockT(t, next)
					saveInOrderT(t, next, 2)
				}
				return nil
			}
			old.wrap = nil
			if at == "write" {
				if err := old.fault(at); err != nil {
					t.Fatal(err)
				}
			}
			err := saveInOrder(old, 2, 9, nil)
			var held *HeldError
			if !errors.As(err, &held) && (at == "write" || !errors.Is(err, fs.ErrExist)) {
				t.Errorf("the older run: %v", err)
			}
			if got := generation(t, next); got != 2 {
				t.Errorf("the latest is generation %d", got)
			}
			if len(warnings) != 1 || !strings.Contains(warnings[0], "this run takes over") {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}

// TestObjectsCameAndWent: a run that was started by mistake, and ended, keeps the first one from
// nothing.
func TestObjectsCameAndWent(t *testing.T) {
	s, f, _ := newObjects(t)
	saveInOrderT(t, s, 1)
	s.fault = func(step string) error {
		if step == "complete model.safetensors" {
			other := &Store{Dir: objectDir}
			if err := other.Lock(); err != nil {
				return err
			}
			other.Unlock()
		}
		return nil
	}
	saveInOrderT(t, s, 2)
	latestT(t, s, 2)
	if !slices.Contains(f.Keys(), "run/ck/.lock") {
		t.Error("the lock is not written again")
	}
}

// TestObjectsFaults: whichever request of a save fails for good, the error says why, the older
// checkpoints are intact, and the same store can be saved into when the fault has passed.
func TestObjectsFaults(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   []string
	}{
		{http.StatusForbidden, "ExpiredToken", []string{"takes the credentials no longer"}},
		{http.StatusInsufficientStorage, "XMinioStorageFull", []string{"has no room left"}},
		{http.StatusNotFound, "NoSuchBucket", []string{"no such bucket", "no such object"}},
	} {
		s, f, _ := newObjects(t)
		saveInOrderT(t, s, 1)
		failed := 0
		for k := 1; k < 100; k++ {
			n := 0
			f.Locked(func() {
				f.Fail = func(r *http.Request) (int, string) {
					if n++; n == k {
						return c.status, c.code
					}
					return 0, ""
				}
			})
			g := int64(2 * k)
			err := saveInOrder(s, g, g, nil)
			f.Locked(func() { f.Fail = nil })
			if n < k {
				break
			}
			if err != nil {
				failed++
				if !slices.ContainsFunc(c.want, func(want string) bool { return strings.Contains(err.Error(), want) }) {
					t.Errorf("%s at request %d: %v", c.code, k, err)
				}
			}
			if got := generation(t, s); err != nil && got != g-1 || err == nil && got != g {
				t.Fatalf("%s at request %d: the latest is %d after %v", c.code, k, got, err)
			}
			saveInOrderT(t, s, g+1)
		}
		if failed < 4 {
			t.Errorf("%s: %d saves failed", c.code, failed)
		}
		s.Unlock()
	}
}

// TestObjectsUnreadable: what is wrong with an object is a reason to go back to the checkpoint
// before, and that the store does not answer is none.
func TestObjectsUnreadable(t *testing.T) {
	s, f, warnings := newObjects(t)
	saveInOrderT(t, s, 1, 2, 3)
	for _, name := range []string{manifestName, modelFile, optimizerFile} {
		f.Locked(func() {
			f.Fail = func(r *http.Request) (int, string) {
				if strings.HasSuffix(r.URL.Path, "step-00000003/"+name) {
					return http.StatusForbidden, "ExpiredToken"
				}
				return 0, ""
			}
		})
		if _, err := s.Latest(); err == nil || !strings.Contains(err.Error(), "step-00000003: cannot be read") {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.Locked(func() { f.Fail = nil; f.Objects["run/ck/step-00000003/"+modelFile][100] ^= 1 })
	latestT(t, s, 2)
	f.Locked(func() { delete(f.Objects, "run/ck/step-00000002/"+optimizerFile) })
	latestT(t, s, 1)
	if len(*warnings) != 3 || !strings.Contains((*warnings)[0], "SHA-256 differs") || !strings.Contains((*warnings)[2], "no such object") {
		t.Errorf("warnings %q", *warnings)
	}
}

// TestObjectsNoPlace: a place that is none is found out by Lock.
func TestObjectsNoPlace(t *testing.T) {
	f := serveObjects(t)
	for dir, want := range map[string]string{"s3://other/ck": "no such bucket", "s3://b*/ck": "s3://bucket/key"} {
		if err := (&Store{Dir: dir}).Lock(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", dir, err)
		}
		if _, err := (&Store{Dir: dir}).Latest(); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	f.Fail = func(*http.Request) (int, string) { return http.StatusForbidden, "AccessDenied" }
	if err := (&Store{Dir: objectDir}).Lock(); err == nil || !strings.Contains(err.Error(), "gives no permission") {
		t.Errorf("%v", err)
	}
	if _, err := (&Store{Dir: objectDir}).Latest(); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}

// TestObjectsProbe: as many bytes are uploaded as are asked for, and nothing is left.
func TestObjectsProbe(t *testing.T) {
	s, f, _ := newObjects(t)
	for _, n := range []int64{0, 1, 17 << 20} {
		if took, err := s.Probe(n); err != nil || took <= 0 {
			t.Errorf("%d bytes: %v, %v", n, took, err)
		}
	}
	if diff := cmp.Diff([]string{"run/ck/.lock"}, f.Keys()); diff != "" || len(f.Uploads()) != 0 {
		t.Error(diff)
	}
}

// FuzzLock: whatever stands in a lock, it is of another process, and who it names is one line of
// printable text.
func FuzzLock(f *testing.F) {
	for _, text := range []string{"", "{}", `{"host":"a","pid":7,"token":"t"}`, `{"host":"\u001b[31m","pid":1}`, `{"pid":1,"host":"` + strings.Repeat("x", 500) + `"}`, "[1]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		by := decodeLock(text).String()
		if len(by) > 1000 || strings.ContainsFunc(by, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q", by)
		}
	})
}

// FuzzName: a name of a folder is read as what writes it, or not at all.
func FuzzName(f *testing.F) {
	for _, name := range []string{"step-00000001", "step-00000001.7", "step-00000001.new", "step-1", "step-00000001.07", "step-00000001.", "step-00000001.-1", "step-100000000.old"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		step, suffix, ok := parseName(name)
		if ok && (stepName(step)+suffix != name || strings.ContainsAny(name, "/\\")) {
			t.Errorf("%q is step %d, %q", name, step, suffix)
		}
	})
}
