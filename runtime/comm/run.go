package comm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"ptc/runtime/device"
)

// grace is how long Run waits for the other devices to return after one failed.
// Their waits end at once, so that only a device that computes takes any time.
const grace = 2 * time.Second

// Run runs f for each device in a goroutine of its own and returns when all have
// returned. A device that returns an error or panics ends the communication of
// all, so that no other waits for it; one that returns nil is closed.
//
// The error is that of the device which failed first, not one of those that it
// ended. A device that still runs some seconds after a failure is left behind, and
// named in the Running of the *Error.
func Run(devs []Device, f func(Device) error) error {
	type result struct {
		device int
		err    error
	}
	results := make(chan result, len(devs))
	for i, d := range devs {
		go func() {
			err := guarded(d, f)
			if err != nil {
				d.Abort(err)
			} else {
				err = d.Close()
			}
			results <- result{i, err}
		}()
	}
	errs := make([]error, len(devs))
	returned := make([]bool, len(devs))
	var late <-chan time.Time // from the first failure on
	for range devs {
		select {
		case r := <-results:
			errs[r.device], returned[r.device] = r.err, true
			if r.err != nil && late == nil {
				late = time.After(grace)
			}
		case <-late:
			return leftBehind(devs, returned, firstCause(errs))
		}
	}
	return firstCause(errs)
}

// leftBehind adds to a failure the devices that have not returned.
func leftBehind(devs []Device, returned []bool, cause error) error {
	var running []int
	for i, d := range devs {
		if !returned[i] {
			running = append(running, d.Rank())
		}
	}
	var e *Error
	if !errors.As(cause, &e) {
		e = &Error{Reason: ReasonAborted, Rank: -1, Msg: "the devices were ended by a failure", Err: cause}
	}
	with := *e
	with.Running = running
	return &with
}

// guarded turns a panic of f into an error.
func guarded(d Device, f func(Device) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("device %d panicked, which is a fault of ptc: %v\n%s", d.Rank(), p, debug.Stack())
		}
	}()
	return f(d)
}

// firstCause prefers an error that is not the consequence of another device's.
func firstCause(errs []error) error {
	var first error
	for _, err := range errs {
		var e *Error
		consequence := errors.As(err, &e) && e.Reason == ReasonAborted
		if err != nil && !consequence {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// SamePlan compares the plans of all devices by their bytes' SHA-256 and fails,
// naming the ranks, when they are not one plan. Every device must call it, before
// any other communication.
func SamePlan(d Device, hash [sha256.Size]byte) error {
	n := d.Mesh().Size()
	all := make([]byte, n*len(hash))
	call, err := d.Prepare(Op{Kind: AllGather, Group: d.Mesh().World(), DType: Bool,
		Inner: len(hash), Src: device.Bytes(hash[:]), Dst: device.Bytes(all), Label: "hash of the plan"})
	if err != nil {
		return err
	}
	if err := call.Run(); err != nil {
		return err
	}
	part := func(r int) []byte { return all[r*len(hash) : (r+1)*len(hash)] }
	var others []int
	for r := range n {
		if string(part(r)) != string(part(0)) {
			others = append(others, r)
		}
	}
	if others == nil {
		return nil
	}
	return &Error{Reason: ReasonMismatch, Rank: d.Rank(), Ranks: others, Msg: fmt.Sprintf(
		"%s and rank 0 run different plans (%x and %x): give every process the same plan file",
		RankList(others), part(others[0])[:6], part(0)[:6])}
}
