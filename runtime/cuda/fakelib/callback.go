package fakelib

import (
	"fmt"
	"reflect"
	"slices"

	"ptc/internal/foreign"
)

// Callback is the address of a C function of so many words that calls a Go function. A process has a limited
// number of them.
func Callback(args int, call func(a ...uintptr) uintptr) uintptr {
	word := reflect.TypeFor[uintptr]()
	t := reflect.FuncOf(slices.Repeat([]reflect.Type{word}, args), []reflect.Type{word}, false)
	return foreign.Callback(reflect.MakeFunc(t, func(in []reflect.Value) []reflect.Value {
		a := make([]uintptr, len(in))
		for i := range in {
			a[i] = uintptr(in[i].Uint())
		}
		return []reflect.Value{reflect.ValueOf(call(a...))}
	}).Interface())
}

// Lookup is the address of a function among all, unless it is missing.
func Lookup(all map[string]uintptr, missing []string, name string) (uintptr, error) {
	at, ok := all[name]
	if !ok || slices.Contains(missing, name) {
		return 0, fmt.Errorf("undefined symbol: %s", name)
	}
	return at, nil
}

// Pointer is what an address of the caller's points to.
func Pointer[T any](at uintptr) *T { return (*T)(foreign.Pointer(at)) }

// Handles are objects by their handles.
type Handles struct {
	objects map[uintptr]any
	next    uintptr
}

// NewHandles has no objects; its handles are above first.
func NewHandles(first uintptr) Handles { return Handles{map[uintptr]any{}, first} }

// Handle gives an object a handle.
func (h *Handles) Handle(object any) uintptr {
	h.next += 16
	h.objects[h.next] = object
	return h.next
}

// Drop forgets a handle.
func (h *Handles) Drop(handle uintptr) { delete(h.objects, handle) }

// Objects are all that have a handle.
func (h *Handles) Objects() map[uintptr]any { return h.objects }

// Get is the object of a type with a handle.
func Get[T any](h *Handles, handle uintptr) (object T, ok bool) {
	object, ok = h.objects[handle].(T)
	return object, ok
}
