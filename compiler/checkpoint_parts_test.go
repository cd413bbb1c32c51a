package compiler_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"ptc/bench/matrix"
	"ptc/runtime/checkpoint"
	"ptc/runtime/comm"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

var (
	partsCases = flag.Int("partscases", 3, "pairs of layouts of TestCheckpointsInParts")
	partsSeed  = flag.Uint64("partsseed", 1, "seed of the layouts of TestCheckpointsInParts")
)

// randomPlan compiles a random row of the matrix, of at most 8 devices.
func randomPlan(t *testing.T, rng *rand.Rand, m matrix.Model) (*program.Plan, string) {
	t.Helper()
	for {
		l := matrix.Layouts[rng.IntN(len(matrix.Layouts))]
		if !l.For(m) || l.Set != "" {
			continue
		}
		p, err := matrix.Compile("..", m, l, "ref")
		if err != nil {
			t.Fatal(err)
		}
		if n := p.Mesh.Ranks(); n <= 8 {
			return p, l.Name()
		}
	}
}

// job runs a plan by a process for each device.
func job(t *testing.T, p *program.Plan, o train.Options) {
	t.Helper()
	mesh, err := comm.NewMesh(p.Mesh)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := comm.Open("local", mesh, comm.Options{Timeout: 2 * time.Minute, InFlight: program.InFlight})
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, len(ends))
	var wg sync.WaitGroup
	for rank, end := range ends {
		wg.Add(1)
		go func() {
			defer wg.Done()
			o := o
			o.Comm, o.Threads = []comm.Device{end}, 1
			_, errs[rank] = train.Run(context.Background(), p, o)
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestCheckpointsInParts: what the processes of a random layout save in parts is, bit for bit, what one process
// saves; one process under another layout goes on from it, and so do the processes of that layout, to the
// same parameters.
func TestCheckpointsInParts(t *testing.T) {
	m, err := matrix.Find("gpt")
	if err != nil {
		t.Fatal(err)
	}
	m.Set = append(slices.Clone(m.Set), "vocab=256", "layers=2")
	for i := range *partsCases {
		rng := rand.New(rand.NewPCG(*partsSeed, uint64(i)))
		first, name := randomPlan(t, rng, m)
		second, other := randomPlan(t, rng, m)
		t.Run(fmt.Sprintf("%s then %s", name, other), func(t *testing.T) {
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			one := func(p *program.Plan, o train.Options) {
				t.Helper()
				if _, err := train.Run(context.Background(), p, o); err != nil {
					t.Fatal(err)
				}
			}
			o := train.Options{Steps: 2, Every: 1, Valid: -1}
			o.Checkpoint = at("whole")
			one(first, o)
			o.Checkpoint = at("parts")
			job(t, first, o)
			sameCheckpoint(t, filepath.Join(at("whole"), "step-00000001"), filepath.Join(at("parts"), "step-00000001"))
			sameCheckpoint(t, filepath.Join(at("whole"), "step-00000002"), filepath.Join(at("parts"), "step-00000002"))
			if err := os.CopyFS(at("again"), os.DirFS(at("parts"))); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(at("files"), os.DirFS(at("whole"))); err != nil {
				t.Fatal(err)
			}
			for _, x := range []struct {
				name string
				run  func(*program.Plan, train.Options)
			}{{"whole", one}, {"parts", one}, {"again", func(p *program.Plan, o train.Options) { job(t, p, o) }},
				{"files", func(p *program.Plan, o train.Options) { job(t, p, o) }}} {
				x.run(second, train.Options{Steps: 3, Resume: true, Valid: -1, Checkpoint: at(x.name), Save: at(x.name + ".safetensors")})
			}
			want, err := os.ReadFile(at("whole.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"parts", "again", "files"} {
				got, err := os.ReadFile(at(name + ".safetensors"))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s ends with other parameters (%v)", name, err)
				}
				sameCheckpoint(t, filepath.Join(at("whole"), "step-00000003"), filepath.Join(at(name), "step-00000003"))
			}
		})
	}
}

// sameCheckpoint compares the tensors of two checkpoints.
func sameCheckpoint(t *testing.T, a, b string) {
	t.Helper()
	x, err := checkpoint.Load(a)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	y, err := checkpoint.Load(b)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if len(x.Tensors()) != len(y.Tensors()) || len(x.Tensors()) == 0 {
		t.Fatalf("%d and %d tensors", len(x.Tensors()), len(y.Tensors()))
	}
	for _, v := range x.Tensors() {
		p, q := make([]byte, v.Bytes()), make([]byte, v.Bytes())
		err := errors.Join(x.Read(v.Name, checkpoint.Slice{}, p), y.Read(v.Name, checkpoint.Slice{}, q))
		if err != nil || !bytes.Equal(p, q) {
			t.Errorf("%s of %s and %s differ (%v)", v.Name, a, b, err)
		}
	}
}
