package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
)

// savedParts is a checkpoint of 3 parts, and one before it.
func savedParts(t *testing.T, dir string) []*Store {
	t.Helper()
	stores := storesT(t, dir, 3)
	for g := range uint64(2) {
		savePartly(t, stores, Meta{Step: int64(g + 1), Seed: g + 1}, partTensors, partBoxes)
	}
	return stores
}

// partTensors over three ranks: w is sharded by rows, the others are copies.
var partTensors = []Tensor{
	{safetensors.Tensor{Name: "b", DType: dtype.F32, Shape: []int64{7}}, []string{"x"}},
	{safetensors.Tensor{Name: "w", DType: dtype.F32, Shape: []int64{6, 5}}, []string{"x", "y"}},
	{safetensors.Tensor{Name: "w/m", DType: dtype.BF16, Shape: []int64{6, 5}}, []string{"x", "y"}},
}

func partBoxes(i int) (out []Box) {
	t := &partTensors[i]
	if len(t.Shape) == 1 {
		return []Box{{Slice{Offset: []int64{0}, Extent: t.Shape}, []int{0, 1, 2}}}
	}
	for rank := range 3 {
		out = append(out, Box{Slice{Offset: []int64{int64(2 * rank), 0}, Extent: []int64{2, 5}}, []int{rank}})
	}
	return out
}

// TestTornParts: a part that is missing, cut short, longer, changed in one bit, swapped with another one, or of
// another checkpoint is found, by one process and by several, who all go back to the checkpoint before; the
// warning names the file.
func TestTornParts(t *testing.T) {
	for what, tear := range map[string]func(path, other, older string) error{
		"missing": func(path, _, _ string) error { return os.Remove(path) },
		"empty":   func(path, _, _ string) error { return os.Truncate(path, 0) },
		"cut": func(path, _, _ string) error {
			st, err := os.Stat(path)
			return errors.Join(err, os.Truncate(path, st.Size()-1))
		},
		"longer": func(path, _, _ string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, append(text, 0), 0o666))
		},
		"bit": func(path, _, _ string) error {
			text, err := os.ReadFile(path)
			text[len(text)-1] ^= 1
			return errors.Join(err, os.WriteFile(path, text, 0o666))
		},
		"swapped": func(path, other, _ string) error {
			return errors.Join(os.Rename(path, path+"x"), os.Rename(other, path), os.Rename(path+"x", other))
		},
		"older": func(path, _, older string) error {
			text, err := os.ReadFile(older)
			return errors.Join(err, os.WriteFile(path, text, 0o666))
		},
	} {
		for i, file := range []string{"model-00001-of-00003.safetensors", "optimizer-00003-of-00003.safetensors"} {
			dir := filepath.Join(t.TempDir(), "run")
			savedParts(t, dir)
			at := filepath.Join(dir, "step-00000002")
			other := filepath.Join(at, partName(dataFiles[i], 2, 3))
			if err := tear(filepath.Join(at, file), other, filepath.Join(dir, "step-00000001", file)); err != nil {
				t.Fatal(err)
			}
			for readers := range 5 {
				found := []string{file}
				if what == "swapped" {
					found = append(found, filepath.Base(other))
				}
				tornT(t, fmt.Sprintf("%s %s, %d readers", what, file, readers), dir, found, readers)
			}
		}
	}
}

func tornT(t *testing.T, what, dir string, found []string, readers int) {
	t.Helper()
	crew, peers := newCrew(max(1, readers))
	if readers == 0 {
		peers[0] = nil
	}
	warnings := make([]string, len(peers))
	err := errors.Join(together(peers, crew, func(p *Peers) error {
		rank := 0
		if p != nil {
			rank = p.Rank
		}
		c, err := OpenWith(p, dir, func(m string) { warnings[rank] += m })
		if err != nil {
			return err
		}
		if c.Meta.Step != 1 {
			err = fmt.Errorf("step %d is taken", c.Meta.Step)
		}
		return errors.Join(err, c.Close())
	})...)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for _, w := range warnings {
		if !slices.ContainsFunc(found, func(file string) bool { return strings.Contains(w, file) }) || !strings.Contains(w, "takes the checkpoint of step 1 instead") {
			t.Errorf("%s: the warning is %q", what, w)
		}
	}
}

// TestFolderIsNotShared: processes that see other disks are told so, and nothing is left of the checkpoint.
func TestFolderIsNotShared(t *testing.T) {
	stores := savedParts(t, filepath.Join(t.TempDir(), "run"))
	before := files(t, stores[0])
	stores[2] = &Store{Dir: filepath.Join(t.TempDir(), "run"), hooks: hooks{impatient: true}, Warn: stores[2].Warn}
	d := Divide(partTensors, 3, partBoxes)
	c, peers := newCrew(3)
	for rank, err := range together(peers, c, func(p *Peers) error {
		_, err := partly(stores[p.Rank], p, Meta{Step: 3}, partTensors, d)
		return err
	}) {
		if err == nil || !strings.Contains(err.Error(), "on a disk that all processes see") || rank != 2 && !strings.Contains(err.Error(), "rank 2") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	for rank, err := range together(peers, c, func(p *Peers) error {
		_, err := OpenWith(p, stores[p.Rank].Dir, nil)
		return err
	}) {
		if err == nil || !strings.Contains(err.Error(), "rank 2 sees other checkpoints") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	if after := files(t, stores[0]); !slices.Equal(before, after) {
		t.Errorf("left are %s, before there were %s", after, before)
	}
}

// TestPartsStopped stops one of the processes after each of its steps in turn, as a kill would: no other one
// hangs, the latest checkpoint is the one before or the new one, whole, and the next run goes on and leaves
// nothing behind.
func TestPartsStopped(t *testing.T) {
	serveObjects(t)
	for _, where := range []string{"disk", "objects"} {
		for dying := range 2 {
			t.Run(fmt.Sprint(where, dying), func(t *testing.T) {
				for k := 0; ; k++ {
					dir := filepath.Join(t.TempDir(), "run")
					if where == "objects" {
						dir = fmt.Sprintf("%s-%d-%d", objectDir, dying, k)
					}
					done, err := partlyDies(t, dir, dying, k)
					want := int64(2)
					last := "rename to step-"
					if where == "objects" {
						last = "complete " + manifestName
					}
					if dying != 0 && err == nil || slices.ContainsFunc(done, func(step string) bool { return strings.HasPrefix(step, last) }) {
						want = 9
					}
					goesOn(t, dir, want, fmt.Sprintf("stopped after %q", done))
					if err == nil {
						if k < 4 {
							t.Errorf("a save has %d steps: %q", len(done), done)
						}
						return
					}
				}
			})
		}
	}
}

// partlyDies saves two checkpoints, and then a third of which one process dies after k steps. It says which were
// done, and how that process ended.
func partlyDies(t *testing.T, dir string, dying, k int) (done []string, err error) {
	t.Helper()
	stores := savedParts(t, dir)
	var mu sync.Mutex
	stores[dying].fault = func(step string) error {
		mu.Lock()
		defer mu.Unlock()
		if len(done) == k {
			return errDead
		}
		done = append(done, step)
		return nil
	}
	stores[dying].wrap = func(w io.WriterAt) io.WriterAt { return dyingWriter{stores[dying], w} }
	d := Divide(partTensors, 3, partBoxes)
	c, peers := newCrew(3)
	errs := together(peers, c, func(p *Peers) error {
		_, err := partly(stores[p.Rank], p, Meta{Step: 3, Seed: 9}, partTensors, d)
		if err != nil && p.Rank == dying {
			return errDead // whatever else it says
		}
		return err
	})
	for rank, err := range errs {
		if (err == nil) != (errs[dying] == nil) {
			t.Errorf("after %q rank %d ends with %v, the one that dies with %v", done, rank, err, errs[dying])
		}
	}
	if l := lockOf(stores[0]); l != nil {
		l.Die()
	}
	return done, errs[dying]
}

// goesOn checks what the next run finds, and that it can save.
func goesOn(t *testing.T, dir string, want int64, when string) {
	t.Helper()
	next := []*Store{{Dir: dir}, {Dir: dir}, {Dir: dir}} // warnings are of the lock that was left
	lockT(t, next[0])
	check := func(want int64) {
		t.Helper()
		c, err := next[1].Latest()
		if err != nil || int64(c.Meta.Seed) != want {
			t.Fatalf("%s: the latest is not generation %d (%v)", when, want, err)
		}
		defer c.Close()
		for i := range partTensors {
			x := &partTensors[i]
			got := make([]byte, x.Bytes())
			if err := c.Read(x.Name, Slice{}, got); err != nil || !bytes.Equal(got, valueOf(x, want)) {
				t.Fatalf("%s: %s is not what was saved (%v)", when, x.Name, err)
			}
		}
	}
	check(want)
	savePartly(t, next, Meta{Step: 4, Seed: 10}, partTensors, partBoxes)
	check(10)
	names := files(t, next[0])
	if o, ok := next[0].at.(*objects); ok {
		list, err := o.f.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list {
			names = append(names, o.Rel)
		}
	}
	folders := map[string]int{}
	for _, name := range names {
		folder, _, in := strings.Cut(name, "/")
		if in {
			folders[folder]++
		} else if strings.HasPrefix(folder, ".tmp") {
			t.Fatalf("%s: left is %s", when, name)
		}
	}
	for folder, n := range folders {
		if n != 7 {
			t.Fatalf("%s: %s has %d files: %q", when, folder, n, names)
		}
	}
	next[0].Unlock()
}
