package nccl_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/comm/nccl"
	"ptc/runtime/device"
)

// capturer is a transport that is captured.
type capturer interface {
	device.Enqueuer
	Captures() error
	Capture(ops []device.Enqueued) ([]device.Captured, error)
	Replay(stream uintptr, ops []device.Enqueued, marks []uint32) error
}

func (r *rank) capturer() capturer { return r.Device.(capturer) }

// prepared readies operations.
func prepared(r *rank, ops ...comm.Op) (calls []device.Enqueued, err error) {
	for _, op := range ops {
		c, err := r.Prepare(op)
		if err != nil {
			return nil, err
		}
		calls = append(calls, c.(device.Enqueued))
	}
	return calls, nil
}

// chain makes a graph of what was captured, in the order of a list, each behind another one, and frees it.
func (r *rank) chain(list []device.Captured, order []int, behind func(k int) int) (exec uintptr, err error) {
	graph, x := new(uintptr), new(uintptr)
	nodes := make([]uintptr, len(list))
	if err := r.cu("cuGraphCreate", uintptr(unsafe.Pointer(graph)), 0); err != nil {
		return 0, err
	}
	for k, i := range order {
		var after uintptr
		before := new(uintptr)
		if b := behind(k); b >= 0 {
			*before, after = nodes[b], 1
		}
		if list[i].Graph != 0 {
			err = errors.Join(err, r.cu("cuGraphAddChildGraphNode", uintptr(unsafe.Pointer(&nodes[i])), *graph, uintptr(unsafe.Pointer(before)), after, list[i].Graph))
		}
	}
	err = errors.Join(err, r.cu("cuGraphInstantiateWithFlags", uintptr(unsafe.Pointer(x)), *graph, 0), r.cu("cuGraphDestroy", *graph))
	for i := range list {
		if g := list[i].Graph; g != 0 {
			err = errors.Join(err, r.cu("cuGraphDestroy", g))
		}
	}
	return *x, err
}

// replayed captures all-reduces, and launches their graph some times, on each rank in its order.
func replayed(r *rank, order []int, rounds int) error {
	calls, err := prepared(r, reduce(r, 8, "a"), reduce(r, 12, "b"), reduce(r, 16, "c"))
	if err != nil {
		return err
	}
	return r.On(func() error {
		if err := r.enqueuer().Begin(); err != nil {
			return err
		}
		list, err := r.capturer().Capture(calls)
		if err != nil {
			return err
		}
		exec, err := r.chain(list, order, func(k int) int { return append([]int{-1}, order...)[k] })
		marks := make([]uint32, 2*len(calls))
		for range rounds {
			clear(marks)
			err = errors.Join(err, r.capturer().Replay(r.stream, calls, marks))
			marks[0] = 1 // its graph has come to the first one
			if err == nil {
				err = errors.Join(r.cu("cuGraphLaunch", exec, r.stream), r.awaitStream(r.enqueuer().Watch))
			}
			for i := range marks {
				marks[i] = 1
			}
		}
		if err != nil {
			r.Device.Abort(err)
			_ = r.enqueuer().Watch() // it lets go of the stream
		}
		return errors.Join(err, r.cu("cuGraphExecDestroy", exec))
	})
}

// TestReplays: graphs of what was captured meet launch by launch; a rank that has another order, or has captured
// nothing, is found; one that does not come is told as it is without graphs.
func TestReplays(t *testing.T) {
	for _, c := range []struct {
		name  string
		wait  time.Duration
		do    func(r *rank) error
		found string // by the library
		want  string // in the error
	}{
		{"alike", 20 * time.Second, func(r *rank) error { return replayed(r, []int{0, 1, 2}, 4) }, "", ""},
		{"another order", 300 * time.Millisecond, func(r *rank) error {
			return replayed(r, [][]int{{0, 1, 2}, {0, 1, 2}, {0, 2, 1}}[r.Rank()], 1)
		}, "comes to a captured operation where others come to", "did not reach all_reduce"},
		{"late", 300 * time.Millisecond, func(r *rank) error {
			err := replayed(r, []int{0, 1, 2}, 1+(2-r.Rank())/2)
			if r.Rank() == 2 {
				time.Sleep(time.Second)
			}
			return err
		}, "", "did not reach all_reduce #4 a over all devices"},
		{"captured by some", 300 * time.Millisecond, func(r *rank) error {
			if r.Rank() < 2 {
				return replayed(r, []int{0, 1, 2}, 1)
			}
			return issue(r, reduce(r, 8, "a"), reduce(r, 12, "b"), reduce(r, 16, "c"))
		}, "", "rank 2 did not reach"},
	} {
		t.Run(c.name, func(t *testing.T) {
			axes, _ := grid(3)
			f := onFakes(t, 3, 2)
			err := f.run(axes, 1<<16, nccl.Options{Timeout: c.wait, Streams: 1}, c.do)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				f.clean(t)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "waited for 300ms") {
				t.Errorf("found %v; expected %q", err, c.want)
			}
			if p := strings.Join(f.lib.Problems(), "\n"); !strings.Contains(p, c.found) {
				t.Errorf("problems %q; expected %q", p, c.found)
			}
			if l, m := f.drv.Leaks(), f.lib.Leaks(); len(l)+len(m) > 0 {
				t.Errorf("left %q, %q", l, m)
			}
		})
	}
}

// TestLinks: exchanges of a connection are behind one another, and a message takes a place that the one before it
// has left.
func TestLinks(t *testing.T) {
	axes, _ := grid(2)
	f := onFakes(t, 2, 1)
	err := f.run(axes, 1<<16, nccl.Options{InFlight: 2, Streams: 1, Timeout: 20 * time.Second}, func(r *rank) error {
		op := func(n int) comm.Op {
			op := comm.Op{Kind: collective.Send, DType: dtype.I32, Inner: n, Peer: 1 - r.Rank(), Src: r.mem.rng(0, 4*n)}
			if r.Rank() == 1 {
				op.Kind, op.Src, op.Dst = collective.Recv, device.Range{}, op.Src
			}
			return op
		}
		calls, err := prepared(r, op(3), reduce(r, 8, ""), op(0), op(4), op(0), op(6), op(7))
		if err != nil {
			return err
		}
		return r.On(func() error {
			if err := r.enqueuer().Begin(); err != nil {
				return err
			}
			list, err := r.capturer().Capture(calls)
			if err != nil {
				return err
			}
			var got []string
			for i := range list {
				c := &list[i]
				got = append(got, fmt.Sprint(c.Graph != 0, c.Behind, c.Room, c.Sends, c.Post.Width))
				if c.Graph != 0 {
					err = errors.Join(err, r.cu("cuGraphDestroy", c.Graph))
				}
			}
			want := []string{"true -1 -1 true 12", "true -1 -1 false 0", "false 0 -1 true 0", "true 0 0 true 16", "false 3 -1 true 0", "true 3 3 true 24", "true 5 -1 true 28"}
			if r.Rank() == 1 {
				want = []string{"true -1 -1 false 0", "true -1 -1 false 0", "false 0 -1 false 0", "true 0 -1 false 0", "false 3 -1 false 0", "true 3 -1 false 0", "true 5 -1 false 0"}
			}
			if strings.Join(got, ", ") != strings.Join(want, ", ") {
				err = errors.Join(err, fmt.Errorf("got %q, want %q", got, want))
			}
			for _, c := range calls { // what connects lanes is over then, too
				err = errors.Join(err, c.StartOn(r.stream), c.WaitOn(r.stream))
			}
			return errors.Join(err, r.awaitStream(r.enqueuer().Watch))
		})
	})
	if err != nil {
		t.Error(err)
	}
	f.clean(t)
}

// TestEndedTooEarly: the library for tests notices who ends a communicator that a graph has something of.
func TestEndedTooEarly(t *testing.T) {
	axes, _ := grid(2)
	f := onFakes(t, 2, 3)
	err := f.run(axes, 1<<16, nccl.Options{Streams: 1, Timeout: 20 * time.Second}, func(r *rank) error {
		calls, err := prepared(r, reduce(r, 8, ""))
		if err != nil {
			return err
		}
		return r.On(func() error {
			if err := r.enqueuer().Begin(); err != nil {
				return err
			}
			list, err := r.capturer().Capture(calls)
			return errors.Join(err, r.enqueuer().End(), r.cu("cuGraphDestroy", list[0].Graph))
		})
	})
	if p := f.lib.Problems(); err != nil || len(p) != 2 || !strings.Contains(p[0], "is ended while 1 graphs have what was captured of it") {
		t.Errorf("%v, problems %q", err, p)
	}
}
