package cuda_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"ptc/runtime/comm"
	"ptc/runtime/cuda/blaslt/fakeblaslt"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
	"ptc/runtime/exec"
	"ptc/runtime/metrics"
	"ptc/runtime/train"
)

// TestProcessesChooseApart: devices of several processes could choose differently, which is refused.
func TestProcessesChooseApart(t *testing.T) {
	onFake(t, fakecuda.Options{})
	p := compiled(t, "mlp", "tensor", "cuda:sm_90a", smallMLP)
	mesh, err := comm.NewMesh(p.Mesh)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := comm.Open("local", mesh, comm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := exec.Open(p, exec.Options{Threads: 1, Comm: ends[:1], Blas: device.BlasLt})
	if err == nil || !strings.Contains(err.Error(), "--blas lt needs one process with all devices") {
		t.Errorf("found %v", err)
	}
	if err == nil {
		m.Close()
	}
	for _, end := range ends {
		_ = end.Close()
	}
}

// TestNoSuchLibrary: a library that nobody knows is an error.
func TestNoSuchLibrary(t *testing.T) {
	onFake(t, fakecuda.Options{})
	p := compiled(t, "mlp", "single", "cuda:sm_90a", smallMLP)
	if _, err := train.Run(context.Background(), p, train.Options{Threads: 1, Steps: 1, Blas: "mkl"}); err == nil || !strings.Contains(err.Error(), `no library of products "mkl"`) {
		t.Errorf("found %v", err)
	}
}

// TestTrainsWithLibrary: examples train with the library as on the reference, with several devices on one GPU
// as well.
func TestTrainsWithLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	for i, c := range []struct{ example, layout, set string }{
		{"mlp", "single", smallMLP}, {"mlp", "tensor", smallMLP}, {"gpt", "single", smallGPT},
	} {
		want, err := train.Run(context.Background(), compiled(t, c.example, c.layout, "ref", c.set), train.Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		drv := onFake(t, fakecuda.Options{Seed: uint64(i)})
		lib := withLibrary(t, fakeblaslt.Options{Driver: drv, Offers: []fakeblaslt.Offer{{Time: slow}, {Workspace: 4096}, {Time: slow}}})
		log := &warnings{}
		got, err := train.Run(context.Background(), compiled(t, c.example, c.layout, "cuda:sm_90a", c.set), train.Options{Threads: 2, Blas: device.BlasLt, Log: log})
		if err != nil {
			t.Fatalf("%s, layout %s: %v; faults %q", c.example, c.layout, err, drv.Faults())
		}
		if math.Abs(got.Loss-want.Loss) > 1e-5*want.Loss || math.Abs(got.ValLoss-want.ValLoss) > 1e-5*want.ValLoss {
			t.Errorf("%s, layout %s: losses %v and %v; expected %v and %v", c.example, c.layout, got.Loss, got.ValLoss, want.Loss, want.ValLoss)
		}
		if len(lib.Order()) == 0 || len(log.told) > 0 {
			t.Errorf("%s, layout %s: the library computed %d products, told %q", c.example, c.layout, len(lib.Order()), log.told)
		}
	}
}

// TestWarnsOnce: several devices whose library cannot be used warn once.
func TestWarnsOnce(t *testing.T) {
	drv := onFake(t, fakecuda.Options{})
	withLibrary(t, fakeblaslt.Options{Driver: drv, Version: 110803})
	log := &warnings{}
	if _, err := train.Run(context.Background(), compiled(t, "mlp", "tensor", "cuda:sm_90a", smallMLP), train.Options{Threads: 2, Steps: 1, Blas: device.BlasLt, Log: log}); err != nil {
		t.Fatal(err)
	}
	if len(log.told) != 1 || !strings.Contains(log.told[0], "version 11.8") {
		t.Errorf("told %q", log.told)
	}
}

// warnings are those of a run.
type warnings struct{ told []string }

func (w *warnings) Tell(e metrics.Event) {
	if x, ok := e.(*metrics.Warning); ok {
		w.told = append(w.told, x.Message)
	}
}

func (w *warnings) Close() error { return nil }
