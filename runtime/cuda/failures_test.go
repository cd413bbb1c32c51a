package cuda

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// offloading is a plan with all that the engine does: kernels, ports, copies, communication.
func offloading() *toy {
	t := newToy()
	t.Mesh = []program.MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 3}}
	x := t.buffer("", "i32", elems)
	a, b, wide := t.buffer("", "i32", elems), t.buffer("", "i32", elems), t.buffer("", "i32", 6*elems)
	host, loss := t.buffer(program.Host, "i32", elems), t.buffer("", "f32", 1)
	t.port(program.RoleData, "x", x)
	t.port(program.RoleLoss, "", loss)
	t.instr(program.Instr{Bufs: []int{host, a}, Comm: &program.Comm{Kind: collective.HostToDevice, Start: true}})
	t.kernel(stir, x, b)
	t.instr(program.Instr{Comm: &program.Comm{Kind: collective.Done, Of: 0}})
	t.instr(program.Instr{Bufs: []int{wide, b}, Comm: &program.Comm{Kind: collective.ShardSlice, Over: []string{"dp", "tp"}, DType: "i32", Outer: 16, Inner: 8}})
	t.instr(program.Instr{Bufs: []int{a, a}, Comm: &program.Comm{Kind: collective.AllReduce, Over: []string{"tp"}, Reduce: "sum", DType: "i32", Outer: 1, Inner: elems}})
	t.kernel(mix, a, b, b)
	t.instr(program.Instr{Bufs: []int{b, host}, Comm: &program.Comm{Kind: collective.DeviceToHost}})
	return t
}

// life is all that is done with an engine; the first error ends it. It says how many calls of the driver
// there were before the engine is closed.
func life(t *toy, drv *fakecuda.Driver, closed *int) (err error) {
	defer func() {
		if *closed == 0 {
			*closed = drv.Calls()
		}
	}()
	if err := fits(t.Plan, []*program.Device{t.d, t.d, t.d, t.d, t.d, t.d}); err != nil {
		return err
	}
	e, p, err := t.opened(device.Request{Rank: sliceRank, Exchanges: &exchanges{toy: t}})
	if err != nil {
		return err
	}
	defer e.Close()
	defer func() { *closed = drv.Calls() }()
	rng := rand.New(rand.NewPCG(1, 1))
	s := t.fresh(rng)
	if err := t.write(e, s); err != nil {
		return err
	}
	for i := range s[0] {
		p.Port(0)[4*i] = byte(s[0][i])
		p.Port(0)[4*i+1], p.Port(0)[4*i+2], p.Port(0)[4*i+3] = byte(s[0][i]>>8), byte(s[0][i]>>16), byte(s[0][i]>>24)
	}
	n := len(t.d.Progs[0].Instrs)
	for run := range 5 {
		if t.run(s, together); run%2 == 0 {
			p.Launch()
			err = p.Wait()
		} else {
			err = errors.Join(p.Step(0, 2), p.Step(2, n))
		}
		if err != nil {
			return err
		}
	}
	return t.compare(e, s)
}

// TestEveryFailure: whichever call of the driver fails, and with whatever result, there is an error
// and no panic, nobody uses what is not there, and nothing is left.
func TestEveryFailure(t *testing.T) {
	toy := offloading()
	if err := toy.Validate(); err != nil {
		t.Fatal(err)
	}
	drv, calls := onFake(t, fakecuda.Options{}), 0
	if err := life(toy, drv, &calls); err != nil {
		t.Fatal(err)
	}
	clean(t, drv)
	if calls < 120 {
		t.Fatalf("there are %d calls", calls)
	}
	for _, result := range []int{fakecuda.NotFound, fakecuda.OutOfMemory, fakecuda.LaunchFailed} {
		for at := 1; at <= calls; at++ {
			drv := onFake(t, fakecuda.Options{Seed: uint64(at % 3)})
			drv.Fail("", at, result)
			closed := 0
			err := life(toy, drv, &closed)
			if err == nil && closed >= at && !drv.Freed(at) {
				t.Errorf("call %d gives %d, and there is no error", at, result)
			}
			if p, l := drv.Problems(), drv.Leaks(); len(p) > 0 || len(l) > 0 {
				t.Fatalf("call %d gives %d (%v): problems %q, left %q", at, result, err, p, l)
			}
			Use(nil)
		}
	}
}

// TestFailuresOfMemory: each allocation that fails is an error of memory.
func TestFailuresOfMemory(t *testing.T) {
	toy := offloading()
	for _, name := range []string{"cuMemAlloc_v2", "cuMemHostAlloc"} {
		drv, closed := onFake(t, fakecuda.Options{}), 0
		if err := life(toy, drv, &closed); err != nil {
			t.Fatal(err)
		}
		n := drv.Called(name)
		if n == 0 {
			t.Fatalf("%s is not called", name)
		}
		for at := 1; at <= n; at++ {
			drv, closed := onFake(t, fakecuda.Options{}), 0
			drv.Fail(name, at, fakecuda.OutOfMemory)
			var full *device.MemoryError
			if err := life(toy, drv, &closed); !errors.As(err, &full) {
				t.Errorf("%s number %d fails: %v", name, at, err)
			}
			clean(t, drv)
		}
	}
}

// TestAvailable: there is a driver here, and plans run on it, or the package says why not.
func TestAvailable(t *testing.T) {
	Use(nil)
	_, err := Find()
	if err != nil {
		t.Logf("there is no GPU here: %v", err)
		if _, _, open := simple().opened(device.Request{}); open == nil || !strings.HasSuffix(open.Error(), err.Error()) {
			t.Errorf("found %v; expected %v", open, err)
		}
		return
	}
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		toy := random(rng, seed%2 == 0)
		for i := range toy.Code { // most GPUs run this
			toy.Code[i].Data = bytes.Replace(toy.Code[i].Data, []byte("sm_90a"), []byte("sm_80"), 1)
		}
		if err := fits(toy.Plan, []*program.Device{toy.d}); err != nil {
			t.Skipf("the GPU here cannot run the tests: %v", err)
		}
		e, p, err := toy.opened(device.Request{Rank: sliceRank, Exchanges: &exchanges{toy: toy}})
		if err != nil {
			t.Fatal(err)
		}
		for run := range 4 {
			s := toy.fresh(rng)
			if err := toy.write(e, s); err != nil {
				t.Fatal(err)
			}
			if toy.run(s, together); run%2 == 0 {
				p.Launch()
				err = p.Wait()
			} else {
				err = p.Step(0, len(toy.d.Progs[0].Instrs))
			}
			if err == nil {
				err = toy.compare(e, s)
			}
			if err != nil {
				t.Fatalf("seed %d, run %d: %v", seed, run, err)
			}
		}
		e.Close()
	}
}
