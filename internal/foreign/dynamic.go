//go:build !static

package foreign

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// Modes of Open, as of dlopen.
const (
	Now    = purego.RTLD_NOW
	Local  = purego.RTLD_LOCAL
	Global = purego.RTLD_GLOBAL
)

// Available says why nothing can be called, or nil.
func Available() error { return nil }

// Open loads a library. Why it cannot is known to the thread that tried.
func Open(name string, mode int) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, mode)
}

// Symbol is the address of what a library exports.
func Symbol(library uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(library, name)
}

// Bind makes the Go function that fn points to a call of the C function at addr.
func Bind(fn any, addr uintptr) { purego.RegisterFunc(fn, addr) }

// Callback is the address of a C function that calls the Go function fn.
func Callback(fn any) uintptr { return purego.NewCallback(fn) }

// Call calls the C function at fn and gives its result. Nothing is allocated where
// args is a slice that is there already.
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
