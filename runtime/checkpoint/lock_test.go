//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestOneSaverAtATime(t *testing.T) {
	s, _ := newStore(t)
	saveT(t, s, 1)
	other := &Store{Dir: s.Dir}
	err := other.Lock()
	var held *HeldError
	host, _ := os.Hostname()
	if !errors.As(err, &held) || !strings.Contains(err.Error(), fmt.Sprintf("process %d on host %s", os.Getpid(), host)) {
		t.Errorf("error %v", err)
	}
	if _, err := save(other, 2); err == nil || !strings.Contains(err.Error(), "not locked") {
		t.Errorf("saved without the lock: %v", err)
	}
	latestT(t, other, 1) // reading needs none
	s.Unlock()
	s.Unlock()
	if got := files(t, s); slices.Contains(got, lockName) {
		t.Errorf("left behind: %v", got)
	}
	lockT(t, other)
	saveT(t, other, 2)
	latestT(t, s, 2)
}

// Many that want the folder at once: one at a time has it.
func TestLockUnderContention(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "run")
	var wg sync.WaitGroup
	var mu sync.Mutex // held while the lock is, if the lock does what it should
	took := 0
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				s := &Store{Dir: dir}
				err := s.Lock()
				var held *HeldError
				if errors.As(err, &held) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !mu.TryLock() {
					t.Error("two have the lock")
					return
				}
				took++
				mu.Unlock()
				s.Unlock()
			}
		}()
	}
	wg.Wait()
	if took == 0 {
		t.Error("nobody had the lock")
	}
}

// The leftovers of a dead process go; those of a living one cannot be met.
func TestLockClearsAway(t *testing.T) {
	s, _ := newStore(t)
	saveT(t, s, 1)
	w, err := s.Begin(Meta{Step: 2}, testTensors)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Store{Dir: s.Dir}).Lock(); err == nil {
		t.Fatal("locked twice")
	}
	for _, x := range testTensors {
		if err := w.Write(x.Name, Slice{}, content(x, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Commit(); err != nil { // no other one has touched it
		t.Fatal(err)
	}
	s.Unlock()
	for _, name := range []string{".tmp-step-00000003", ".tmp-step-00000003-17-0", ".tmp-step-00000001-gone", ".tmp-mine"} {
		if err := os.Mkdir(filepath.Join(s.Dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.Dir, lockName), []byte(`{"host":"dead","pid":17}`), 0o666); err != nil {
		t.Fatal(err)
	}
	lockT(t, s)
	got := slices.DeleteFunc(files(t, s), func(name string) bool { return strings.Contains(name, "/") })
	if want := []string{".tmp-mine", "step-00000001", "step-00000002"}; !slices.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}
}

// The folder is removed while a run saves into it: the run makes it again, unless
// another one was faster.
func TestFolderRemovedUnderALock(t *testing.T) {
	s, _ := newStore(t)
	saveT(t, s, 1)
	for range 2 {
		if err := os.RemoveAll(s.Dir); err != nil {
			t.Fatal(err)
		}
		saveT(t, s, 2)
		latestT(t, s, 2)
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		t.Fatal(err)
	}
	other := &Store{Dir: s.Dir}
	lockT(t, other)
	var held *HeldError
	if _, err := save(s, 3); !errors.As(err, &held) {
		t.Errorf("saved into the folder of another run: %v", err)
	}
	saveT(t, other, 1)
	latestT(t, s, 1)
}

// Where a file system has no locks, a run is warned and goes on; what may be of
// another run stays, a checkpoint of the same step as well, and no two savers share a temporary folder.
func TestNoLocks(t *testing.T) {
	dir := t.TempDir()
	open := func() (*Store, *[]string) {
		var warnings []string
		s := &Store{Dir: dir, Keep: -1, Warn: func(m string) { warnings = append(warnings, m) }}
		s.fault = func(step string) error {
			if step == "lock the folder" {
				return errors.ErrUnsupported
			}
			return nil
		}
		lockT(t, s)
		return s, &warnings
	}
	var writers []*Writer
	for i := range int64(2) {
		s, warnings := open()
		if len(*warnings) != 1 || !strings.Contains((*warnings)[0], "has no locks") {
			t.Errorf("warnings %q", *warnings)
		}
		w, err := s.Begin(Meta{Step: 5, Seed: uint64(i)}, testTensors)
		if err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
	}
	for _, x := range testTensors { // both write at once
		for i, w := range writers {
			if err := w.Write(x.Name, Slice{}, content(x, int64(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, _ := open()
	for i, w := range writers {
		if _, err := w.Commit(); (err != nil) != (i == 1) || i == 1 && !strings.Contains(err.Error(), "another process created it") {
			t.Fatal(err)
		}
		if g := generation(t, s); g != 0 {
			t.Errorf("the latest is of writer %d, not 0", g)
		}
	}
}

func TestLockThatIsNoFile(t *testing.T) {
	for kind, put := range map[string]func(path string) error{
		"a FIFO":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":        func(path string) error { return os.Mkdir(path, 0o700) },
		"a symbolic link": func(path string) error { return os.Symlink("elsewhere", path) },
	} {
		s := &Store{Dir: t.TempDir()}
		if err := put(filepath.Join(s.Dir, lockName)); err != nil {
			t.Fatal(err)
		}
		if err := s.Lock(); err == nil || !strings.Contains(err.Error(), kind) {
			t.Errorf("%s: error %v", kind, err)
		}
	}
}

// What takes the place of a file of a checkpoint, or of its folder, is damage, and
// keeps nobody waiting.
func TestNoFilesInACheckpoint(t *testing.T) {
	for _, name := range []string{manifestName, modelFile, optimizerFile} {
		for kind, put := range map[string]func(path string) error{
			"a FIFO":       func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"a folder":     func(path string) error { return os.Mkdir(path, 0o700) },
			"escapes":      func(path string) error { return os.Symlink("/dev/zero", path) },
			"no such file": func(path string) error { return os.Symlink("nowhere", path) },
			"longer than":  func(path string) error { return sparse(path, maxManifest+1) },
		} {
			if kind == "longer than" && name != manifestName {
				continue
			}
			s, warnings := newStore(t)
			saveT(t, s, 1, 2)
			path := filepath.Join(s.Dir, "step-00000002", name)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), kind) {
				t.Errorf("%s as %s: error %v", kind, name, err)
			}
			latestT(t, s, 1)
			if len(*warnings) != 1 {
				t.Errorf("%s as %s: warnings %q", kind, name, *warnings)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "step-00000001")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "a FIFO") {
		t.Errorf("a FIFO as a checkpoint: %v", err)
	}
}

func sparse(path string, size int64) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	return os.Truncate(path, size)
}
