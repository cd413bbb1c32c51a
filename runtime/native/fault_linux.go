//go:build linux && (amd64 || arm64)

package native

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A signal that native code raises would end the process with the runtime's dump
// of all goroutines. So these signals have a handler of ours (fault_*.s), which is
// called first and, in order:
//
//	thread not in native code ▶ the handler that was there, the runtime's
//	thread in native code     ▶ notes signal, address and instruction, wakes the
//	                            watcher by a byte into a pipe, and sleeps for ever
//
// The watcher is a goroutine: it may allocate and print, which a handler may not.
// Should it not end the process within some seconds, because the code has damaged
// what it needs, the handler does, with the same exit code.
//
// The state is the process's, as handlers of signals are.

// faultSlots is the size of a table by the low bits of a thread's number; a
// thread that another one pushed out of it has the runtime's handler.
const faultSlots = 1 << 16

// What the handler reads and writes; its code knows the layout.
var (
	faultThreads [faultSlots]uint32 // by the low bits: the thread that is in native code
	faultOld     [32]uintptr        // by signal: the handler that was there
	faultPipe    uint32             // to write to
	faultClaimed uint32             // 1: a thread has noted a fault
	faultNote    [4]uint64          // signal, address, instruction, thread
)

// faultEntryPC is the handler's address.
var faultEntryPC uintptr

// faultEntry is the handler, called by the system alone.
func faultEntry()

var (
	faultTeams   [faultSlots]atomic.Pointer[Team] // of faultThreads
	faultInstall sync.Once
	faultError   error
)

// sigaction is the system's, of both processors.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

func setAction(sig syscall.Signal, act, old *sigaction) error {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(act)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// installFaults takes the signals over, once.
func installFaults() error {
	faultInstall.Do(func() { faultError = takeFaults() })
	return faultError
}

func takeFaults() error {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("native code: no pipe to report faults: %w", err)
	}
	faultPipe = uint32(ends[1])
	go watchFaults(ends[0])
	for _, sig := range []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGTRAP} {
		var act sigaction
		if err := setAction(sig, nil, &act); err != nil {
			return fmt.Errorf("native code: the handler of %v cannot be read: %w", sig, err)
		}
		if act.handler <= 1 {
			continue // the system's own: there is nothing to pass others on to
		}
		// On the runtime's stack for signals, with all signals blocked, as before.
		faultOld[sig] = act.handler
		act.handler = faultEntryPC
		if err := setAction(sig, &act, nil); err != nil {
			return fmt.Errorf("native code: the handler of %v cannot be set: %w", sig, err)
		}
	}
	return nil
}

// watchFaults waits for the handler, which writes once.
func watchFaults(pipe int) {
	for {
		n, err := unix.Read(pipe, make([]byte, 1))
		if n == 1 {
			break
		}
		if err != unix.EINTR {
			fmt.Fprintf(os.Stderr, "native code: faults cannot be watched: %v\n", err)
			return
		}
	}
	f := Fault{Signal: syscall.Signal(faultNote[0]), Addr: uintptr(faultNote[1]), PC: uintptr(faultNote[2])}
	faultTeams[faultNote[3]%faultSlots].Load().report(f)
}

// enterNative says that this thread, to which the goroutine is locked, is about to
// run native code of a team, and gives its slot.
func enterNative(t *Team) int {
	tid := unix.Gettid()
	slot := tid % faultSlots
	faultTeams[slot].Store(t)
	atomic.StoreUint32(&faultThreads[slot], uint32(tid))
	return slot
}

// leaveNative ends what enterNative began.
func leaveNative(slot int) { atomic.StoreUint32(&faultThreads[slot], 0) }
