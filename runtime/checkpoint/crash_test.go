package checkpoint

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptc/runtime/checkpoint/folderlock"
)

// saveAs saves step with the content of a generation, which is its seed as well,
// so that two checkpoints of one step differ.
func saveAs(s *Store, step, generation int64) error {
	w, err := s.Begin(Meta{Step: step, Seed: uint64(generation)}, testTensors)
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, t := range testTensors {
		if err := w.Write(t.Name, Slice{}, content(t, generation)); err != nil {
			return err
		}
	}
	_, err = w.Commit()
	return err
}

// generation loads the latest checkpoint and gives what it is of, after checking
// that no other one that is whole was saved later, and that its content is right.
func generation(t *testing.T, s *Store) int64 {
	t.Helper()
	c, err := s.Latest()
	if errors.Is(err, ErrNone) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g := int64(c.Meta.Seed)
	for _, x := range testTensors {
		got := make([]byte, len(content(x, g)))
		if err := c.Read(x.Name, Slice{}, got); err != nil || !bytes.Equal(got, content(x, g)) {
			t.Fatalf("%s: %s is not what was saved (%v)", c.Dir, x.Name, err)
		}
	}
	return g
}

// newest looks for itself: the highest generation of all folders that are named as
// a checkpoint and sound.
func newest(t *testing.T, dir string) (g int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "step-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if c, err := Load(name); err == nil {
			g = max(g, int64(c.Meta.Seed))
			c.Close()
		}
	}
	return g
}

var errDead = errors.New("the process is dead")

// TestStoppedAfterAnyStep stops a save, with all that goes before and after it,
// after each of its steps on the file system in turn, as a kill would.
func TestStoppedAfterAnyStep(t *testing.T) {
	for name, c := range map[string]struct {
		before    func(s *Store) error // by a process that ends well
		overwrite bool
		step      int64 // that is saved as generation 9
		old       int64 // generation of the latest before
	}{
		"first":      {func(*Store) error { return nil }, false, 1, 0},
		"next":       {func(s *Store) error { return errors.Join(saveAs(s, 1, 1), saveAs(s, 2, 2)) }, false, 3, 2},
		"same step":  {func(s *Store) error { return errors.Join(saveAs(s, 1, 1), saveAs(s, 2, 2)) }, false, 2, 2},
		"lower step": {func(s *Store) error { return errors.Join(saveAs(s, 7, 1), saveAs(s, 8, 2)) }, false, 3, 2},
		"last of many": {func(s *Store) error {
			return errors.Join(saveAs(s, 1, 1), saveAs(s, 2, 2), saveAs(s, 3, 3))
		}, false, 4, 3},
		"overwrite": {func(s *Store) error { return errors.Join(saveAs(s, 7, 1), saveAs(s, 8, 2)) }, true, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait for the disk
			for k := 0; ; k++ {
				s, _ := newStore(t)
				if err := c.before(s); err != nil {
					t.Fatal(err)
				}
				s.Unlock()
				done, err := dies(s.Dir, c.overwrite, k, func(s *Store) error { return saveAs(s, c.step, 9) })
				if err == nil && len(done) < k { // it was not stopped any more
					if k < 15 {
						t.Errorf("a save has %d steps: %q", len(done), done)
					}
					return
				}
				want := c.old
				if slices.ContainsFunc(done, func(step string) bool { return strings.HasPrefix(step, "rename to step-") }) {
					want = 9
				}
				recovers(t, s.Dir, want, fmt.Sprintf("stopped after %d steps, the last of %q", k, done))
			}
		})
	}
}

// dies does something with a store and stops it after k steps. It says which were
// done.
func dies(dir string, overwrite bool, k int, do func(*Store) error) (done []string, err error) {
	s := &Store{Dir: dir, Overwrite: overwrite}
	s.fault = func(step string) error {
		if len(done) == k {
			return errDead
		}
		done = append(done, step)
		return nil
	}
	s.wrap = func(w io.WriterAt) io.WriterAt { return dyingWriter{s, w} }
	defer func() { // a dead process holds no lock, and removes no file
		if l := lockOf(s); l != nil {
			l.Die()
		}
	}()
	if err := s.Lock(); err != nil {
		return done, err
	}
	return done, do(s)
}

// lockOf is the lock of a folder of this machine, nil where there is none.
func lockOf(s *Store) *folderlock.Lock {
	if d, ok := s.at.(*disk); ok {
		return d.lock
	}
	return nil
}

// dyingWriter leaves half of the write in which the process dies.
type dyingWriter struct {
	s *Store
	io.WriterAt
}

func (w dyingWriter) WriteAt(p []byte, off int64) (int, error) {
	if err := w.s.fault("write"); err != nil {
		n, _ := w.WriterAt.WriteAt(p[:len(p)/2], off)
		return n, err
	}
	return w.WriterAt.WriteAt(p, off)
}

// recovers checks what the next process finds, and that it can go on; and that it
// can be stopped in the midst of that as well.
func recovers(t *testing.T, dir string, want int64, when string) {
	t.Helper()
	var warnings []string
	reader := &Store{Dir: dir, Warn: func(m string) { warnings = append(warnings, m) }}
	check := func(what string) {
		t.Helper()
		if got := generation(t, reader); got != want || got != newest(t, dir) || len(warnings) > 0 {
			t.Fatalf("%s, %s: the latest is generation %d, want %d; warnings %q", when, what, got, want, warnings)
		}
	}
	check("before the next run")
	for k := 0; ; k++ {
		_, err := dies(dir, false, k, func(*Store) error { return nil })
		check("when the next run was stopped as well")
		if err == nil {
			break
		}
	}
	next := &Store{Dir: dir, Warn: reader.Warn}
	lockT(t, next)
	for _, name := range files(t, next) {
		if strings.HasPrefix(name, ".tmp") || strings.Contains(name, ".new") {
			t.Fatalf("%s: left behind: %s", when, name)
		}
	}
	want = 10
	if err := saveAs(next, 5, want); err != nil {
		t.Fatal(err)
	}
	check("after the next save")
}

const killedDir = "PTC_TEST_KILLED_DIR"

// TestKilledHelper saves without end, and tells each generation that it has saved.
// The steps repeat, so that some take the place of older ones.
func TestKilledHelper(t *testing.T) {
	dir := os.Getenv(killedDir)
	if dir == "" {
		return // it is not a helper now
	}
	s := &Store{Dir: dir, Keep: 2, Warn: func(m string) { t.Error(m) }}
	lockT(t, s)
	for g := generation(t, s) + 1; ; g++ {
		if err := saveAs(s, g%4/2, g); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("saved %d\n", g)
	}
}

// TestKilled kills a process that saves, again and again, at any moment; it reads
// while the other writes.
func TestKilled(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	dir := filepath.Join(t.TempDir(), "run")
	s := &Store{Dir: dir, Warn: func(m string) { t.Error(m) }}
	last := int64(0)
	for range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledHelper$", "-test.count=1")
		cmd.Env = append(os.Environ(), killedDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		told := last
		for told < last+2 && lines.Scan() {
			told = max(told, saved(t, lines.Text()))
			if g := generation(t, s); g < told {
				t.Errorf("generation %d was told, and the latest is %d", told, g)
			}
		}
		time.Sleep(time.Duration(rand.Intn(12_000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			told = max(told, saved(t, lines.Text()))
		}
		_ = cmd.Wait() // it was killed
		g := generation(t, s)
		if g < told || g != newest(t, dir) || g < last+2 || g > told+1 {
			t.Fatalf("generations up to %d were told, the newest is %d, and the latest is %d", told, newest(t, dir), g)
		}
		last = g
	}
}

func saved(t *testing.T, line string) int64 {
	t.Helper()
	text, ok := strings.CutPrefix(line, "saved ")
	g, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		t.Fatalf("the helper says %q", line)
	}
	return g
}
