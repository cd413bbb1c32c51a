package native

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"ptc/internal/foreign"
	"ptc/internal/processors"
)

// Team is a fixed set of threads that replay programs together. The calling
// goroutine is thread 0; the others are goroutines locked to operating-system
// threads, created once, which wait between replays (see gate).
//
// While a replay runs, threads that wait for one another spin, and give up the
// processor after some microseconds: a team larger than the machine works, if
// slowly.
type Team struct {
	mu      sync.Mutex // one replay at a time
	threads int
	start   []*gate // by thread, from 1: the number of the replay to take part in, or stop
	working atomic.Int64
	done    *gate // the number of the replay that all workers are through
	replays uint64
	args    [][8]uintptr // by thread: the arguments of its native call, padded to a cache line
	seats   []seat       // by thread
	spread  bool         // whether each thread can have a processor of its own
	job     job
	onFault func(Fault) // nil: the fault is printed
	closed  bool
}

// job is what the replay under way runs: written before the workers are woken,
// read by them after.
type job struct {
	p        *Program
	from, to int
	threads  int
}

// stop, in the place of a replay's number, ends a worker.
const stop = ^uint64(0)

// NewTeam starts a team of the given number of threads, the caller included.
func NewTeam(threads int) (*Team, error) {
	if threads < 1 || threads > maxThreads {
		return nil, fmt.Errorf("native team: %d threads, want 1 to %d", threads, maxThreads)
	}
	if err := installFaults(); err != nil {
		return nil, err
	}
	processors.Keep()
	t := &Team{
		threads: threads,
		start:   make([]*gate, threads),
		args:    make([][8]uintptr, threads),
		seats:   make([]seat, threads),
	}
	look := threads <= runtime.NumCPU()
	t.spread = look && threads > 1
	t.done = newGate(look)
	for tid := 1; tid < threads; tid++ {
		t.start[tid] = newGate(look)
		go t.work(tid)
	}
	return t, nil
}

func (t *Team) work(tid int) {
	runtime.LockOSThread()
	// Unlocked at the end: a goroutine that ends locked ends its thread, and the
	// threads that purego makes in place of cgo crash the process when they end.
	defer runtime.UnlockOSThread()
	for n := t.start[tid].await(0); n != stop; n = t.start[tid].await(n) {
		t.apart(tid)
		t.run(tid)
		if t.working.Add(-1) == 0 {
			t.done.set(n)
		}
	}
}

// Replay runs the instructions [from, to) of p on the whole team, or on the caller
// alone where no instruction is for several threads, and returns when all are done.
// It does not allocate. Replays of one team, and of one program,
// run one after another.
//
// The error is for a call that cannot be made; kernels have none.
func (t *Team) Replay(p *Program, from, to int) error { return t.replay(p, from, to, t.threads) }

// ReplayAlone is Replay on the caller alone.
func (t *Team) ReplayAlone(p *Program, from, to int) error { return t.replay(p, from, to, 1) }

func (t *Team) replay(p *Program, from, to, threads int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case t.closed || p.replay == 0:
		return errClosed
	case p.threads != t.threads:
		return errThreads
	case from < 0 || to > p.n || from > to:
		return errRange
	case from == to:
		return nil
	}
	if p.shared[from] == p.shared[to] { // all of it is thread 0's
		threads = 1
	}
	p.resetSync()
	t.job = job{p, from, to, threads}
	t.working.Store(int64(threads - 1))
	before := t.replays
	if threads > 1 {
		t.replays++
	}
	if threads > 1 {
		runtime.LockOSThread()
		t.apart(0)
	}
	for tid := 1; tid < threads; tid++ {
		t.start[tid].set(t.replays)
	}
	t.run(0)
	if threads > 1 {
		runtime.UnlockOSThread()
	}
	if threads > 1 {
		t.done.await(before)
	}
	t.job = job{}
	return nil
}

// run is thread tid's part of the job: one native call. Its arguments are in
// memory that is there already, because a call moves a list of its own to the
// heap.
func (t *Team) run(tid int) {
	p := t.job.p
	args := t.args[tid][:7]
	args[0], args[1], args[2] = p.code, uintptr(t.job.from), uintptr(t.job.to)
	args[3], args[4], args[5] = uintptr(tid), uintptr(t.job.threads), p.sync
	args[6] = p.scratch + uintptr(tid)*p.stride
	runtime.LockOSThread()
	slot := enterNative(t)
	foreign.Call(p.replay, args...)
	leaveNative(slot)
	runtime.UnlockOSThread()
}

// resetSync zeroes the words that threads share; the wake-up of the workers
// publishes it.
func (p *Program) resetSync() {
	for _, off := range []uintptr{syncArrived, syncReleased, syncClaimed} {
		atomic.StoreUint64((*uint64)(foreign.Pointer(p.sync+off)), 0)
	}
}

// Close ends the team's threads. It waits for a replay under way.
func (t *Team) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	for tid := 1; tid < t.threads; tid++ {
		t.start[tid].set(stop)
	}
}
