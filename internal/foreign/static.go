//go:build static

package foreign

import "errors"

// Modes of Open, which here do nothing.
const (
	Now = iota
	Local
	Global
)

var errStatic = errors.New("this is the static build of ptc, which has no native code: compile for ref, or use the usual build")

// Available says why nothing can be called.
func Available() error { return errStatic }

// Open loads nothing.
func Open(string, int) (uintptr, error) { return 0, errStatic }

// Symbol finds nothing.
func Symbol(uintptr, string) (uintptr, error) { return 0, errStatic }

// Bind, Callback and Call need a library, and none can be opened.
func Bind(any, uintptr) { panic(errStatic) }

// Callback: see Bind.
func Callback(any) uintptr { panic(errStatic) }

// Call: see Bind.
func Call(uintptr, ...uintptr) uintptr { panic(errStatic) }

// Many says why nothing can be called.
func Many() error { return errStatic }

// CallMany: see Bind.
func CallMany(uintptr, ...uintptr) uintptr { panic(errStatic) }
