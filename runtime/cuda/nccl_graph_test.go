package cuda_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"ptc/runtime/comm"
	"ptc/runtime/comm/nccl"
	"ptc/runtime/comm/nccl/fakenccl"
	"ptc/runtime/cuda"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
	"ptc/runtime/explain"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

// pair is the plan of two GPUs that these tests run.
func pair(t *testing.T) *program.Plan { return compiled(t, "mlp", "tensor", "cuda:sm_90a", smallMLP) }

// few are the options of a few steps, without validation.
func few(steps int64, on train.OnNaN) func(int) train.Options {
	return func(int) train.Options { return train.Options{Steps: steps, OnNaN: on, Valid: -1} }
}

// TestOneGraph: a step with all that it exchanges is one launch of a graph, and two where the host
// looks at the loss before the update. The first step is none.
func TestOneGraph(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	const steps = 3
	plan := pair(t)
	for each, on := range map[int]train.OnNaN{1: train.NaNContinue, 2: train.NaNStop} {
		drv := onFake(t, fakecuda.Options{Seed: uint64(each), GPUs: plan.Mesh.Ranks()})
		lib := onLibrary(t, drv, uint64(each))
		if _, err := trained(plan, nccl.Options{InFlight: program.InFlight, Streams: plan.Streams()}, few(steps, on)); err != nil {
			t.Fatalf("%v; faults %q", err, drv.Faults())
		}
		if n, want := drv.Called("cuGraphLaunch"), plan.Mesh.Ranks()*each*(steps-1); n != want {
			t.Errorf("%d launches of graphs in %d steps of %d devices; expected %d", n, steps, plan.Mesh.Ranks(), want)
		}
		if lib.Called("ncclCommRegister") == 0 {
			t.Error("no memory is registered")
		}
		if p, l := lib.Problems(), lib.Leaks(); len(p)+len(l) > 0 {
			t.Errorf("problems %q, left %q", p, l)
		}
	}
}

// TestOldLibrary: a library that captures nothing, of one process, is used as it can be, which is said; the
// numbers are the same.
func TestOldLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	plan := pair(t)
	losses := map[int]float64{}
	for _, version := range []int{23007, 22304, 21403} {
		drv := onFake(t, fakecuda.Options{Seed: 9, GPUs: plan.Mesh.Ranks()})
		lib := fakenccl.New(drv, fakenccl.Options{Seed: 9, Version: version})
		nccl.Use(lib.Lookup)
		t.Cleanup(func() { nccl.Use(nil) })
		log := &said{}
		sum, err := trained(plan, nccl.Options{InFlight: program.InFlight, Streams: plan.Streams()}, func(rank int) train.Options {
			o := few(3, train.NaNContinue)(rank)
			o.Log = log
			return o
		})
		if err != nil {
			t.Fatal(err)
		}
		losses[version] = sum.Loss
		remark := strings.Contains(log.all(), "a process has NCCL 2.14.3, which cannot capture operations in graphs; install NCCL 2.15.5 or newer")
		if old := version == 21403; remark != old || old == (drv.Called("cuGraphLaunch") == 2*plan.Mesh.Ranks()) {
			t.Errorf("version %d: %d launches, said %q", version, drv.Called("cuGraphLaunch"), log.all())
		}
		if has := lib.Called("ncclCommRegister") > 0; has != (version == 23007) {
			t.Errorf("version %d: memory is registered: %v", version, has)
		}
		if p, l := lib.Problems(), lib.Leaks(); len(p)+len(l) > 0 {
			t.Errorf("problems %q, left %q", p, l)
		}
	}
	if losses[23007] != losses[21403] || losses[22304] != losses[21403] {
		t.Errorf("losses differ: %v", losses)
	}
}

// said is the warnings of all processes.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) Tell(e metrics.Event) {
	if w, ok := e.(*metrics.Warning); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines = append(s.lines, w.Message)
	}
}

func (s *said) Close() error { return nil }

func (s *said) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// captures is what a transport has that is captured.
type captures interface {
	comm.Device
	device.Enqueuer
	device.Allocator
	Captures() error
	Does(op comm.Op) bool
	Capture(ops []device.Enqueued) ([]device.Captured, error)
	Replay(stream uintptr, ops []device.Enqueued, marks []uint32) error
}

// mutant is a transport that gets something of graphs wrong.
type mutant struct {
	captures
	lib *fakenccl.Library
	do  func(rank int, list []device.Captured)
}

// Watch ends the run when the library has found something.
func (m *mutant) Watch() error {
	if p := m.lib.Problems(); len(p) > 0 {
		m.Abort(errors.New(p[0]))
	}
	return m.captures.Watch()
}

func (m *mutant) Capture(ops []device.Enqueued) ([]device.Captured, error) {
	list, err := m.captures.Capture(ops)
	if err == nil {
		m.do(m.Rank(), list)
	}
	return list, err
}

// TestGraphMutants: what is wrong with the order of exchanges in a graph is found by the libraries for tests, or by
// the numbers.
func TestGraphMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	type list = []device.Captured
	plain, plans := map[string]float64{}, map[string]*program.Plan{}
	for _, c := range []struct {
		name, layout string
		do           func(rank int, l list)
		want         string // a problem; empty: other numbers, or a problem
	}{
		{"nothing", "data", func(int, list) {}, ""},
		{"nothing", "staged", func(int, list) {}, ""},
		{"exchanges of a connection are not in order", "data", func(_ int, l list) {
			for i := range l {
				l[i].Behind = -1
			}
		}, "groups of a communicator at once"},
		{"a rank has another order", "data", func(rank int, l list) {
			if rank == 1 { // the last two change places
				n := len(l)
				l[n-1].Graph, l[n-2].Graph = l[n-2].Graph, l[n-1].Graph
			}
		}, "comes to"},
		{"nothing waits for what is received", "staged", func(_ int, l list) {
			for i := range l {
				l[i].Sends, l[i].Post = true, device.Rows{}
			}
		}, ""},
	} {
		if plans[c.layout] == nil {
			plans[c.layout] = compiled(t, "gpt", c.layout, "cuda:sm_90a", smallGPT+" batch=4")
		}
		plan := plans[c.layout]
		drv := fakecuda.New(fakecuda.Options{Seed: 5, GPUs: plan.Mesh.Ranks()})
		cuda.Use(drv.Lookup)
		t.Cleanup(func() { cuda.Use(nil) })
		lib := onLibrary(t, drv, 5)
		wrap := func(d comm.Device) comm.Device {
			return &mutant{d.(captures), lib, c.do}
		}
		sum, err := trainedBy(plan, nccl.Options{InFlight: program.InFlight, Streams: plan.Streams(), Timeout: 20 * time.Second}, wrap, few(2, train.NaNContinue))
		found := strings.Join(append(drv.Problems(), lib.Problems()...), "\n")
		switch {
		case c.name == "nothing":
			if plain[c.layout] = sum.Loss; err != nil || found != "" || drv.Called("cuGraphLaunch") != plan.Mesh.Ranks() {
				t.Errorf("%s: %v, problems %q, %d launches of graphs in the second step", c.layout, err, found, drv.Called("cuGraphLaunch"))
			}
		case c.want != "" && !strings.Contains(found, c.want), c.want == "" && found == "" && err == nil && sum.Loss == plain[c.layout]:
			t.Errorf("%s: nothing is found: %v, problems %q", c.name, err, found)
		}
	}
}

// TestRoomForCommunicators: where a GPU may have too little memory in addition to the arena, that is said, as an estimate.
func TestRoomForCommunicators(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	plan := pair(t)
	for _, memory := range []int64{1 << 20, 1 << 30} {
		drv := onFake(t, fakecuda.Options{Seed: 4, GPUs: plan.Mesh.Ranks(), Memory: memory})
		onLibrary(t, drv, 4)
		log := &said{}
		_, err := trained(plan, nccl.Options{InFlight: program.InFlight, Streams: plan.Streams()}, func(rank int) train.Options {
			o := few(1, train.NaNContinue)(rank)
			o.Log = log
			return o
		})
		if has := strings.Contains(log.all(), "communicators of NCCL are estimated to take 20.0 MiB to 640 MiB"); err != nil || has != (memory == 1<<20) {
			t.Errorf("%d bytes: %v, said %q", memory, err, log.all())
		}
	}
	if c := explain.Describe(plan).Memory.Communicators; c == nil || c.Groups != 1 || c.Links != 0 || c.Least != 20<<20 {
		t.Errorf("%+v", c)
	}
}
