package foreign

import "unsafe"

// Pointer turns an address outside Go's heap, which the collector does not move or
// track, into a pointer; the indirection keeps `go vet` from taking it for
// arithmetic on a Go object.
func Pointer(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }
