package local

import (
	"runtime"
	"sync/atomic"
	"time"

	"ptc/runtime/comm"
)

// waiter is what a collective and a message have in common: the operation, and
// how its device waits.
type waiter struct {
	d         *end
	op        comm.Op
	signature string
	seq       atomic.Uint64 // number of the operation in its room or stream, from 1
	started   bool

	parked atomic.Bool
	wake   chan struct{} // holds one token
	timer  *time.Timer
}

// waitable is an operation that has been started.
type waitable interface {
	// progress does what can be done now and says whether the operation is
	// complete. An error ends the wait.
	progress() (bool, error)
	// missing are the ranks that the operation waits for.
	missing() []int
}

// A wait looks again this often at once, then so often between other goroutines,
// before it parks: the members of a group usually arrive within microseconds, and
// with more devices than processors the others need this one.
const (
	spins  = 64
	yields = 32
)

// Where every device has a processor, a wait looks again for this long. Going to
// sleep costs more than the wake-up (docs/performance.md), probably because a
// thread is woken on the processor of the one that wakes it, which computes there.
const patience = 5 * time.Millisecond

// init readies a waiter; the world is locked.
func (x *waiter) init(d *end, op comm.Op) {
	x.d, x.op, x.signature, x.wake = d, op, op.Signature(), make(chan struct{}, 1)
	x.timer = time.NewTimer(d.w.opts.Timeout)
	x.timer.Stop()
	d.w.waiters = append(d.w.waiters, x)
}

func (x *waiter) describe() string { return x.op.Describe(x.seq.Load()) }

// begin refuses a second start.
func (x *waiter) begin() error {
	if err := x.d.usable(); err != nil {
		return err
	}
	if x.started {
		return x.misuse("was started twice without a wait in between")
	}
	x.started = true
	return nil
}

func (x *waiter) misuse(what string) error {
	return x.d.w.fail(&comm.Error{Reason: comm.ReasonInvalid, Rank: x.d.rank, Ranks: []int{x.d.rank},
		Op: x.describe(), Msg: x.describe() + " " + what})
}

// wait makes progress until the operation is complete or has failed.
func (x *waiter) wait(op waitable) error {
	if !x.started {
		if err := x.d.usable(); err != nil {
			return err
		}
		return x.misuse("was awaited before it was started")
	}
	x.d.at.Store(x)
	defer x.d.at.Store(nil)
	var until time.Time // of patience
	for i := 0; ; i++ {
		done, err := op.progress()
		if err != nil {
			return err
		}
		if done {
			x.started = false
			return nil
		}
		switch {
		case x.d.w.failed.Load() != nil:
			return comm.Aborted(x.d.rank, x.d.w.failed.Load().err)
		case i < spins:
		case i < spins+yields:
			runtime.Gosched()
		case x.d.w.patient && i == spins+yields:
			until = time.Now().Add(patience)
		case x.d.w.patient && (i%spins != 0 || time.Now().Before(until)):
		default:
			done, err := x.park(op)
			if done {
				x.started = false
			}
			if done || err != nil {
				return err
			}
		}
	}
}

// park sleeps until the operation is complete, has failed, or has taken too long.
func (x *waiter) park(op waitable) (bool, error) {
	timeout := x.d.w.opts.Timeout
	x.timer.Reset(timeout)
	defer x.timer.Stop()
	defer x.parked.Store(false)
	for {
		// Declared before the last look: whoever completes the operation after it
		// sees the flag and leaves a token.
		x.parked.Store(true)
		if done, err := op.progress(); done || err != nil {
			return done, err
		}
		if f := x.d.w.failed.Load(); f != nil {
			return false, comm.Aborted(x.d.rank, f.err)
		}
		if err := x.ended(op); err != nil {
			return false, err
		}
		select {
		case <-x.wake:
		case <-x.timer.C:
			if done, err := op.progress(); done || err != nil {
				return done, err
			}
			return false, x.blame(comm.Late(x.d.rank, x.describe(), timeout, op.missing(), x.d.w.where))
		}
	}
}

// ended fails when a device that is waited for has closed. The closing device's
// last operations are complete by then, or never will be.
func (x *waiter) ended(op waitable) error {
	any := false
	for _, d := range x.d.w.devices {
		any = any || d.closed.Load()
	}
	if !any {
		return nil
	}
	var ended []int
	for _, r := range op.missing() {
		if x.d.w.devices[r].closed.Load() {
			ended = append(ended, r)
		}
	}
	if ended == nil {
		return nil
	}
	return x.blame(comm.Ended(x.d.rank, x.describe(), ended))
}

// blame ends the world with an error, unless another failure came first.
func (x *waiter) blame(err *comm.Error) error {
	if first := x.d.w.fail(err); first != error(err) {
		return comm.Aborted(x.d.rank, first)
	}
	return err
}

// notify wakes the waiter if it is parked.
func (x *waiter) notify() {
	if x.parked.Load() {
		select {
		case x.wake <- struct{}{}:
		default: // a token is there already
		}
	}
}

// where says what another device waits for, for an error.
func (w *world) where(rank int) string {
	if d := w.devices[rank]; d.closed.Load() {
		return "has ended"
	} else if at := d.at.Load(); at != nil {
		return "waits in " + at.describe()
	}
	return "is not communicating"
}
