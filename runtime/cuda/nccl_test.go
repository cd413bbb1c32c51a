package cuda_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ptc/runtime/comm"
	"ptc/runtime/comm/nccl"
	"ptc/runtime/comm/nccl/fakenccl"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

// onLibrary has GPUs exchange by a library for tests, which must be left clean.
func onLibrary(t *testing.T, drv *fakecuda.Driver, seed uint64) *fakenccl.Library {
	t.Helper()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("calls by value are of amd64 and arm64")
	}
	lib := fakenccl.New(drv, fakenccl.Options{Seed: seed})
	nccl.Use(lib.Lookup)
	t.Cleanup(func() { nccl.Use(nil) })
	return lib
}

// trained trains with each device as if in a process and on a GPU of its own.
func trained(plan *program.Plan, o nccl.Options, options func(rank int) train.Options) (train.Summary, error) {
	return trainedBy(plan, o, func(d comm.Device) comm.Device { return d }, options)
}

// trainedBy does so by what is made of the transport.
func trainedBy(plan *program.Plan, o nccl.Options, by func(comm.Device) comm.Device, options func(rank int) train.Options) (train.Summary, error) {
	mesh, err := comm.NewMesh(plan.Mesh)
	if err != nil {
		return train.Summary{}, err
	}
	hosts, err := comm.Open("local", mesh, comm.Options{Timeout: time.Minute, InFlight: program.InFlight})
	if err != nil {
		return train.Summary{}, err
	}
	errs, results := make([]error, len(hosts)), make([]train.Summary, len(hosts))
	var wg sync.WaitGroup
	for rank, host := range hosts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			end, err := nccl.Over(host, o)
			if err != nil {
				errs[rank] = err
				return
			}
			opts := options(rank)
			opts.Comm, opts.Threads = []comm.Device{by(end)}, 1
			results[rank], errs[rank] = train.Run(context.Background(), plan, opts)
		}()
	}
	wg.Wait()
	return results[0], errors.Join(errs...)
}

// TestTrainsByNCCL: layouts train on several GPUs that communicate by themselves as on the
// reference.
func TestTrainsByNCCL(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	for i, c := range []struct{ example, layout, set string }{
		{"mlp", "tensor", smallMLP}, {"gpt", "data", smallGPT}, {"gpt", "piped", smallGPT + " batch=4"},
	} {
		t.Run(c.example+" "+c.layout, func(t *testing.T) {
			want, err := train.Run(context.Background(), compiled(t, c.example, c.layout, "ref", c.set), train.Options{Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			plan := compiled(t, c.example, c.layout, "cuda:sm_90a", c.set)
			drv := onFake(t, fakecuda.Options{Seed: uint64(i), GPUs: plan.Mesh.Ranks()})
			lib := onLibrary(t, drv, uint64(i))
			streams := plan.Streams()
			if streams == 0 {
				t.Fatal("its messages need tags")
			}
			// The first step is gone through in pieces, for its gradients.
			file, log := filepath.Join(t.TempDir(), "grads"), &said{}
			got, err := trained(plan, nccl.Options{InFlight: program.InFlight, Streams: streams}, func(int) train.Options { return train.Options{DumpGrads: file, Log: log} })
			if err != nil {
				t.Fatalf("%v; faults %q", err, drv.Faults())
			}
			if math.Abs(got.Loss-want.Loss) > 1e-5*want.Loss || math.Abs(got.ValLoss-want.ValLoss) > 1e-5*want.ValLoss {
				t.Errorf("losses %v and %v; expected %v and %v", got.Loss, got.ValLoss, want.Loss, want.ValLoss)
			}
			if p, l := lib.Problems(), lib.Leaks(); len(p)+len(l) > 0 {
				t.Errorf("problems %q, left %q", p, l)
			}
			if has := strings.Contains(log.all(), "reduce_scatter max of f32 goes by way of the host"); has != (c.layout == "piped") {
				t.Errorf("said %q", log.all())
			}
			if lib.Called("ncclGroupEnd") == 0 {
				t.Error("NCCL was not used")
			}
		})
	}
}

// TestNCCLFails: what the library says while a program runs ends the training with the operation's
// name, and leaves nothing.
func TestNCCLFails(t *testing.T) {
	plan := compiled(t, "mlp", "tensor", "cuda:sm_90a", smallMLP)
	drv := onFake(t, fakecuda.Options{Seed: 5, GPUs: plan.Mesh.Ranks()})
	lib := onLibrary(t, drv, 5)
	lib.Fail("ncclGroupEnd", 3, fakenccl.SystemError)
	_, err := trained(plan, nccl.Options{Timeout: time.Second}, func(int) train.Options { return train.Options{} })
	if err == nil || !strings.Contains(err.Error(), "ncclGroupEnd failed with error 2") {
		t.Errorf("found %v", err)
	}
	if l := lib.Leaks(); len(l) > 0 {
		t.Errorf("left %q", l)
	}
}
