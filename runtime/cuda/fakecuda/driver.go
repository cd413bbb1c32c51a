package fakecuda

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"ptc/backend/gpu/emu"
	"ptc/runtime/cuda/fakelib"
)

// Options are of the GPUs and the driver that there are. The zero value is one GPU that runs
// sm_90a, by a driver of CUDA 12.4.
type Options struct {
	Seed         uint64 // of all orders and times; 0 runs everything as late as it may
	GPUs         int
	Major, Minor int
	Mixed        bool // all but the first say that they are of 8.0
	Version      int
	Memory       int64    // bytes of each GPU
	Missing      []string // functions that the driver does not have
	Says         string   // what the compiler notes of each module that it compiles
	NoGPU        bool
}

// Results that the driver gives.
const (
	Success        = 0
	InvalidValue   = 1
	OutOfMemory    = 2
	NotInitialized = 3
	NoDevice       = 100
	InvalidDevice  = 101
	InvalidContext = 201
	NoBinary       = 209
	InvalidPTX     = 218
	InvalidHandle  = 400
	NotFound       = 500
	NotReady       = 600
	IllegalAddress = 700
	LaunchFailed   = 719
	NotInCapture   = 900
	WrongThread    = 908
	Unknown        = 999
)

// Driver is a driver with its GPUs.
type Driver struct {
	mu       sync.Mutex
	changed  *sync.Cond // of mu: a call has been done
	o        Options
	started  bool
	gpus     []*gpu
	threads  map[int]*gpu // whose context a thread has
	pinned   map[uintptr][]byte
	captures map[int]*stream // that a thread captures
	clock    clock
	fakelib.Handles
	notes
}

// clock is when what may run does.
type clock struct {
	rng   *rand.Rand // nil: as late as possible
	moves int        // what nodes of graphs have done
}

// chance is true as often as not, never where all is as late as possible.
func (c *clock) chance() bool { return c.rng != nil && c.rng.IntN(2) == 0 }

// notes are what the driver notes of its caller and of what runs. A function that frees has freed where it fails;
// results of 700 and more are faults, which stay.
type notes struct {
	fakelib.Record
	mu     sync.Mutex
	quiet  map[int]bool // calls of functions that free
	faults []string
	order  []string // kernels as they ran
}

// count counts a call, and gives the result with which it is to fail, or 0.
func (n *notes) count(f *function) int {
	at, result := n.Count(f.name)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.quiet[at] = f.frees
	return result
}

func (n *notes) add(list *[]string, what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*list = append(*list, what)
}

// Freed says whether a call, by its number from 1, was of a function that frees: of these a caller
// need tell no failure.
func (n *notes) Freed(at int) bool { n.mu.Lock(); defer n.mu.Unlock(); return n.quiet[at] }

// Faults are what kernels did that a GPU does not define.
func (n *notes) Faults() []string { n.mu.Lock(); defer n.mu.Unlock(); return slices.Clone(n.faults) }

// Order is the kernels in the order in which they ran.
func (n *notes) Order() []string { n.mu.Lock(); defer n.mu.Unlock(); return slices.Clone(n.order) }

// gpu is one of them, with its primary context.
type gpu struct {
	emu.Device
	number  int
	context uintptr
	refs    int
	used    int64
	allocs  map[uint64]int64
	streams []*stream
	sticky  int // a result that all calls give from then on
}

var current atomic.Pointer[Driver]

// New makes a driver, which takes the place of the one before.
func New(o Options) *Driver {
	if o.GPUs == 0 && !o.NoGPU {
		o.GPUs = 1
	}
	if o.Major == 0 {
		o.Major = 9
	}
	if o.Version == 0 {
		o.Version = 12040
	}
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	d := &Driver{o: o, threads: map[int]*gpu{}, pinned: map[uintptr][]byte{}, captures: map[int]*stream{}, Handles: fakelib.NewHandles(0x5a0000)}
	d.quiet = map[int]bool{}
	d.changed = sync.NewCond(&d.mu)
	if o.Seed != 0 {
		d.clock.rng = rand.New(rand.NewPCG(o.Seed, 7))
	}
	for i := range o.GPUs {
		d.gpus = append(d.gpus, &gpu{number: i, allocs: map[uint64]int64{}})
	}
	current.Store(d)
	return d
}

// Lookup gives the address of a function.
func (d *Driver) Lookup(name string) (uintptr, error) {
	return fakelib.Lookup(addresses(), d.o.Missing, name)
}

// Lose lets all calls of a GPU fail from now on.
func (d *Driver) Lose(gpu, result int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gpus[gpu].sticky = result
}
