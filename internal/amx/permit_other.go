//go:build !linux || !amd64

package amx

import "errors"

// Permit is an error: there are none here.
func Permit() error { return errors.New("there are no tile registers on this system") }
