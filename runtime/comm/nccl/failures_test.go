package nccl_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/internal/foreign"
	"ptc/runtime/comm"
	"ptc/runtime/comm/nccl"
	"ptc/runtime/comm/nccl/fakenccl"
	"ptc/runtime/device"
)

// reduce is an all_reduce of n numbers among all devices.
func reduce(r *rank, n int, label string) comm.Op {
	return comm.Op{Kind: collective.AllReduce, Group: r.Mesh().World(), DType: dtype.F32, Inner: n, Label: label,
		Src: r.mem.rng(0, 4*n), Dst: r.mem.rng(0, 4*n)}
}

// issue prepares operations and runs them one after the other.
func issue(r *rank, ops ...comm.Op) error {
	var calls []device.Enqueued
	for _, op := range ops {
		c, err := r.Prepare(op)
		if err != nil {
			return err
		}
		calls = append(calls, c.(device.Enqueued))
	}
	return r.On(func() error {
		if err := r.enqueuer().Begin(); err != nil {
			return err
		}
		for _, c := range calls {
			if err := errors.Join(c.StartOn(r.stream), c.WaitOn(r.stream)); err != nil {
				return err
			}
		}
		return r.awaitStream(r.enqueuer().Watch)
	})
}

// TestFailures: what goes wrong is an error that says where, on all devices, in time; the GPUs are
// left without anything.
func TestFailures(t *testing.T) {
	const wait = 300 * time.Millisecond
	for _, c := range []struct {
		name  string
		ready func(f *fakes)
		do    func(r *rank) error
		want  []string
	}{
		{"other operations", nil, func(r *rank) error {
			return issue(r, reduce(r, 8, "first"), reduce(r, 8+4*(r.Rank()/2), "blocks.3"))
		}, []string{"rank 0 issued all_reduce (sum) of f32[8] blocks.3", "rank 2 issued all_reduce (sum) of f32[12] blocks.3", "number 2 of the group"}},
		{"fewer operations", nil, func(r *rank) error {
			return issue(r, []comm.Op{reduce(r, 8, "first"), reduce(r, 8, "last")}[:2-r.Rank()/2]...)
		}, []string{"rank 2 issued nothing more while rank 0 issued all_reduce (sum) of f32[8] last"}},
		{"a message of another size", nil, func(r *rank) error {
			switch op := (comm.Op{Kind: collective.Send, DType: dtype.F32, Inner: 4, Peer: 1, Tag: 7, Src: r.mem.rng(0, 16)}); r.Rank() {
			case 0:
				return issue(r, op)
			case 1:
				op.Kind, op.Peer, op.Inner, op.Src, op.Dst = collective.Recv, 0, 5, device.Range{}, r.mem.rng(0, 20)
				return issue(r, op)
			}
			return nil
		}, []string{"rank 0 issued a message of f32[4] with tag 7 while rank 1 issued a message of f32[5] with tag 7"}},
		{"a device that does not come", nil, func(r *rank) error {
			c, err := r.Prepare(reduce(r, 8, "step"))
			if err != nil {
				return err
			}
			return r.On(func() error {
				if err := r.enqueuer().Begin(); err != nil || r.Rank() == 2 {
					time.Sleep(2 * wait)
					return err
				}
				q := c.(device.Enqueued)
				return errors.Join(q.StartOn(r.stream), q.WaitOn(r.stream), r.awaitStream(r.enqueuer().Watch))
			})
		}, []string{"did not reach all_reduce #1 step over all devices", "waited for 300ms"}},
		{"a device that fails", nil, func(r *rank) error {
			c, err := r.Prepare(reduce(r, 8, "step"))
			if err != nil {
				return err
			}
			return r.On(func() error {
				if err := r.enqueuer().Begin(); err != nil {
					return err
				}
				if r.Rank() == 1 {
					return errors.New("this GPU is lost")
				}
				q := c.(device.Enqueued)
				return errors.Join(q.StartOn(r.stream), q.WaitOn(r.stream), r.awaitStream(r.enqueuer().Watch))
			})
		}, []string{"rank 1: this GPU is lost", "rank 0 ended because of a failure: this GPU is lost"}},
		{"a device that is not there", nil, func(r *rank) error {
			if r.Rank() == 2 {
				time.Sleep(2 * wait)
				return nil
			}
			return issue(r, reduce(r, 8, "step"))
		}, []string{"ended before all_gather #2 set-up of NCCL"}},
		{"the library fails to connect", func(f *fakes) { f.lib.Fail("ncclCommInitRankConfig", 2, fakenccl.SystemError) }, func(r *rank) error {
			return issue(r, reduce(r, 8, "step"))
		}, []string{"NCCL over all devices, on rank", "cannot connect: ncclCommInitRankConfig failed with error 2 (the text of 2)"}},
		{"the library fails", func(f *fakes) { f.lib.Fail("ncclAllReduce", 1, fakenccl.InvalidUsage) }, func(r *rank) error {
			return issue(r, reduce(r, 8, "step"))
		}, []string{"in all_reduce #0 step over all devices: ncclAllReduce failed with error 5"}},
		{"the library gives up later", nil, func(r *rank) error {
			c, err := r.Prepare(reduce(r, 8, "step"))
			if err != nil {
				return err
			}
			return r.On(func() error {
				if err := r.enqueuer().Begin(); err != nil || r.Rank() == 2 {
					time.Sleep(wait / 2)
					return err
				}
				q := c.(device.Enqueued)
				if err := errors.Join(q.StartOn(r.stream), q.WaitOn(r.stream)); err != nil {
					return err
				}
				return r.awaitStream(func() error {
					libOf(r).Break(fakenccl.RemoteError)
					return r.enqueuer().Watch()
				})
			})
		}, []string{"all_reduce #0 step over all devices: NCCL failed with error 6"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			axes, _ := grid(3)
			f := onFakes(t, 3, 1)
			library = f.lib
			if c.ready != nil {
				c.ready(f)
			}
			since := time.Now()
			err := f.run(axes, 1<<16, nccl.Options{Timeout: wait, Streams: 1}, c.do)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("found %v; expected %q", err, want)
				}
			}
			if took := time.Since(since); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			if l, m := f.drv.Leaks(), f.lib.Leaks(); len(l)+len(m) > 0 {
				t.Errorf("left %q, %q", l, m)
			}
		})
	}
}

// library is that of the test that runs.
var library *fakenccl.Library

func libOf(*rank) *fakenccl.Library { return library }

// TestNotEnqueued: what is left to the host, and what cannot be.
func TestNotEnqueued(t *testing.T) {
	axes, _ := grid(2)
	f := onFakes(t, 2, 0)
	err := f.run(axes, 1<<16, nccl.Options{}, func(r *rank) error {
		largest := reduce(r, 4, "")
		largest.Reduce = collective.Max
		barrier := comm.Op{Kind: collective.Broadcast, Group: r.Mesh().World(), DType: dtype.F32, Inner: 4, Src: r.mem.rng(0, 16), Dst: r.mem.rng(0, 16)}
		send := comm.Op{Kind: collective.Send, DType: dtype.F32, Inner: 4, Peer: 1 - r.Rank(), Src: r.mem.rng(0, 16)}
		for _, op := range []comm.Op{largest, barrier, send} {
			if _, err := r.Prepare(op); !errors.Is(err, device.ErrNotEnqueued) {
				return fmt.Errorf("%s gives %v", op.Signature(), err)
			}
		}
		mixed := reduce(r, 4, "")
		mixed.Src = device.Bytes(make([]byte, 16))
		if _, err := r.Prepare(mixed); err == nil || !strings.Contains(err.Error(), "host memory") {
			return fmt.Errorf("memory of both gives %v", err)
		}
		if !r.Serves(r.mem) || !r.Serves(device.NewHost(nil, nil)) {
			return errors.New("it does not serve memory of GPUs, and of the host")
		}
		c, err := r.Prepare(reduce(r, 4, ""))
		if err != nil {
			return err
		}
		if c.Run() == nil || c.(device.Enqueued).StartOn(r.stream) == nil {
			return errors.New("it ran without a stream, or without a connection")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLibraries that cannot be used say so.
func TestLibraries(t *testing.T) {
	f := onFakes(t, 1, 0)
	if text, err := nccl.Available(); err != nil || text != "NCCL 2.30.7" {
		t.Errorf("%q, %v", text, err)
	}
	for _, c := range []struct {
		o    fakenccl.Options
		want string
	}{
		{fakenccl.Options{Version: 21304}, "has version 21304, but ptc needs at least 21400"},
		{fakenccl.Options{Missing: []string{"ncclCommFinalize"}}, "has no ncclCommFinalize, which came with NCCL 2.14"},
	} {
		nccl.Use(fakenccl.New(f.drv, c.o).Lookup)
		if _, err := nccl.Available(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("found %v; expected %q", err, c.want)
		}
	}
}

// TestFakeIsStrict: the library for tests notices what a real one leaves undefined.
func TestFakeIsStrict(t *testing.T) {
	f := onFakes(t, 1, 0)
	g, err := newGPU(f.drv, 0)
	if err != nil {
		t.Fatal(err)
	}
	nc := func(name string, args ...uintptr) {
		at, err := f.lib.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		_ = g.On(func() error { foreign.Call(at, args...); return nil })
	}
	nc("ncclGroupEnd")
	nc("ncclAllReduce", 0, 0, 1, 7, 0, 77, g.stream)
	nc("ncclCommDestroy", 77)
	if p := f.lib.Problems(); len(p) != 3 {
		t.Errorf("problems %q", p)
	}
	if err := g.close(); err != nil {
		t.Error(err)
	}
}
