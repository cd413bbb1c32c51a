package native

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// processor is that which the calling thread is on, or -1.
func processor() int {
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return -1
	}
	return int(cpu)
}

// leave moves the calling thread to a processor on which none of the threads is, if it may run on one,
// and returns where it is then. It may run afterwards where it could before.
func leave(threads []seat) int {
	var may, others unix.CPUSet
	if unix.SchedGetaffinity(0, &may) != nil {
		return processor()
	}
	others = may
	for i := range threads {
		if p := threads[i].processor.Load(); p > 0 {
			others.Clear(int(p - 1))
		}
	}
	if others.Count() > 0 && unix.SchedSetaffinity(0, &others) == nil {
		// It cannot fail: it is what the kernel said.
		_ = unix.SchedSetaffinity(0, &may)
	}
	return processor()
}
