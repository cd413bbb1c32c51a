package comm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Reason says what kind of failure an Error is.
type Reason string

// The reasons.
const (
	ReasonInvalid  Reason = "invalid"  // an operation, mesh or option that cannot be
	ReasonLaunch   Reason = "launch"   // the processes were not started as the plan needs them, or a library is missing
	ReasonTimeout  Reason = "timeout"  // ranks did not arrive in time
	ReasonEnded    Reason = "ended"    // ranks closed before they arrived
	ReasonMismatch Reason = "mismatch" // ranks issued different operations, or have different plans
	ReasonAborted  Reason = "aborted"  // a device failed, and with it the communication of all
	ReasonFault    Reason = "fault"    // the transport's library failed
)

// Error is why communication failed.
type Error struct {
	Reason Reason
	Rank   int    // who noticed; -1 at set-up
	Ranks  []int  // whose fault it is, where that is known
	Op     string // the operation as Op.Describe has it, or ""
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
// way it was started or another rank is to blame, 4 for a fault of ours, and the
// cause's own code where it has one.
func (e *Error) ExitCode() int {
	var cause interface{ ExitCode() int }
	if errors.As(e.Err, &cause) {
		return cause.ExitCode()
	}
	if e.Reason == ReasonInvalid || e.Reason == ReasonMismatch && e.Op != "" {
		return 4
	}
	return 3
}

func invalid(format string, args ...any) *Error {
	return &Error{Reason: ReasonInvalid, Rank: -1, Msg: fmt.Sprintf(format, args...)}
}

// LaunchError is the error of a transport that cannot be opened here.
func LaunchError(cause error, format string, args ...any) *Error {
	return &Error{Reason: ReasonLaunch, Rank: -1, Msg: fmt.Sprintf(format, args...), Err: cause}
}

// RankList is ranks in a message: "rank 2", "ranks 2 and 5", "ranks 1, 2 and 5".
func RankList(ranks []int) string {
	var b strings.Builder
	b.WriteString("rank")
	if len(ranks) > 1 {
		b.WriteString("s")
	}
	for i, r := range ranks {
		switch {
		case i == 0:
			b.WriteString(" ")
		case i == len(ranks)-1:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(r))
	}
	return b.String()
}
