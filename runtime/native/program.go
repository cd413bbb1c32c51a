package native

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

// Instr is one kernel launch of a program.
type Instr struct {
	// Kernel is the symbol of the kernel in the image.
	Kernel string
	// Bufs are the addresses of the kernel's buffers. They must not be of Go's
	// heap: see Alloc.
	Bufs []uintptr
	// Tasks is the number of tasks, at least 0. They run in any order.
	Tasks int64
	// Independent says that the next instruction does not touch what this one,
	// or any before it back to the last one that is not Independent, writes, nor
	// write what they read: no thread need wait between the two.
	Independent bool
	// Alone has thread 0 run all tasks: they are less work than meeting the others.
	Alone bool
	// With says that the instruction is launched together with the one before it: it has
	// the same kernel and as many tasks, and is independent of it. A launch has the tasks
	// of all of its instructions.
	With bool
}

// replaySymbol is the driver that walks the instructions of a program:
//
//	void ptc_replay(ptr instrs, i64 from, i64 to, i64 tid, i64 nthreads, ptr sync, ptr scratch)
//
// Thread tid runs a part of the tasks of each instruction in [from, to).
const replaySymbol = "ptc_replay"

// code is an instruction as ptc_replay reads it.
type code struct {
	kernel, bufs uintptr
	tasks        int64
	flags        int64
}

// Flags of an instruction: no barrier follows it; thread 0 runs all its tasks. The other
// bits are how many instructions behind it are launched with it.
const (
	flagNoBarrier = 1
	flagAlone     = 2
	flagBits      = 2
)

// The barrier's two words, and the count of tasks that were claimed, are on pairs
// of cache lines of their own, so that threads that wait on the second do not slow
// those that still have to reach the first. All are zero when a replay begins.
const (
	syncArrived  = 0
	syncReleased = 128
	syncClaimed  = 256
	syncBytes    = 384
)

// Program is a list of instructions with every address resolved, ready to be
// replayed. Its image and buffers must outlive it.
type Program struct {
	mu      sync.Mutex // one replay at a time: scratch and barrier are shared
	img     *Image
	replay  uintptr
	code    uintptr
	sync    uintptr
	scratch uintptr
	stride  uintptr // from one thread's scratch to the next one's
	n       int
	threads int
	shared  []int // how many instructions before each are run by several threads
	free    []func()
}

// MaxThreads is how many threads a team may have.
const MaxThreads = 4096

const maxTasks = 1 << 40

// NewProgram resolves instrs against img, for teams of the given number of
// threads, each with scratchBytes of memory of its own (at a multiple of 64
// bytes, its content unspecified).
func NewProgram(img *Image, instrs []Instr, threads int, scratchBytes int) (*Program, error) {
	replay, ok := img.Symbol(replaySymbol)
	if !ok {
		return nil, fmt.Errorf("native program: the image has no symbol %s", replaySymbol)
	}
	if threads < 1 || threads > MaxThreads {
		return nil, fmt.Errorf("native program: %d threads, want 1 to %d", threads, MaxThreads)
	}
	if scratchBytes < 0 || scratchBytes > maxAlloc/threads {
		return nil, fmt.Errorf("native program: %d bytes of scratch for each of %d threads", scratchBytes, threads)
	}
	p := &Program{img: img, replay: replay, n: len(instrs), threads: threads}
	if err := p.encode(img, instrs); err != nil {
		p.Close()
		return nil, err
	}
	// Whole pages and one line more: the same offset of two threads' scratch is
	// neither on one page nor in one set of a cache.
	p.stride = uintptr(roundUp(uint64(scratchBytes), 4096) + 64)
	mem, err := p.alloc(int(p.stride) * threads)
	if err != nil {
		p.Close()
		return nil, err
	}
	p.scratch = addressOf(mem)
	return p, nil
}

func (p *Program) alloc(n int) ([]byte, error) {
	mem, free, err := Alloc(n)
	if err == nil {
		p.free = append(p.free, free)
	}
	return mem, err
}

// encode writes the instructions and their buffer lists as native code reads
// them: outside Go's heap, behind the barrier's words.
func (p *Program) encode(img *Image, instrs []Instr) error {
	bufs := 0
	for _, in := range instrs {
		bufs += len(in.Bufs)
	}
	codeBytes := len(instrs) * int(unsafe.Sizeof(code{}))
	mem, err := p.alloc(syncBytes + codeBytes + bufs*int(unsafe.Sizeof(uintptr(0))))
	if err != nil {
		return err
	}
	p.sync = addressOf(mem)
	p.code = p.sync + syncBytes
	out := unsafe.Slice((*code)(unsafe.Pointer(unsafe.SliceData(mem[syncBytes:]))), len(instrs))
	list := unsafe.Slice((*uintptr)(unsafe.Pointer(unsafe.SliceData(mem[syncBytes+codeBytes:]))), bufs)
	noBarrier := barriers(instrs)
	p.shared = make([]int, len(instrs)+1)
	for i, in := range instrs {
		p.shared[i+1] = p.shared[i]
		if !single(instrs, i) {
			p.shared[i+1]++
		}
		kernel, ok := img.Symbol(in.Kernel)
		if !ok {
			return fmt.Errorf("native program: instruction %d: the image has no kernel %q", i, in.Kernel)
		}
		if in.Tasks < 0 || in.Tasks > maxTasks {
			return fmt.Errorf("native program: instruction %d: kernel %q has %d tasks", i, in.Kernel, in.Tasks)
		}
		for k, b := range in.Bufs {
			if b == 0 {
				return fmt.Errorf("native program: instruction %d: buffer %d of kernel %q has no address", i, k, in.Kernel)
			}
		}
		out[i] = code{kernel: kernel, tasks: in.Tasks}
		if len(in.Bufs) > 0 {
			out[i].bufs = uintptr(unsafe.Pointer(unsafe.SliceData(list)))
			list = list[copy(list, in.Bufs):]
		}
		if noBarrier[i] {
			out[i].flags |= flagNoBarrier
		}
		if in.Alone {
			out[i].flags |= flagAlone
		}
		if in.With && (i == 0 || out[i-1].kernel != kernel || out[i-1].tasks != in.Tasks || instrs[i-1].Alone != in.Alone) {
			return fmt.Errorf("native program: instruction %d is launched with one of another kernel", i)
		}
	}
	for i := len(instrs) - 1; i > 0; i-- {
		if instrs[i].With {
			out[i-1].flags |= out[i].flags&^(flagNoBarrier|flagAlone) + 1<<flagBits
		}
	}
	return nil
}

// single says whether there is an instruction i, and thread 0 runs all of its launch.
func single(instrs []Instr, i int) bool {
	if i >= len(instrs) {
		return false
	}
	with := instrs[i].With || i+1 < len(instrs) && instrs[i+1].With
	return instrs[i].Alone || instrs[i].Tasks <= 1 && !with
}

// barriers says after which instructions no barrier is needed: the independent
// ones, and those that have run on thread 0 alone, as everything since the last
// barrier has, when the next one will too. Instructions of one task, which are
// the small ones, then cost no waiting among themselves.
//
// A barrier left out for the second reason is still owed to the other threads:
// Independent, which is said of a program with all its barriers, lets none be
// left out until it has been passed.
func barriers(instrs []Instr) []bool {
	skip := make([]bool, len(instrs))
	with := func(i int) bool { return i < len(instrs) && instrs[i].With }
	single := func(i int) bool { return single(instrs, i) }
	alone, owed := true, false // since the last barrier
	for i, in := range instrs {
		alone = alone && single(i)
		next := single(i + 1)
		switch {
		case with(i + 1): // of one launch
			skip[i] = true
		case alone && next:
			skip[i] = true
			owed = owed || !in.Independent
		case in.Independent && !owed:
			skip[i] = true
		default:
			alone, owed = true, false
		}
	}
	return skip
}

// Len is the number of instructions.
func (p *Program) Len() int { return p.n }

// Close frees the program's memory. No replay may be under way.
func (p *Program) Close() {
	for _, f := range p.free {
		f()
	}
	p.free, p.n, p.replay = nil, 0, 0
}

var (
	errThreads = errors.New("native program: made for another number of threads than the team has")
	errRange   = errors.New("native program: no such range of instructions")
	errClosed  = errors.New("native program: replayed after Close")
)
