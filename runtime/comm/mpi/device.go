package mpi

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"ptc/internal/collective"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

func init() {
	comm.Register(comm.Transport{Name: "mpi", Launched: Detect, Open: Open})
}

// end is this process's device.
type end struct {
	mesh   *comm.Mesh
	opts   comm.Options
	log    io.Writer
	rank   int
	failed atomic.Pointer[failure]

	mu      sync.Mutex // one thread at a time is in the library
	lib     *caller
	counts  [1024]uint64 // operations by set of axes
	alone   uint64
	recvs   map[link]*uint64
	streams map[link]*stream
	sending []*stream // all of streams
	active  []*call   // started and not complete
	waiting []*call   // in Wait
	free    [][]byte  // scratch
	closed  bool

	signals chan os.Signal
	work    chan struct{} // holds one token: there is something to poll
	quit    chan struct{}
	gone    chan int32 // the code of MPI_Finalize
}

type failure struct{ err error }

var opened atomic.Bool // MPI can be initialized once in a process

// Open initializes MPI for a mesh of as many devices as there are processes. It
// can be called once in a process; MPI is finalized by Close.
func Open(m *comm.Mesh, o comm.Options) ([]comm.Device, error) {
	_, size, ok := Detect()
	if !ok && m.Size() > 1 {
		return nil, comm.LaunchError(nil, "the plan is for %d devices, but MPI did not start this process: start it with mpirun -n %d", m.Size(), m.Size())
	}
	if err := fits(m, size); err != nil {
		return nil, err
	}
	lib, err := load()
	if err != nil {
		return nil, err
	}
	if opened.Swap(true) {
		return nil, comm.LaunchError(nil, "a process can open MPI only once")
	}
	d := &end{mesh: m, opts: o.WithDefaults(), log: o.Log, lib: &caller{library: lib},
		recvs: map[link]*uint64{}, streams: map[link]*stream{},
		work: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan int32, 1)}
	if d.log == nil {
		d.log = os.Stderr
	}
	ready := make(chan error, 1)
	go d.thread(ready)
	select {
	case err = <-ready:
	case <-time.After(d.opts.Timeout):
		err = comm.LaunchError(nil, "MPI_Init has not returned for %v: check that every process of the job has started", d.opts.Timeout)
	}
	if err != nil {
		return nil, err
	}
	d.reportTermination()
	return []comm.Device{d}, nil
}

// fits compares a mesh with a number of processes; 0 is unknown.
func fits(m *comm.Mesh, size int) error {
	if size == 0 || size == m.Size() {
		return nil
	}
	return comm.LaunchError(nil, "the plan is for %d devices, but MPI started %d processes: start it with mpirun -n %d", m.Size(), size, m.Size())
}

// thread is the goroutine that initializes and finalizes MPI, which must be on
// one thread, and polls in between while nobody waits.
func (d *end) thread(ready chan<- error) {
	runtime.LockOSThread()
	// A goroutine that ends locked ends its thread, which purego's cannot bear.
	defer runtime.UnlockOSThread()
	d.mu.Lock()
	err := d.initialize()
	d.mu.Unlock()
	ready <- err
	if err != nil {
		return
	}
	for {
		select {
		case <-d.work:
			d.pump()
		case <-d.quit:
			d.mu.Lock()
			code := d.lib.call(d.lib.finalize, 0)
			d.mu.Unlock()
			d.gone <- code
			return
		}
	}
}

func (d *end) initialize() error {
	l := d.lib
	out := &l.out
	l.args = [8]uintptr{0, 0, threadSerialized, uintptr(unsafe.Pointer(&out[0]))}
	if code := l.call(l.initThread, 4); code != success {
		return comm.LaunchError(nil, "MPI_Init_thread failed with code %d", code)
	}
	if out[0] < threadSerialized {
		return comm.LaunchError(nil, "this MPI does not support calls from several threads in turn (MPI_THREAD_SERIALIZED); install one that does")
	}
	l.args = [8]uintptr{l.world, l.errorsReturn}
	l.call(l.setErrhandler, 2)
	l.args = [8]uintptr{l.world, uintptr(unsafe.Pointer(&out[1]))}
	l.call(l.library.rank, 2)
	l.args = [8]uintptr{l.world, uintptr(unsafe.Pointer(&out[2]))}
	l.call(l.library.size, 2)
	d.rank = int(out[1])
	return fits(d.mesh, int(out[2]))
}

func (d *end) Rank() int        { return d.rank }
func (d *end) Mesh() *comm.Mesh { return d.mesh }

// Serves bytes of this process.
func (d *end) Serves(m device.Memory) bool {
	_, ok := m.HostBytes()
	return ok
}

func (d *end) Prepare(op comm.Op) (comm.Call, error) {
	if err := op.Check(d.rank, d.mesh.Size()); err != nil {
		return nil, err
	}
	tensors, err := op.OnHost(d.rank)
	if err != nil {
		return nil, err
	}
	c := &call{d: d, op: op, signature: op.Signature(), tensors: tensors}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch key := (link{op.Peer, op.Tag}); op.Kind {
	case collective.Send:
		if d.streams[key] == nil {
			s := &stream{slots: make([]slot, d.opts.InFlight)}
			d.streams[key] = s
			d.sending = append(d.sending, s)
		}
		c.stream = d.streams[key]
		return c, nil
	case collective.Recv:
		if d.recvs[key] == nil {
			d.recvs[key] = new(uint64)
		}
		c.members, c.phases = []int{op.Peer}, make([]phase, 1)
		c.phases[0].add(false, op.Peer, region{buf: tensors[0].Dst})
	default:
		c.members, c.me = op.Group.Members(d.rank), op.Group.Coord(d.rank)
		c.compare = c.comparePhase()
		c.build()
	}
	n := len(c.compare.transfers)
	for _, p := range c.phases {
		n = max(n, len(p.transfers))
	}
	c.reqs, c.stats = make([]uintptr, n), make([]status, n)
	return c, nil
}

// counter is where operations are numbered alike on all members.
func (d *end) counter(op *comm.Op) *uint64 {
	switch {
	case op.Kind == collective.Recv:
		return d.recvs[link{op.Peer, op.Tag}]
	case op.Group.Size() == 1:
		return &d.alone
	}
	return &d.counts[op.Group.Set()]
}

// acquire gives the smallest free scratch that is large enough, or a new one;
// a program comes to need no more than its operations that overlap.
func (d *end) acquire(n int) []byte {
	if n == 0 {
		return nil
	}
	best := -1
	for i, b := range d.free {
		if len(b) >= n && (best < 0 || len(b) < len(d.free[best])) {
			best = i
		}
	}
	if best < 0 {
		words := make([]uint64, (n+7)/8) // aligned to any element
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
	}
	b, last := d.free[best], len(d.free)-1
	d.free[best] = d.free[last]
	d.free = d.free[:last]
	return b
}

func (d *end) release(b []byte) {
	if b != nil {
		d.free = append(d.free, b)
	}
}

// Failed is the failure that ended the job, while the process still runs.
func (d *end) Failed() error {
	if f := d.failed.Load(); f != nil {
		return comm.Aborted(d.rank, f.err)
	}
	return nil
}

// usable is why the device can do nothing any more, or nil.
func (d *end) usable() error {
	if err := d.Failed(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return &comm.Error{Reason: comm.ReasonInvalid, Rank: d.rank, Msg: "a closed device cannot communicate"}
	}
	return nil
}

// Close waits until all ranks close and finalizes MPI.
func (d *end) Close() error {
	if d.usable() != nil {
		return nil
	}
	c, err := d.Prepare(comm.Op{Kind: collective.Barrier, Group: d.mesh.World(), Label: "close"})
	if err != nil {
		return err
	}
	if err := c.Run(); err != nil {
		return err
	}
	if err := d.drain(); err != nil {
		return d.fail(err)
	}
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	signal.Stop(d.signals)
	close(d.signals)
	close(d.quit)
	select {
	case code := <-d.gone:
		if code != success {
			return &comm.Error{Reason: comm.ReasonFault, Rank: d.rank, Msg: fmt.Sprintf("MPI_Finalize failed with code %d", code)}
		}
		return nil
	case <-time.After(d.opts.Timeout):
		return &comm.Error{Reason: comm.ReasonTimeout, Rank: d.rank, Msg: fmt.Sprintf("MPI_Finalize has not returned for %v", d.opts.Timeout)}
	}
}
