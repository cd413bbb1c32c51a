package ceilings

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
	"ptc/compiler/jit"
	"ptc/runtime/native"
)

// Options of a measurement.
type Options struct {
	Threads int   // of the larger team, at least 1
	Alone   bool  // with one thread as well
	Rounds  int   // runs of each loop; 0: DefaultRounds
	Bytes   int64 // of an array; 0: eight times the last cache, from 64 to 512 MiB
}

// DefaultRounds is how often each loop is run.
const DefaultRounds = 9

// Measure measures the ceilings. The error says where libLLVM is missing and how
// to get it, or why the loops cannot run here.
func Measure(o Options) (*Report, error) {
	if o.Threads < 1 || o.Rounds < 0 || o.Bytes < 0 {
		return nil, fmt.Errorf("%d threads, %d rounds, %d bytes", o.Threads, o.Rounds, o.Bytes)
	}
	lib, err := llvm.Load()
	if err != nil {
		return nil, fmt.Errorf("measuring needs libLLVM: %w", err)
	}
	t, err := target.Resolve("cpu")
	if err != nil {
		return nil, err
	}
	cpu := native.DescribeCPU()
	m := &measurement{o: o, r: &Report{Version: Version, CPU: strings.TrimSpace(cpu.Model), Target: t.Name, LLVM: lib.Version(),
		Threads: o.Threads, Rounds: o.Rounds, ArrayBytes: arrayBytes(o.Bytes, int64(cpu.L3))}}
	if m.r.Rounds == 0 {
		m.r.Rounds = DefaultRounds
	}
	defer m.close()
	if err := m.prepare(lib, t); err != nil {
		return nil, err
	}
	return m.r, m.run()
}

// arrayBytes is the size of an array, a whole number of pieces.
func arrayBytes(given, cache int64) int64 {
	if given > 0 {
		return (given + piece - 1) / piece * piece
	}
	if cache <= 0 {
		return 256 << 20
	}
	return min(max(8*cache, 64<<20), 512<<20) / piece * piece
}

// arrays is the memory of the loops.
type arrays struct {
	first, second uintptr
	results       uintptr // a cache line for each task
}

type measurement struct {
	o     Options
	r     *Report
	mem   arrays
	image *native.Image
	runs  []*timed
	free  []func()
}

// timed is a loop on a team.
type timed struct {
	loop
	team    *native.Team
	program *native.Program
	threads int
	work    float64 // of a run: FLOP, bytes
	rates   []float64
}

func (m *measurement) close() {
	for _, f := range slices.Backward(m.free) {
		f()
	}
}

func (m *measurement) alloc(n int64) (uintptr, error) {
	mem, free, err := native.Alloc(int(n))
	if err != nil {
		return 0, err
	}
	m.free = append(m.free, free)
	return native.Address(mem), nil
}

// prepare compiles the loops and makes a program of each, for each team.
func (m *measurement) prepare(lib *llvm.Library, t target.Target) error {
	var list []loop
	var kernels []*kernel.Kernel
	for _, make := range []func(target.Target) (*kernel.Kernel, loop, error){multiplyAdds, read, copied, update, launch} {
		k, l, err := make(t)
		if err != nil {
			return err
		}
		kernels, list = append(kernels, k), append(list, l)
	}
	dot, more, none := dotLoops()
	if list = append(list, more...); len(more) == 0 {
		m.r.NoDot = none
	}
	var err error
	if m.image, err = jit.Load(lib, t, dot, kernels...); err != nil {
		return err
	}
	m.free = append(m.free, func() { m.image.Close() })
	if m.mem.first, err = m.alloc(m.r.ArrayBytes); err != nil {
		return err
	}
	if m.mem.second, err = m.alloc(m.r.ArrayBytes); err != nil {
		return err
	}
	if m.mem.results, err = m.alloc(64 * max(arithmeticTasks*int64(m.o.Threads), m.r.ArrayBytes/piece)); err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b loop) int { return int(a.kind) - int(b.kind) })
	for _, l := range list {
		for _, threads := range m.teams() {
			if err := m.add(l, threads); err != nil {
				return err
			}
		}
	}
	return nil
}

// teams are the numbers of threads.
func (m *measurement) teams() []int {
	if m.o.Alone && m.o.Threads > 1 {
		return []int{1, m.o.Threads}
	}
	return []int{m.o.Threads}
}

func (m *measurement) add(l loop, threads int) error {
	x := &timed{loop: l, threads: threads}
	for _, other := range m.runs {
		if other.threads == threads {
			x.team = other.team
		}
	}
	if x.team == nil {
		team, err := native.NewTeam(threads)
		if err != nil {
			return err
		}
		x.team = team
		m.free = append(m.free, team.Close)
	}
	in := native.Instr{Kernel: l.name, Bufs: l.bufs(&m.mem), Tasks: l.tasks(threads, m.r.ArrayBytes)}
	p, err := native.NewProgram(m.image, slices.Repeat([]native.Instr{in}, max(1, l.times)), threads, 0)
	if err != nil {
		return err
	}
	m.free = append(m.free, p.Close)
	x.program, x.work = p, l.work*float64(in.Tasks)
	m.runs = append(m.runs, x)
	return nil
}

// run runs every loop once, so that its memory is there and the processor is
// awake, then all of them in turns.
func (m *measurement) run() error {
	for _, write := range []Kind{Update, Copy} { // which touch both arrays
		for _, x := range m.runs {
			if x.kind == write && x.threads == m.o.Threads {
				if _, err := x.once(); err != nil {
					return err
				}
			}
		}
	}
	for round := range m.r.Rounds + 1 {
		for _, x := range m.runs {
			rate, err := x.once()
			if err != nil {
				return err
			}
			if round > 0 {
				x.rates = append(x.rates, rate)
			}
		}
	}
	for _, x := range m.runs {
		slices.Sort(x.rates)
		m.r.Figures = append(m.r.Figures, Figure{Name: x.kind.String(), Instruction: x.note, Unit: x.kind.unit(), Threads: x.threads,
			Median: median(x.rates), Least: x.rates[0], Most: x.rates[len(x.rates)-1]})
	}
	return nil
}

// once is the figure of a run.
func (x *timed) once() (float64, error) {
	start := time.Now()
	if err := x.team.Replay(x.program, 0, x.program.Len()); err != nil {
		return math.NaN(), err
	}
	ns := float64(time.Since(start).Nanoseconds())
	if x.kind == Launch {
		return ns / 1000 / float64(x.times), nil
	}
	return x.work / ns, nil
}

// median is the middle of what is sorted.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
