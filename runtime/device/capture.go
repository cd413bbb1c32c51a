package device

import "ptc/runtime/program"

// Capturer is an Enqueuer whose operations may be nodes of a graph that the device launches, so that
// neither the host nor the end of a graph is between them and kernels.
//
// That an operation is captured concerns all who take part in it: they capture it, and launch the graph
// that has it, alike. So the answers of Captures and Enqueues are the same on all devices of a plan.
type Capturer interface {
	Enqueuer

	// Captures says why operations are not captured here, or nil.
	Captures() error

	// Enqueues says whether an instruction, which is a communication of any device of the plan, is done by
	// that device. It looks at what the operation is, not at the memory of its buffers.
	Enqueues(in *program.Instr) bool

	// Capture makes graphs of operations, which are those of one range of a program in its order.
	// It may wait for the other members of each, in an order that is the same on all devices, and is
	// called after Begin. The graphs are the caller's, even those returned with an error.
	Capture(ops []Enqueued) ([]Captured, error)

	// Replay is called before a graph of captured operations is launched on a stream: from now
	// on the stream waits for what was issued before. The graph sets marks that are 0 now: number 2i
	// when operation i begins, number 2i+1 when it has ended. It does not allocate in the long run.
	Replay(stream uintptr, ops []Enqueued, marks []uint32) error
}

// Captured is an operation as nodes of a graph:
//
//	what it waits for ─┬─ Post ─┬─ what waits for a message that is sent
//	                   │        └─ Graph
//	                   └─ Graph ── what waits for any other operation
//
// Graph and Post are behind exchanges of operations before them, too: those that use the same connection
// or the same place.
type Captured struct {
	Graph  uintptr // the exchange; 0: there is nothing to do
	Behind int     // the operation of the list whose Graph this one's is behind; -1: none
	Sends  bool    // it is a message that is sent: what comes next waits for Post alone
	Post   Rows    // the copy of it to where it travels from; of no bytes: none
	Room   int     // the operation of the list whose Graph Post is behind; -1: none
}

// Allocator is Exchanges that have memory of their own for what a device exchanges.
type Allocator interface {
	// Allocate gives so many bytes of memory of the device whose thread is set up, and who frees them; no
	// function where the device's usual memory serves as well.
	Allocate(bytes int64) (address uint64, free func() error, err error)
}

// Joint is a Program that may be run in two parts, between which the host of every device looks at what
// was computed.
type Joint interface {
	Program

	// StepJoint is Step of a range that all devices with this program run at the same point, each one
	// its own: no communication has one end in the ranges and the other outside of them. Together
	// such ranges are the whole program.
	StepJoint(from, to int) error
}
