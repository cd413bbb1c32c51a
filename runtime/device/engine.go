package device

import (
	"time"

	"ptc/runtime/program"
)

// Request is one device of a plan whose programs are to be run.
type Request struct {
	Plan   *program.Plan   // validated, and not to be changed
	Device *program.Device // of Plan
	Rank   int             // one that runs Device

	Threads int    // of the host that may run, at least 1
	Dir     string // folder for the file of the memory on disk; empty: the system's for temporary files

	// Blas names a library of matrix products that may take the place of kernels which are those and
	// no more, where it is faster: BlasNone, which is the same as empty, or BlasLt. Results then
	// depend on the library in their last bits.
	// Which products are its is kept in the first folder of Cache that can be written. The folders need
	// not exist; without any, products are timed each time.
	Blas  string
	Cache []string

	// Warn is told what the user should know that does not keep the plan from running; nil: nobody asks.
	Warn func(text string)

	// Exchanges readies what the programs exchange with other devices; nil where
	// they exchange nothing.
	Exchanges Exchanges

	// Fault is called, on a goroutine of its own, when the code makes the process
	// fault; it says what happened in the code's own terms. The process ends after
	// it. Nil: nobody asks. An engine whose code cannot fault does not call it.
	Fault func(prog int, what string)
}

// Libraries that Request.Blas names.
const (
	BlasNone = "none"
	BlasLt   = "lt" // cuBLASLt, for GPUs of NVIDIA
)

// Engine is one device. Its methods, and those of its programs, are called by one
// goroutine at a time.
type Engine interface {
	// Memory is a memory of the device, as Buffer.Memory names it; nil where the
	// plan has none of that name. Its content is undefined until it is written.
	Memory(name string) Memory

	// Capture readies program number prog of Device.Progs, once: it resolves all
	// that can be resolved, so that a launch only launches.
	Capture(prog int) (Program, error)

	// Close waits for what is under way and frees what the engine holds, its
	// memories included.
	Close()
}

// Program is a captured program.
//
// Between a call of Launch and the return of the Wait behind it, the program has
// the device's memories and all ports: nothing else may read or write them. Of
// one engine one program runs at a time. A run begins at the first instruction, when
// nothing of another one is under way; memory that holds no tensor of the plan is
// then undefined.
type Program interface {
	// Port is the host's bytes of port number i of Device.Ports, at a multiple of
	// 8: little-endian elements, row-major. What goes in (data, step, seed,
	// coordinates) stays as it was written there from one run to the next; what
	// comes out (loss, statistics) is there after Wait and after Step, as far as it
	// has been computed. Nil for a port of another program, and for a gradient,
	// which is read from memory.
	Port(i int) []byte

	// Launch begins to run the whole program. It may return before anything has
	// run, or after all has.
	Launch()

	// Wait returns when the launch has ended. Where the error is a *KernelError,
	// the device's code failed; all else failed to communicate or to be copied.
	// After an error nothing is under way on the device.
	Wait() error

	// Step runs the instructions [from, to) and returns when they are done. 0
	// begins a run; any other from goes on where the run was left. Ranges may recur
	// in every run, as those before and behind a check do. What
	// instructions before to have started is under way until the instruction that
	// waits for it has run, and until then its sources must not be written nor its
	// destinations touched.
	Step(from, to int) error

	// Stop ends a run that was left before instruction at: it waits for all that
	// is under way.
	Stop(at int) error
}

// Timed is a Program of a device with a clock of its own. What the host measures around Step is
// also what it takes to begin work and to wait for it.
type Timed interface {
	Program

	// StepTimed is Step(cuts[0], cuts[n]), which sets n intervals: when the instructions from each
	// cut to the next began and ended. Work that is only started may be anywhere in them.
	StepTimed(cuts []int, spans []Interval) error
}

// Interval is from when to when something was done.
type Interval struct{ Start, End time.Time }

// On is what an engine runs on.
type On struct {
	Name string        // for people: "GPU 0 (NVIDIA H200)"
	Code string        // which code of the plan it runs: "sm_90a"
	Roof *program.Roof // of the kind of device that this code is for; nil: not known
}

// Described is an Engine that says what it runs on.
type Described interface {
	Engine
	On() On
}

// KernelError is a failure of the device's code.
type KernelError struct{ Err error }

func (e *KernelError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *KernelError) Unwrap() error { return e.Err }

// Exchanges readies the communication of one device with other devices.
type Exchanges interface {
	// Serves says whether ranges of that memory may be given to Prepare. An engine
	// copies to and from a memory that is served, or says that it cannot.
	Serves(Memory) bool

	// Prepare readies instruction number instr of program prog, which is a
	// communication with other devices, to be run any number of times; at says
	// where a buffer of the device lies, in a memory that is served. Where that is one on a
	// device, the error may be ErrNotEnqueued: the buffers are then to be given in memory of the host.
	Prepare(prog, instr int, at func(buffer int) Range) (Exchange, error)
}

// Exchange is a prepared communication of a program.
type Exchange struct {
	Call
	// AtOnce says that all other devices that take part run in this process and in
	// step with this one. An engine whose kernels need the processors that the
	// communication needs does it at once where it is only to be started: nobody
	// would do the work meanwhile, and it is cheapest while what is sent is in the
	// caches. That cannot block what could go on otherwise: the devices come to it
	// in one order, after the same messages with their own neighbours.
	AtOnce bool

	// Enqueued is there in place of Call where the buffers are on a device, which
	// does the communication by itself. The Exchanges are then an Enqueuer.
	Enqueued Enqueued
}

// Call is a prepared operation among devices. It does not allocate.
type Call interface {
	// Start issues the operation and returns at once. Until Wait has returned,
	// its sources must not be written nor its destinations touched, and the call
	// not be started again.
	Start() error

	// Wait returns when the destinations are complete and the sources free to be
	// written. A message that is sent has then left, or is kept until it does; it
	// need not have been received.
	Wait() error

	// Run is Start and Wait.
	Run() error
}
