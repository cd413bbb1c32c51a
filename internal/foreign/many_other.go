//go:build !amd64 && !static

package foreign

import "errors"

var errMany = errors.New("functions of more than 15 arguments can be called only on x86-64")

// Many says why functions of more arguments than [Call] passes cannot be called here.
func Many() error { return errMany }

// CallMany is Call for any number of arguments, which Many says it is not here.
//
//go:uintptrescapes
func CallMany(fn uintptr, args ...uintptr) uintptr {
	if len(args) <= mostCalled {
		return Call(fn, args...)
	}
	panic(errMany)
}
