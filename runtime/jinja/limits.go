package jinja

import "fmt"

// Limits of templates. Published templates have less than 64 KiB and render a
// conversation in some thousand steps.
const (
	maxSource = 1 << 20   // bytes of a template
	maxNested = 100       // brackets, operators and statements within each other
	maxCalls  = 100       // calls of macros and loops within each other
	maxSteps  = 4 << 20   // evaluated nodes, elements of lists, and one for each 16 bytes of text
	maxText   = 64 << 20  // bytes of the rendered text, and of any text on the way
	maxItems  = 4 << 20   // elements of a list
	maxNumber = 1<<63 - 1 // integers have 64 bits here
)

// Error is a mistake in a template, or of what it was given.
type Error struct {
	Line int // of the template, from 1; 0: none
	Msg  string

	// Raised is whether the template itself refused, by raise_exception.
	Raised bool
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Msg)
}

// fail ends parsing or rendering; catch makes an error of it.
func fail(line int, format string, args ...any) {
	panic(&Error{Line: line, Msg: fmt.Sprintf(format, args...)})
}

// catch takes up an Error, and nothing else that panics.
func catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case *Error:
		*err = p
	default:
		panic(p)
	}
}
