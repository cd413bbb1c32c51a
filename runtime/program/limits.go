package program

import (
	"errors"
	"fmt"
)

// Limits on what a plan may ask for: far above what plans need, and low enough
// that sums and products of them do not overflow.
const (
	maxArena    = 1 << 46 // bytes
	maxTasks    = 1 << 40
	maxScratch  = 1 << 32 // bytes of one thread
	maxThreads  = 1 << 16 // of a block
	maxShared   = 1 << 24 // bytes of a block
	maxVariants = 64
	maxElems    = 1 << 52
	maxRanks    = 1 << 24
	maxName     = 4096    // bytes
	maxCount    = 1 << 24 // of instructions, buffers and whatever else is in a list
	// Align is the alignment of buffers in bytes: a cache line, and a vector
	// register of the widest target.
	Align = 64
)

// Limit is a kind of limits of a plan.
type Limit uint8

// The kinds of limits.
const (
	SizeLimit  Limit = iota // bytes, elements, tasks
	NameLimit               // bytes of a name
	CountLimit              // devices, messages, instructions and other lists
)

// LimitError is the part of an *InvalidError that a plan gets from a program
// that is larger than plans can be, and not from a fault of its compiler.
type LimitError struct {
	Kind      Limit
	What      string // "an arena of %d bytes"
	Got, Most int64
}

func (e *LimitError) Error() string { return fmt.Sprintf("%s, more than %d", e.Text(), e.Most) }

// Text says what there is too much of, and how much.
func (e *LimitError) Text() string { return fmt.Sprintf(e.What, e.Got) }

// within is a *LimitError where there are too many of something.
func within(kind Limit, what string, got, most int64) error {
	if got > most {
		return &LimitError{kind, what, got, most}
	}
	return nil
}

// counts checks the lengths of lists, which the decoder limits.
func counts(lengths map[string]int) error {
	var worst error
	name := ""
	for what, n := range lengths {
		if err := within(CountLimit, "%d "+what, int64(n), maxCount); err != nil && (worst == nil || what < name) {
			worst, name = err, what
		}
	}
	return worst
}

// unlessLimit is what err says where it is about a limit, and otherwise that.
func unlessLimit(err error, format string, args ...any) error {
	var l *LimitError
	if errors.As(err, &l) {
		return err
	}
	return fmt.Errorf(format, args...)
}
