package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
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
		out[i] = &Store{Dir: dir, hooks: hooks{impatient: true}, Warn: func(m string) { t.Error(m) }}
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
