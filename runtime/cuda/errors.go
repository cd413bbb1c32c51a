package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"ptc/internal/foreign"
)

// Results of the driver's functions that mean something to us (cuda.h of CUDA 12.4,
// CUresult).
const (
	invalidValue   = 1
	outOfMemory    = 2
	noDevice       = 100
	noBinary       = 209
	invalidPTX     = 218
	noJIT          = 221
	unsupportedPTX = 222
	illegalAddress = 700
	outOfResources = 701
	launchTimeout  = 702
	assertFailed   = 710
	firstTrap      = 714 // hardware stack error, illegal instruction, misaligned address,
	lastTrap       = 719 // address space, program counter, launch failed
)

var errNoGPU = errors.New("the driver finds no GPU of NVIDIA here")

// Error is a call of the driver that failed.
type Error struct {
	Call string // the function
	Code int
	Name string // of the code, as "CUDA_ERROR_OUT_OF_MEMORY"; empty if the driver knows none
	Text string // what the driver says of it
}

func (e *Error) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s gives error %d", e.Call, e.Code)
	}
	return fmt.Sprintf("%s gives %s (%s)", e.Call, e.Name, e.Text)
}

// failure is the error of a result that is not 0.
func (d *driver) failure(call string, result uintptr) error {
	e := &Error{Call: call, Code: int(int32(result))}
	e.Name, e.Text = d.errorText(d.GetErrorName, e.Code), d.errorText(d.GetErrorString, e.Code)
	return e
}

// errorText is the text of one of the driver's functions for a result.
func (d *driver) errorText(fn foreign.Function, result int) string {
	var at uintptr
	if r := foreign.Call(fn.At, uintptr(result), uintptr(unsafe.Pointer(&at))); uint32(r) != 0 {
		return ""
	}
	return foreign.Text(at)
}

// code is the driver's result behind an error; 0 if it has none.
func code(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// isFault says whether an error is one of the code that the device ran.
func isFault(err error) bool {
	switch c := code(err); {
	case c == illegalAddress, c == outOfResources, c == launchTimeout, c == assertFailed:
		return true
	default:
		return firstTrap <= c && c <= lastTrap
	}
}
