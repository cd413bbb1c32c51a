// Package processors says how many threads are to compute, and keeps Go's scheduler away
// from them.
//
// In: GOMAXPROCS as the process began with it. Out: that number, whatever GOMAXPROCS is since.
//
// The invariant: GOMAXPROCS is more than Count once a team of threads is there. A thread in
// native code keeps its place among GOMAXPROCS. Where all places are kept so, Go takes them back
// after some 20 µs, and wakes a thread that looks for work in each, on a processor on which native
// code runs: the kernel may then have two threads of a team take turns on one processor, for
// milliseconds, while another has nothing to do. Where a place is free, it does so after 10 ms only
// (retake, in runtime/proc.go of Go).
package processors

import (
	"runtime"
	"sync"
)

var count = runtime.GOMAXPROCS(0)

// Count is how many threads are to compute, unless somebody says another number: GOMAXPROCS, but
// for places that are there to be free.
func Count() int { return min(count, runtime.GOMAXPROCS(0)) }

// spare is how many places there are besides those of threads that compute: one that is
// free, and one for what reads data and writes logs meanwhile.
const spare = 2

// Keep gives threads that compute places that they keep.
var Keep = sync.OnceFunc(func() { runtime.GOMAXPROCS(Count() + spare) })
