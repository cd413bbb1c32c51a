package comm

import (
	"fmt"
	"time"
)

// The errors of waits, worded alike under every transport. op is the operation as
// Op.Describe has it.

// Late is the error of a rank that has waited for others in vain. where may say
// what a late rank does instead, or be nil.
func Late(rank int, op string, after time.Duration, late []int, where func(rank int) string) *Error {
	msg := fmt.Sprintf("%s did not reach %s: rank %d has waited for %v", RankList(late), op, rank, after)
	if where != nil {
		for _, r := range late {
			if w := where(r); w != "" {
				msg += fmt.Sprintf("; rank %d %s", r, w)
			}
		}
	}
	return &Error{Reason: ReasonTimeout, Rank: rank, Ranks: late, Op: op, Msg: msg}
}

// Ended is the error of a rank that waits for others that have closed.
func Ended(rank int, op string, ended []int) *Error {
	return &Error{Reason: ReasonEnded, Rank: rank, Ranks: ended, Op: op,
		Msg: fmt.Sprintf("%s ended before %s, which rank %d waits for", RankList(ended), op, rank)}
}

// Differ is the error of members that issued operations with different
// signatures as number seq of their group.
func Differ(rank int, op, mine string, other int, theirs string, seq uint64) *Error {
	return &Error{Reason: ReasonMismatch, Rank: rank, Ranks: []int{rank, other}, Op: op,
		Msg: fmt.Sprintf("rank %d issued %s while rank %d issued %s (number %d of the group)", rank, mine, other, theirs, seq)}
}

// Aborted is the error of every call after a device failed with a cause.
func Aborted(rank int, cause error) *Error {
	e := &Error{Reason: ReasonAborted, Rank: rank, Msg: fmt.Sprintf("rank %d ended because of a failure", rank), Err: cause}
	if c, ok := cause.(*Error); ok {
		e.Ranks, e.Op = c.Ranks, c.Op
	}
	return e
}
