package checkpoint

// Error says which checkpoint cannot be read or written, and why.
type Error struct {
	Dir string
	Msg string
	Err error
}

func (e *Error) Error() string {
	s := "checkpoint " + e.Dir + ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
