package mpi

import (
	"fmt"
	"slices"
	"time"

	"ptc/runtime/comm"
)

// pump polls until nothing is under way, giving way to those who wait.
func (d *end) pump() {
	for {
		d.mu.Lock()
		busy, err := len(d.waiting) > 0, (*comm.Error)(nil)
		if !busy {
			busy, err = d.progress()
		}
		d.mu.Unlock()
		if err != nil {
			_ = d.fail(err)
			return
		}
		if !busy || d.failed.Load() != nil {
			return
		}
		time.Sleep(2 * nap)
	}
}

// kick tells the thread that there is something to poll.
func (d *end) kick() {
	select {
	case d.work <- struct{}{}:
	default:
	}
}

// progress advances all that is under way, and says whether something still is.
// The device is locked.
func (d *end) progress() (busy bool, err *comm.Error) {
	for i := 0; i < len(d.active); {
		c := d.active[i]
		if err := c.advance(); err != nil {
			return false, err
		}
		if !c.done {
			i++
		}
	}
	for _, s := range d.sending {
		idle, code := s.idle(d.lib)
		if code != success {
			return false, &comm.Error{Reason: comm.ReasonFault, Rank: d.rank, Msg: "MPI cannot send: " + d.lib.describe(code)}
		}
		busy = busy || !idle
	}
	return busy || len(d.active) > 0, nil
}

// poll makes progress and says whether a call is complete, and so no longer waits.
func (d *end) poll(c *call) (bool, *comm.Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.progress(); err != nil {
		return false, err
	}
	if !c.done {
		return false, nil
	}
	c.started = false
	if i := slices.Index(d.waiting, c); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
	return true, nil
}

// drain waits until all messages of the device have left: MPI must not be
// finalized before.
func (d *end) drain() error {
	since := time.Now()
	for i := 0; ; i++ {
		d.mu.Lock()
		busy, err := d.progress()
		d.mu.Unlock()
		switch {
		case err != nil:
			return err
		case !busy:
			return nil
		case time.Since(since) > d.opts.Timeout:
			return &comm.Error{Reason: comm.ReasonTimeout, Rank: d.rank, Msg: fmt.Sprintf(
				"rank %d cannot close: nobody has received its messages for %v", d.rank, d.opts.Timeout)}
		}
		rest(i)
	}
}
