package comm

import (
	"io"
	"slices"
	"time"

	"ptc/runtime/device"
)

// Device is one logical device's end of the communication. Its calls may be
// prepared and run by several goroutines, as long as the order in which the
// operations of a set of axes, or of a stream of messages, start is the same on
// all members. All errors are *Error.
type Device interface {
	// Rank is the device's number in the mesh.
	Rank() int
	// Mesh is the mesh of all devices.
	Mesh() *Mesh
	// Serves says whether the transport reads and writes that memory: ranges of no
	// other may be in an operation.
	Serves(device.Memory) bool

	// Prepare checks an operation and readies it to be run any number of times.
	Prepare(op Op) (Call, error)
	// Failed is the failure that has ended the communication, or nil.
	Failed() error
	// Abort ends the communication of all devices because of the cause. Under
	// MPI it prints the cause and ends the processes, this one included.
	Abort(cause error)
	// Close says that the device communicates no more. It waits for its messages
	// to be on their way, under MPI also for the other ranks to close.
	Close() error
}

// Call is a prepared operation. A Send waits until fewer than Options.InFlight
// messages of its stream are under way.
type Call = device.Call

// Options of a transport. The zero value has the defaults.
type Options struct {
	Timeout     time.Duration // of a wait; 0: 60 s
	InFlight    int           // messages sent and not received, for each pair of devices and tag; 0: 4
	Outstanding int           // operations started and not waited for, for each set of axes; 0: 64

	// Compare is how many operations of each set of axes the members compare
	// before they exchange data, where that costs messages (MPI); 0: 4096,
	// negative: none. Shared memory compares all.
	Compare int
	Log     io.Writer // what MPI prints before it ends the processes; nil: standard error
}

// WithDefaults replaces zeros by the defaults.
func (o Options) WithDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 60 * time.Second
	}
	if o.InFlight <= 0 {
		o.InFlight = 4
	}
	if o.Outstanding <= 0 {
		o.Outstanding = 64
	}
	if o.Compare == 0 {
		o.Compare = 4096
	}
	return o
}

// Transport is a way to communicate. It registers itself.
type Transport struct {
	Name string
	// Launched says whether this process was started for the transport, and as
	// which of how many processes; nil for one that needs no launcher.
	Launched func() (rank, size int, ok bool)
	// Open connects the devices that this process has.
	Open func(*Mesh, Options) ([]Device, error)
}

var transports []Transport

// Register adds a transport; it is called from init.
func Register(t Transport) {
	if slices.ContainsFunc(transports, func(u Transport) bool { return u.Name == t.Name }) {
		panic("comm: two transports " + t.Name)
	}
	transports = append(transports, t)
	slices.SortFunc(transports, func(a, b Transport) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
}

// Transports are the names of the registered transports, sorted.
func Transports() []string {
	names := make([]string, len(transports))
	for i, t := range transports {
		names[i] = t.Name
	}
	return names
}

// Open connects the devices of this process by the named transport; by the one
// that launched the process, or else local, where the name is empty.
func Open(name string, m *Mesh, o Options) ([]Device, error) {
	if name == "" {
		name = "local"
		for _, t := range transports {
			if t.Launched != nil {
				if _, _, ok := t.Launched(); ok {
					name = t.Name
				}
			}
		}
	}
	for _, t := range transports {
		if t.Name == name {
			return t.Open(m, o.WithDefaults())
		}
	}
	return nil, invalid("there is no transport %q; choose one of %q", name, Transports())
}
