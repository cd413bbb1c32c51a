package exec

import (
	"time"

	"ptc/runtime/comm"
)

// Options of a machine.
type Options struct {
	Threads int // of all devices of this process together; 0: one for each processor

	// Comm are the ends of the communication of the devices that this process
	// has, where the others have the rest. Nil: it has all of them. The caller
	// closes them, after the machine.
	Comm []comm.Device

	// Timeout is how long a device waits for another, where Comm is nil; 0: as
	// package comm has it.
	Timeout time.Duration

	// OffloadDir is the folder for the files of what is offloaded to disk; empty:
	// the system's for temporary files.
	OffloadDir string

	// Blas names a library of matrix products, as device.Request has it. Which one is faster is measured, and
	// devices of other processes may choose otherwise: so all are to be of this one.
	// Cache are folders for the choices, as device.Request has them.
	Blas  string
	Cache []string

	// Warn is told what the user should know and does not end the run, each thing once; nil: nobody is.
	Warn func(text string)

	// OnFault is called, on a goroutine of its own, where native code makes the
	// process fault, with an *Error of ReasonBug: to say so and to end the process,
	// which is ended after it anyway. Nil: the fault is printed.
	OnFault func(error)
}
