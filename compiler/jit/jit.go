// Package jit compiles kernels and loads them into this process, to be measured.
//
// In: kernels in the loop/tile form, for a target. Out: an image of runtime/native, with
// the driver that replays programs of it.
// Invariant: code that needs anything outside of itself is not loaded.
package jit

import (
	"errors"
	"strings"

	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
	"ptc/runtime/native"
)

// Load compiles the kernels, and the LLVM IR text more, which may be empty, for t.
func Load(lib *llvm.Library, t target.Target, more string, kernels ...*kernel.Kernel) (*native.Image, error) {
	text, err := emit.Module(t, kernels...)
	if err != nil {
		return nil, err
	}
	driver, err := llvm.Driver(t)
	if err != nil {
		return nil, err
	}
	object, err := lib.Compile(text+"\n"+driver+"\n"+more, t)
	if err != nil {
		return nil, err
	}
	missing, err := llvm.Undefined(object)
	if err == nil && len(missing) > 0 {
		err = errors.New("the kernels need " + strings.Join(missing, ", "))
	}
	if err != nil {
		return nil, err
	}
	return native.Load(object)
}
