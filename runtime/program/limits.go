package program

import (
	"errors"
	"fmt"
	"unicode/utf8"
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

// maxWalked bounds the instructions that are gone through where the instances of a
// run, or the ticks of a task, have to be looked at one by one.
const maxWalked = 1 << 24

// maxInstances bounds the instances of a stack.
const maxInstances = 1 << 20

// maxAhead bounds the iterations by which an instruction is ahead of others or behind them.
// They may be more than the stack has instances: then the instruction is issued for all
// of them before, or behind, all others.
const maxAhead = 1 << 10

// Limits of what is issued for microbatches.
const (
	maxMicro = 1 << 20 // microbatches
	maxTicks = 1 << 22 // ticks of a program
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

// InvalidError says what in a plan contradicts the rest of it. Compilers do not
// make such plans, unless a program is larger than plans can be.
type InvalidError struct {
	Msg   string
	Limit *LimitError // that the plan exceeds, or nil
}

func (e *InvalidError) Error() string { return "invalid plan: " + e.Msg }

// Unwrap gives the limit.
func (e *InvalidError) Unwrap() error {
	if e.Limit == nil {
		return nil
	}
	return e.Limit
}

func invalid(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	e := &InvalidError{Msg: err.Error()}
	errors.As(err, &e.Limit)
	return e
}

// name checks that s can name something.
func name(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("an empty name")
	case len(s) > maxName:
		return within(NameLimit, "a name of %d bytes", int64(len(s)), maxName)
	case !utf8.ValidString(s):
		return fmt.Errorf("a name that is not UTF-8")
	}
	return nil
}
