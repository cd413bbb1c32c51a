package data

import (
	"errors"
	"fmt"
	"strings"
)

// Error says that data could not be had as described: the fault is in the data
// or in its description, not in the program that reads it.
type Error struct {
	Kind string // of source
	Path string // file or pattern, if one is to blame
	Msg  string // what was found, and what was expected
	Hint string // what to do
	Err  error  // cause, may be nil

	Short bool // the files are sound, and have not one window
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Kind != "" {
		b.WriteString("data." + e.Kind + ": ")
	}
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Msg)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

func errorf(format string, args ...any) *Error {
	return &Error{Msg: fmt.Sprintf(format, args...)}
}

// in adds the file, and what to do.
func (e *Error) in(path, hint string) *Error {
	e.Path, e.Hint = path, hint
	return e
}

// short is that the files have not one window.
func short(format string, args ...any) *Error {
	e := errorf(format, args...)
	e.Short = true
	return e
}

// asError makes any error an *Error of the kind.
func asError(kind string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		if e.Kind == "" {
			e.Kind = kind
		}
		return e
	}
	return &Error{Kind: kind, Msg: "cannot open", Err: err}
}
