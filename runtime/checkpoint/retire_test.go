package checkpoint

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// elsewhere saves checkpoints of generation 100 and more to another folder of the same place, in as many
// saves as there are steps, and gives what they are.
func elsewhere(t *testing.T, dir string, steps ...int64) *Store {
	t.Helper()
	other := &Store{Dir: dir, Keep: -1}
	lockT(t, other)
	for i, step := range steps {
		if err := saveInOrder(other, step, 100+int64(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	other.Unlock()
	return other
}

// TestOthersStay: checkpoints that a run neither found when it began nor saved itself stay, whatever number
// and step they have, and however many it saves: a listing may have been that of something else.
func TestOthersStay(t *testing.T) {
	for _, remote := range []bool{false, true} {
		for _, steps := range [][]int64{{2}, {2, 4, 6}, {1, 2, 3, 4, 5, 6, 7}} {
			name := fmt.Sprintf("remote %t, %d others", remote, len(steps))
			s, warnings := newStore(t)
			bring := func() { // copies checkpoints into the folder of a run that has begun
				elsewhere(t, filepath.Join(t.TempDir(), "x"), steps...)
			}
			if remote {
				var f = serveObjects(t)
				*warnings = nil
				s = &Store{Dir: objectDir, Warn: s.Warn}
				lockT(t, s)
				bring = func() {
					elsewhere(t, "s3://bkt/other/ck", steps...)
					f.Locked(func() {
						for key, body := range f.Objects {
							if rel, ok := strings.CutPrefix(key, "other/ck/"); ok && !strings.HasPrefix(rel, ".") {
								f.Objects["run/ck/"+rel] = body
							}
						}
					})
				}
			} else {
				dir := filepath.Join(t.TempDir(), "x")
				bring = func() {
					elsewhere(t, dir, steps...)
					if err := os.CopyFS(s.Dir, os.DirFS(dir)); err != nil {
						t.Fatal(err)
					}
				}
			}
			bring()
			want := map[string]bool{}
			entries, err := s.List()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				want[fmt.Sprint(e.Dir, " ", e.Sequence)] = true
			}
			s.Keep = 2
			for step := int64(1); step <= 9; step++ {
				err := saveInOrder(s, step, step, nil)
				if taken := slices.Contains(steps, step) && !remote; taken != (err != nil) || taken && !strings.Contains(err.Error(), "another process created it") {
					t.Fatalf("%s, step %d: %v", name, step, err)
				}
			}
			if entries, err = s.List(); err != nil {
				t.Fatal(err)
			}
			own := 0
			for _, e := range entries {
				if !want[fmt.Sprint(e.Dir, " ", e.Sequence)] {
					own++
				}
			}
			if own != 2 || len(entries)-own != len(steps) {
				t.Errorf("%s: %d of its own and %d others remain", name, own, len(entries)-own)
			}
			if len(*warnings) != 1 || !strings.Contains((*warnings)[0], "so ptc does not remove it") {
				t.Errorf("%s: %q", name, *warnings)
			}
			s.Unlock()
		}
	}
}

// TestNothingIsRemovedForPages: whichever answers of the store a gateway gives with 200 and a page of its own
// while a run goes on, the latest checkpoint of before can be loaded until the run has saved a newer one, and
// a save that succeeds is there.
func TestNothingIsRemovedForPages(t *testing.T) {
	f := serveObjects(t)
	for _, overwrite := range []bool{false, true} {
		for k := 1; ; k++ {
			f.Locked(func() { f.Objects = nil })
			first := &Store{Dir: objectDir, Keep: 1}
			lockT(t, first)
			saveInOrderT(t, first, 3)
			first.Unlock()
			n, more := 0, 0
			f.Locked(func() {
				f.Page = func(r *http.Request) bool {
					if r.Method == http.MethodDelete { // an answer to which changes nothing
						return false
					}
					if n++; n < k || n > k && more == 0 {
						return false
					}
					more++
					return n == k
				}
			})
			s := &Store{Dir: objectDir, Keep: 1, Overwrite: overwrite}
			err := s.Lock()
			saved := int64(0)
			if err == nil {
				if err = saveInOrder(s, 3, 4, nil); err == nil {
					saved = 4
				}
			}
			f.Locked(func() { f.Page = nil })
			if s.locked() {
				s.Unlock()
			}
			got := generation(t, &Store{Dir: objectDir})
			if saved == 4 && got != 4 || got != 3 && got != 4 {
				t.Fatalf("page %d: generation %d remains after %v", k, got, err)
			}
			if n < k {
				if k < 12 {
					t.Errorf("a save is %d requests", n)
				}
				break
			}
		}
	}
}

// locked is for a store whose Lock may have failed.
func (s *Store) locked() bool {
	p, err := s.place()
	return err == nil && p.locked()
}

// TestListingIsNone: a listing that is a page is an error, and not a folder without checkpoints.
func TestListingIsNone(t *testing.T) {
	s, f, _ := newObjects(t)
	saveInOrderT(t, s, 1, 2, 3)
	s.Unlock()
	keys := f.Keys()
	f.Locked(func() { f.Page = func(r *http.Request) bool { return r.URL.Query().Has("list-type") } })
	if err := (&Store{Dir: objectDir}).Lock(); err == nil || !strings.Contains(err.Error(), "is no object store") {
		t.Errorf("%v", err)
	}
	if _, err := (&Store{Dir: objectDir}).Latest(); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
	f.Locked(func() { f.Page = nil })
	if d := cmp.Diff(keys, f.Keys()); d != "" {
		t.Error(d)
	}
}

// TestListedWithoutManifest: files of a checkpoint whose manifest a listing leaves out stay.
func TestListedWithoutManifest(t *testing.T) {
	s, f, _ := newObjects(t)
	saveInOrderT(t, s, 1)
	s.Unlock()
	next := &Store{Dir: objectDir}
	lockT(t, next)
	f.Locked(func() { f.Unlisted = "run/ck/step-00000001/" + manifestName })
	if err := saveInOrder(next, 2, 2, nil); err == nil || !strings.Contains(err.Error(), "that the store does not list") {
		t.Errorf("%v", err)
	}
	f.Locked(func() { f.Unlisted = "" })
	latestT(t, next, 1)
}
