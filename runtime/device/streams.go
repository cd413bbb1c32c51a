package device

import "errors"

// Located is a memory on a device that does its work in streams. A transport that serves it enqueues
// work there, and touches no bytes.
type Located interface {
	Memory

	// Address is where byte 0 of the memory lies, in the device's own terms.
	Address() uint64

	// Streams are those of the memory's device.
	Streams() Streams
}

// Streams is what a device offers to a transport. What it makes is the device's, which
// frees it when its engine is closed. All but On is called within an On, or within a call of
// Enqueued, Begin, Watch or End.
type Streams interface {
	// On runs f on a thread from which work of the device can be enqueued.
	On(f func() error) error

	// NewStream makes a queue of work, which runs in order and concurrently with other streams.
	NewStream() (stream uintptr, err error)

	// NewEvent makes a mark in a stream. It counts as reached until it is recorded.
	NewEvent() (event uintptr, err error)

	// Alloc gives memory of the device; its content is undefined.
	Alloc(bytes int64) (address uint64, err error)

	// Record marks what a stream has been given up to now; Await has what a stream is given from now
	// on wait for that; Reached says whether all of it is done.
	Record(event, stream uintptr) error
	Await(stream, event uintptr) error
	Reached(event uintptr) (bool, error)

	// Capture makes a graph of what f gives a stream, which does none of it; 0 where that is nothing. f
	// records no events, and waits for none. The graph is the caller's.
	Capture(stream uintptr, f func() error) (graph uintptr, err error)

	// Copy enqueues a copy of rows, Zero one of zeros.
	Copy(stream uintptr, r Rows) error
	Zero(stream uintptr, address uint64, bytes int64) error
}

// Rows are bytes that are copied from one place of a device to another one, which does not
// overlap: Height rows of Width bytes, that begin so many bytes apart.
type Rows struct {
	Dst, Src           uint64
	DstEvery, SrcEvery int64
	Width, Height      int64
}

// Enqueued is a prepared communication that a device does by itself. It returns at once: what
// fails later is told by Watch.
type Enqueued interface {
	// StartOn issues the operation behind what the stream was given up to now.
	StartOn(stream uintptr) error

	// WaitOn has what the stream is given from now on wait for the operation.
	WaitOn(stream uintptr) error
}

// Enqueuer is Exchanges of which some may be Enqueued. The methods are called with the device's
// thread set up, as On does it.
type Enqueuer interface {
	// Begin connects the device with the others, once: before the first run of a program, and after
	// all of them are captured.
	Begin() error

	// Watch says why what was issued cannot end. It is called again and again while the device is
	// waited for. After an error nothing that was issued keeps a stream.
	Watch() error

	// End waits for what is still under way, as long as it may take, and disconnects. The device's
	// memory is then used no more.
	End() error
}

// ErrNotEnqueued says of a communication that it cannot be enqueued, but done by the
// host.
var ErrNotEnqueued = errors.New("this communication is not done by the device")
