package fakecuda

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"ptc/backend/gpu/emu"
	"ptc/internal/foreign"
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
	rng      *rand.Rand // nil: as late as possible
	started  bool
	gpus     []*gpu
	threads  map[int]*gpu // whose context a thread has
	objects  map[uintptr]object
	next     uintptr
	pinned   map[uintptr][]byte
	calls    int
	counts   map[string]int
	quiet    map[int]bool // calls of functions that free
	failures []failure
	problems []string
	faults   []string
	order    []string        // kernels as they ran
	moves    int             // what nodes of graphs have done
	captures map[int]*stream // that a thread captures
}

// failure is a call that is to fail.
type failure struct {
	name   string // empty: any
	at     int    // the call's number, from 1, of those of that name
	result int
}

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

var current struct {
	sync.Mutex
	driver *Driver
}

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
	d := &Driver{o: o, threads: map[int]*gpu{}, objects: map[uintptr]object{}, next: 0x5a0000, pinned: map[uintptr][]byte{}, counts: map[string]int{}, quiet: map[int]bool{}, captures: map[int]*stream{}}
	d.changed = sync.NewCond(&d.mu)
	if o.Seed != 0 {
		d.rng = rand.New(rand.NewPCG(o.Seed, 7))
	}
	for i := range o.GPUs {
		d.gpus = append(d.gpus, &gpu{number: i, allocs: map[uint64]int64{}})
	}
	current.Lock()
	defer current.Unlock()
	current.driver = d
	return d
}

// Lookup gives the address of a function.
func (d *Driver) Lookup(name string) (uintptr, error) {
	for _, m := range d.o.Missing {
		if m == name {
			return 0, fmt.Errorf("undefined symbol: %s", name)
		}
	}
	at, ok := addresses()[name]
	if !ok {
		return 0, fmt.Errorf("undefined symbol: %s", name)
	}
	return at, nil
}

// Fail lets a call fail: that number at, from 1, of those of a name from now on, or of all where the
// name is empty. A function that frees has freed. Results of 700 and more are faults, which stay.
func (d *Driver) Fail(name string, at, result int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name == "" {
		at += d.calls
	} else {
		at += d.counts[name]
	}
	d.failures = append(d.failures, failure{name, at, result})
}

// Lose lets all calls of a GPU fail from now on.
func (d *Driver) Lose(gpu, result int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gpus[gpu].sticky = result
}

// Calls is how many calls there were, and Called how many of one function.
func (d *Driver) Calls() int { d.mu.Lock(); defer d.mu.Unlock(); return d.calls }

// Called is how many calls of a function there were.
func (d *Driver) Called(name string) int { d.mu.Lock(); defer d.mu.Unlock(); return d.counts[name] }

// Freed says whether a call, by its number from 1, was of a function that frees: of these a caller
// need tell no failure.
func (d *Driver) Freed(at int) bool { d.mu.Lock(); defer d.mu.Unlock(); return d.quiet[at] }

// Problems are mistakes of the caller, in order; Faults what kernels did that a GPU does not define;
// Order the kernels in the order in which they ran.
func (d *Driver) Problems() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.problems...)
}

// Faults are what kernels did that a GPU does not define.
func (d *Driver) Faults() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.faults...)
}

// Order is the kernels in the order in which they ran.
func (d *Driver) Order() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.order...)
}

func (d *Driver) problem(format string, args ...any) {
	d.problems = append(d.problems, fmt.Sprintf(format, args...))
}

// chance is true as often as not, never where all is as late as possible.
func (d *Driver) chance() bool { return d.rng != nil && d.rng.IntN(2) == 0 }

// failing is the result with which a call is to fail, or 0.
func (d *Driver) failing(f *function) int {
	name := f.name
	d.calls++
	d.counts[name]++
	d.quiet[d.calls] = f.frees
	for _, f := range d.failures {
		if f.name == "" && f.at == d.calls || f.name == name && f.at == d.counts[name] {
			return f.result
		}
	}
	return Success
}

// pointer is what an address of the caller's points to.
func pointer[T any](at uintptr) *T { return (*T)(foreign.Pointer(at)) }
