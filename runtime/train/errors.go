package train

import (
	"errors"
	"fmt"

	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/data"
)

// Exit codes of the command line that an Error stands for.
const (
	ExitUsage = 2 // the options contradict each other, or leave something open
	ExitFile  = 3 // a plan, a checkpoint or another file cannot be used
	ExitBug   = 4 // a fault of the program itself
)

// Error is why a run could not start, or stopped.
type Error struct {
	Code int // one of the Exit codes
	Msg  string
	Hint string // what to do, if something is known
	Err  error  // cause, may be nil
}

func (e *Error) Error() string {
	s := e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode is what the process should exit with.
func (e *Error) ExitCode() int { return e.Code }

func errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...)}
}

// hint adds what to do.
func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// codeOf is the exit code of a process that ends because of an error.
func codeOf(err error) int {
	var c interface{ ExitCode() int }
	if errors.As(err, &c) {
		return c.ExitCode()
	}
	return ExitBug
}

// fileError says what could not be done with which file. An error that knows
// its exit code is not the file's.
func fileError(err error, format string, args ...any) error {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return err
	}
	return &Error{Code: ExitFile, Msg: fmt.Sprintf(format, args...), Err: err}
}

// dataError keeps the words of the data source.
func dataError(err error) error {
	var d *data.Error
	if errors.As(err, &d) {
		return &Error{Code: ExitFile, Msg: "ptc cannot use the data", Err: err}
	}
	return &Error{Code: ExitBug, Msg: "reading the data failed", Err: err}
}

// checkpointError keeps the words of the checkpoint store.
func checkpointError(err error) error {
	var c *checkpoint.Error
	var s *safetensors.Error
	if errors.As(err, &c) || errors.As(err, &s) {
		return &Error{Code: ExitFile, Msg: "ptc cannot use the checkpoint", Err: err}
	}
	return fileError(err, "ptc cannot use the checkpoint")
}

func saveError(err error) error {
	return &Error{Code: ExitFile, Msg: "ptc cannot save a checkpoint; earlier checkpoints are intact", Err: err}
}
