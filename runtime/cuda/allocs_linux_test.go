package cuda

import (
	"maps"
	"slices"
	"testing"

	"ptc/internal/foreign"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
)

// TestNoAllocations: a step allocates nothing, whether it is launched or stepped through in
// ranges, with communication or without. What the driver does is a function of C that does nothing.
func TestNoAllocations(t *testing.T) {
	toy := offloading()
	onFake(t, fakecuda.Options{})
	e, p, err := toy.opened(device.Request{Rank: sliceRank, Exchanges: nothings{}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	libc, err := foreign.Open("libc.so.6", foreign.Now)
	if err != nil {
		t.Skip(err)
	}
	zero, err := foreign.Symbol(libc, "sched_yield") // takes nothing and gives 0
	if err != nil {
		t.Skip(err)
	}
	n := len(toy.d.Progs[0].Instrs)
	launched := func() {
		p.Launch()
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	stepped := func() {
		for _, r := range [][2]int{{0, 3}, {3, n}} {
			if err := p.Step(r[0], r[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		launched()
		stepped()
	}
	x := e.(*engine)
	saved, current, sync := *x.drv, x.current, x.sync
	for _, f := range x.drv.all() {
		f.At = zero
	}
	x.current.fn.At, x.sync.fn.At = zero, zero
	spans := slices.AppendSeq(slices.Collect(maps.Values(p.(*captured).spans)), maps.Values(p.(*captured).joints))
	launch := map[*ready]foreign.Function{}
	for i := range p.(*captured).acts {
		for _, q := range p.(*captured).acts[i].staged {
			for j := range q.calls {
				launch[&q.calls[j]] = q.calls[j].fn
				q.calls[j].fn.At = zero
			}
		}
	}
	for _, s := range spans {
		for i := range s.parts {
			launch[&s.parts[i].launch] = s.parts[i].launch.fn
			s.parts[i].launch.fn.At = zero
		}
	}
	for name, run := range map[string]func(){"launched": launched, "stepped": stepped} {
		if n := testing.AllocsPerRun(50, run); n > 0 && !raced {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	*x.drv, x.current, x.sync = saved, current, sync
	for r, fn := range launch {
		r.fn = fn
	}
}

// nothings are exchanges that do nothing.
type nothings struct{}

func (nothings) Serves(device.Memory) bool { return true }
func (nothings) Prepare(int, int, func(int) device.Range) (device.Exchange, error) {
	return device.Exchange{Call: nothings{}}, nil
}
func (nothings) Start() error { return nil }
func (nothings) Wait() error  { return nil }
func (nothings) Run() error   { return nil }
