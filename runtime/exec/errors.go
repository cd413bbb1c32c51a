package exec

import (
	"errors"
	"fmt"

	"ptc/runtime/comm"
)

// Reason says what kind of failure an Error is.
type Reason string

// The reasons.
const (
	ReasonPlan   Reason = "plan"   // the plan is not valid, or not for this ptc
	ReasonHost   Reason = "host"   // this host cannot run the plan's code
	ReasonMemory Reason = "memory" // the arenas do not fit
	ReasonInput  Reason = "input"  // a tensor or field given from outside does not fit the plan
	ReasonComm   Reason = "comm"   // the devices could not communicate: the cause says who is to blame
	ReasonBug    Reason = "bug"    // a fault of ours
)

// Error is why a plan cannot be run.
type Error struct {
	Reason Reason
	Msg    string
	Err    error // cause, may be nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Msg + ": " + e.Err.Error()
	}
	return e.Msg
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode is what a command that ends with the error exits with: 3 where the
// plan, or a file's content, cannot be used, 4 for a fault of ours.
func (e *Error) ExitCode() int {
	var c *comm.Error
	if e.Reason == ReasonComm && errors.As(e.Err, &c) {
		return c.ExitCode()
	}
	if e.Reason == ReasonBug {
		return 4
	}
	return 3
}

// ErrNotFinite is the error of a run that ended before it changed any tensor,
// because its loss or its gradients are not finite: see StopBeforeUpdate.
var ErrNotFinite = errors.New("the loss or the gradients are not finite")

var errClosed = &Error{Reason: ReasonBug, Msg: "the caller used a plan after it was closed"}

func errorf(r Reason, err error, format string, args ...any) *Error {
	return &Error{Reason: r, Msg: fmt.Sprintf(format, args...), Err: err}
}

// isAborted says whether an error is the consequence of another device's.
func isAborted(err error) bool {
	var c *comm.Error
	return errors.As(err, &c) && c.Reason == comm.ReasonAborted
}
