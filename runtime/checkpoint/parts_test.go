package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
)

// In tests few files are open at once, so that they are closed and opened again.
func init() { maxOpen = 3 }

// layoutT is a random layout of tensors over ranks: each tensor is cut along some axes, and ranks that share a
// box have copies of it.
func layoutT(rng *rand.Rand, ranks int) (tensors []Tensor, boxes func(int) []Box) {
	all := [][]Box{}
	types := []dtype.DType{dtype.F32, dtype.BF16, dtype.U8, dtype.I64}
	for i := range 1 + rng.IntN(6) {
		t := Tensor{Tensor: safetensors.Tensor{Name: fmt.Sprintf("t%d", i), DType: types[rng.IntN(len(types))]}}
		if rng.IntN(2) == 0 {
			t.Name += "/m"
		}
		cuts := []int{}
		cells := 1
		for range rng.IntN(4) {
			cut := 1
			if rng.IntN(2) == 0 && cells*2 <= ranks {
				cut = 2 + rng.IntN(ranks/cells-1)
			}
			size := cut * (1 + rng.IntN(4))
			if rng.IntN(20) == 0 && cut == 1 {
				size = 0
			}
			cells *= cut
			cuts = append(cuts, cut)
			t.Shape, t.Axes = append(t.Shape, int64(size)), append(t.Axes, fmt.Sprint("x", len(cuts)))
		}
		of := make([]Box, cells)
		for c := range of {
			of[c].Slice = Slice{Offset: make([]int64, len(cuts)), Extent: make([]int64, len(cuts))}
			for at, k := c, len(cuts)-1; k >= 0; k-- {
				of[c].Extent[k] = t.Shape[k] / int64(cuts[k])
				of[c].Offset[k] = int64(at%cuts[k]) * of[c].Extent[k]
				at /= cuts[k]
			}
		}
		for rank := range ranks { // the first of them so that every box has one
			c := rank
			if rank >= cells {
				c = rng.IntN(cells)
			}
			of[c].Ranks = append(of[c].Ranks, rank)
		}
		tensors, all = append(tensors, t), append(all, of)
	}
	return tensors, func(i int) []Box { return all[i] }
}

// valueOf is the content of a tensor: of every element another one.
func valueOf(t *Tensor, generation int64) []byte {
	b := make([]byte, t.Bytes())
	for i := range b {
		b[i] = byte(i + i>>8*13 + int(generation)*31 + len(t.Name))
	}
	return b
}

// partly saves a checkpoint by one process: each piece is copied out of the whole tensor.
func partly(s *Store, p *Peers, meta Meta, tensors []Tensor, d *Division) (dir string, err error) {
	w := s.Part(p, meta, tensors, d)
	defer func() { w.Close(err == nil) }()
	if err := w.Join(w.Begin()); err != nil {
		return "", err
	}
	err = func() error {
		for i, piece := range w.Pieces() {
			t := &tensors[piece.Tensor]
			data := make([]byte, piece.Bytes)
			if err := piece.Copy(&t.Tensor, data, valueOf(t, int64(meta.Seed))); err != nil {
				return err
			}
			if err := w.Write(i, data); err != nil {
				return err
			}
		}
		return w.Finish()
	}()
	if err := p.Agree(err); err != nil {
		return "", err
	}
	if err := w.Collect(); err != nil {
		return "", err
	}
	dir, err = w.Publish()
	return dir, p.Agree(err)
}

// storesT are the stores of processes, of which that of rank 0 is locked.
func storesT(t *testing.T, dir string, n int) []*Store {
	t.Helper()
	out := make([]*Store, n)
	for i := range out {
		out[i] = &Store{Dir: dir, impatient: true, Warn: func(m string) { t.Error(m) }}
	}
	lockT(t, out[0])
	return out
}

// savePartly saves by all processes.
func savePartly(t *testing.T, stores []*Store, meta Meta, tensors []Tensor, boxes func(int) []Box) string {
	t.Helper()
	d := Divide(tensors, len(stores), boxes)
	c, peers := newCrew(len(stores))
	dirs := make([]string, len(stores))
	errs := together(peers, c, func(p *Peers) (err error) {
		dirs[p.Rank], err = partly(stores[p.Rank], p, meta, tensors, d)
		return err
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return dirs[0]
}

// counter counts what is written.
type counter struct {
	io.WriterAt
	n *atomic.Int64
}

func (c counter) WriteAt(p []byte, at int64) (int, error) {
	c.n.Add(int64(len(p)))
	return c.WriterAt.WriteAt(p, at)
}

// TestParts: tensors under any layout, written in parts by any number of processes, are read back by one process,
// and by any other number under another layout, each the slices it needs; to a disk and to an object store.
func TestParts(t *testing.T) {
	serveObjects(t)
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 28))
		ranks := 1 + rng.IntN(9)
		tensors, boxes := layoutT(rng, ranks)
		dir := filepath.Join(t.TempDir(), "run")
		if seed%4 == 0 {
			dir = fmt.Sprintf("%s%d", objectDir, seed)
		}
		stores := storesT(t, dir, ranks)
		written := make([]atomic.Int64, ranks)
		for i := range stores {
			stores[i].wrap = func(w io.WriterAt) io.WriterAt { return counter{w, &written[i]} }
		}
		at := savePartly(t, stores, Meta{Step: 3, Seed: seed}, tensors, boxes)
		heldBy := Divide(tensors, ranks, boxes).Bytes()
		for i, n := range heldBy {
			if got := written[i].Load(); got < n || got > n+int64(400*(len(tensors)+2)) { // the rest are headers
				t.Errorf("seed %d: rank %d wrote %d bytes, for %d of tensors", seed, i, got, n)
			}
		}
		readBack(t, rng, at, tensors, int64(seed))
		if t.Failed() {
			t.Fatalf("seed %d: %d ranks, tensors %v", seed, ranks, tensors)
		}
	}
}

// readBack reads all of a checkpoint by one process, and random slices by several.
func readBack(t *testing.T, rng *rand.Rand, dir string, tensors []Tensor, generation int64) {
	t.Helper()
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tensors {
		x := &tensors[i]
		got := make([]byte, x.Bytes())
		if err := c.Read(x.Name, Slice{}, got); err != nil || !bytes.Equal(got, valueOf(x, generation)) {
			t.Errorf("%s is not what was saved (%v)", x.Name, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	readers := 1 + rng.IntN(4)
	other := rng.Uint64()
	crew, peers := newCrew(readers)
	err = errors.Join(together(peers, crew, func(p *Peers) error {
		c, err := OpenWith(p, dir, nil)
		if err != nil {
			return err
		}
		defer c.Close()
		rng := rand.New(rand.NewPCG(other, uint64(p.Rank)))
		for i := range tensors {
			x := &tensors[i]
			s := Slice{Offset: make([]int64, len(x.Shape)), Extent: make([]int64, len(x.Shape))}
			for k, n := range x.Shape {
				s.Offset[k] = rng.Int64N(n + 1)
				s.Extent[k] = rng.Int64N(n - s.Offset[k] + 1)
			}
			got := make([]byte, s.Elems()*int64(x.DType.Size()))
			want := make([]byte, len(got))
			if err := s.Copy(&x.Tensor, want, valueOf(x, generation)); err != nil {
				return err
			}
			if err := c.Read(x.Name, s, got); err != nil || !bytes.Equal(got, want) {
				return fmt.Errorf("%v of %s is not what was saved (%w)", s, x.Name, err)
			}
		}
		return nil
	})...)
	if err != nil {
		t.Error(err)
	}
}

// TestDivisionIsEven: what all ranks have is written by each about as much; what one has, by that one.
func TestDivisionIsEven(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		ranks := 1 + rng.IntN(16)
		var tensors []Tensor
		all := int64(0)
		for i := range 3 + rng.IntN(20) {
			x := Tensor{Tensor: safetensors.Tensor{Name: fmt.Sprint(i), DType: dtype.F32, Shape: []int64{int64(64 + rng.IntN(64)), int64(1 + rng.IntN(64))}}, Axes: []string{"a", "b"}}
			tensors = append(tensors, x)
			all += x.Bytes()
		}
		ranksOf := make([]int, ranks)
		for i := range ranksOf {
			ranksOf[i] = i
		}
		d := Divide(tensors, ranks, func(i int) []Box {
			return []Box{{Slice{Offset: []int64{0, 0}, Extent: tensors[i].Shape}, ranksOf}}
		})
		mean := all / int64(ranks)
		if most := slices.Max(d.Bytes()); most > mean+mean/4+1024 {
			t.Errorf("seed %d: of %d ranks one writes %d bytes, the mean is %d", seed, ranks, most, mean)
		}
	}
}

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
		if !slices.ContainsFunc(found, func(file string) bool { return strings.Contains(w, file) }) || !strings.Contains(w, "taking step 1 instead") {
			t.Errorf("%s: the warning is %q", what, w)
		}
	}
}

// TestFolderIsNotShared: processes that see other disks are told so, and nothing is left of the checkpoint.
func TestFolderIsNotShared(t *testing.T) {
	stores := savedParts(t, filepath.Join(t.TempDir(), "run"))
	before := files(t, stores[0])
	stores[2].Dir = filepath.Join(t.TempDir(), "run")
	d := Divide(partTensors, 3, partBoxes)
	c, peers := newCrew(3)
	for rank, err := range together(peers, c, func(p *Peers) error {
		_, err := partly(stores[p.Rank], p, Meta{Step: 3}, partTensors, d)
		return err
	}) {
		if err == nil || !strings.Contains(err.Error(), "has to be on a disk that all processes see") || rank != 2 && !strings.Contains(err.Error(), "rank 2") {
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
	if stores[0].lock != nil {
		stores[0].lock.Die()
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
	if next[0].away != nil {
		list, err := next[0].away.f.List()
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

// FuzzGrid: whatever places of slices a manifest has, they are refused, or the slices make up the tensor, each
// element once.
func FuzzGrid(f *testing.F) {
	d := Divide(partTensors, 3, partBoxes)
	m := newManifest(Meta{}, partTensors)
	m.divide(d)
	for _, t := range m.Tensors {
		text, err := json.Marshal(t)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 3)
	}
	f.Add([]byte(`{"shape":[2,2],"axes":["x","y"],"starts":[[0,1],[0,1]],"parts":[1,2,2,1]}`), 2)
	f.Add([]byte(`{"shape":[2,2],"axes":["x","y"],"starts":[[0,1],[0,1]],"parts":[1,2,1,3]}`), 3)
	f.Add([]byte(`{"shape":[0],"axes":["x"],"starts":[[0]],"parts":[1]}`), 1)
	f.Fuzz(func(t *testing.T, text []byte, parts int) {
		var x manifestTensor
		m := manifest{Parts: parts, Format: formatParts}
		if json.Unmarshal(text, &x) != nil || parts < 1 || parts > maxParts || m.checkTensor(&x) != nil {
			return
		}
		all := int64(1)
		for _, n := range x.Shape {
			all *= n
		}
		if all > 1<<12 || len(x.Shape) > 8 {
			return
		}
		whole := safetensors.Tensor{DType: dtype.U8, Shape: x.Shape}
		seen := make([]byte, all)
		for _, h := range x.grid.slices(x.Shape) {
			one, ok := x.grid.of(h.part, x.Shape)
			if !ok || !slices.Equal(one.Offset, h.Offset) || !slices.Equal(one.Extent, h.Extent) || h.part < 1 || h.part > parts {
				t.Fatalf("part %d has %v and %v", h.part, one, h.Slice)
			}
			mark := make([]byte, h.Elems())
			if err := h.Copy(&whole, mark, seen); err != nil {
				t.Fatal(err)
			}
			for i := range mark {
				mark[i]++
			}
			if err := h.Place(&whole, seen, mark); err != nil {
				t.Fatal(err)
			}
		}
		if bytes.ContainsFunc(seen, func(r rune) bool { return r != 1 }) {
			t.Fatalf("elements are in as many slices: %v", seen)
		}
	})
}

// TestManifestsOfParts: what no program writes is refused.
func TestManifestsOfParts(t *testing.T) {
	valid := func() *manifest {
		m := newManifest(Meta{Step: 1}, partTensors)
		m.divide(Divide(partTensors, 3, partBoxes))
		m.Sequence = 1
		for part := range 3 {
			for _, name := range partFiles(part+1, 3) {
				m.Files = append(m.Files, manifestFile{Name: name})
			}
		}
		return m
	}
	for what, change := range map[string]func(m *manifest){
		"":                       func(*manifest) {},
		"names the file":         func(m *manifest) { m.Files[0].Name = "../../model-00001-of-00003.safetensors" },
		"names the file \"model": func(m *manifest) { m.Files[0], m.Files[2] = m.Files[2], m.Files[0] },
		"5 files and 3 parts":    func(m *manifest) { m.Files = m.Files[:5] },
		"6 files and 2 parts":    func(m *manifest) { m.Parts = 2 },
		"100000 parts":           func(m *manifest) { m.Parts = 100_000 },
		"a slice in part 4 of 3": func(m *manifest) {
			m.Tensors[1].grid.Parts[0] = 4
		},
		"is no slice":       func(m *manifest) { m.Tensors[1].grid.Parts = []int32{1, 2, 1} },
		"3 slices are in 2": func(m *manifest) { m.Tensors[1].grid.Parts = []int32{1, 2} },
		"do not begin at 0": func(m *manifest) { m.Tensors[1].Starts[0][0] = 1 },
		"begins at 6":       func(m *manifest) { m.Tensors[1].Starts[0][2] = 6 },
		"begins at 0":       func(m *manifest) { m.Tensors[1].Starts[0][1] = 0 },
		"along 1 axes":      func(m *manifest) { m.Tensors[1].Starts = m.Tensors[1].Starts[:1] },
		"it has a file":     func(m *manifest) { m.Tensors[1].File = modelFile },
		"its shape is":      func(m *manifest) { m.Tensors[1].Shape[1] = 1 << 60 },
		"model.safetensors is the": func(m *manifest) {
			m.Parts, m.Files = 0, []manifestFile{{Name: modelFile}, {Name: optimizerFile}}
		},
	} {
		m := valid()
		change(m)
		text, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		_, err = decodeManifest(text)
		if what == "" && err != nil || what != "" && (err == nil || !strings.Contains(err.Error(), what)) {
			t.Errorf("%q: %v", what, err)
		}
	}
}
