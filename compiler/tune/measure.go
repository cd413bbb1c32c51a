package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"ptc/backend/cpu/lower"
	"ptc/backend/kernel"
	"ptc/backend/tile/schedule"
	"ptc/compiler/jit"
	"ptc/internal/dtype"
	"ptc/internal/units"
	"ptc/ir"
	"ptc/runtime/native"
)

// How long a run is at least, how many there are at most of one way, and what operands
// may take.
const (
	leastRun  = 2 * time.Millisecond
	mostRuns  = 25
	leastRuns = 3
	mostBytes = 8 << 30
)

// way is one way to cut a kernel.
type way struct {
	schedule schedule.Schedule
	program  *native.Program
	instrs   int       // of a launch: two where sums are in parts
	seconds  []float64 // of a launch
}

// measure finds which of the choices is the fastest.
func (s *search) measure(x *part, choices []schedule.Schedule, k *Kernel) error {
	var kernels []*kernel.Kernel
	var each [][]lower.Launch
	var between []int64
	for i, c := range choices {
		given := schedule.NewTable(s.target.Name)
		given.Set(x.key, c, "")
		list, bytes, err := lower.Launches(fmt.Sprintf("way_%d", i), x.F, s.machine, given)
		if err != nil {
			return err
		}
		for _, l := range list {
			kernels = append(kernels, l.Kernel)
		}
		each = append(each, list)
		for len(between) < len(bytes) {
			between = append(between, 0)
		}
		for n, b := range bytes {
			between[n] = max(between[n], b)
		}
	}
	image, err := jit.Load(s.lib, s.target, "", kernels...)
	if err != nil {
		return err
	}
	defer image.Close()
	var mem memory
	defer mem.free()
	sets, err := mem.operands(x.F, between)
	if err != nil {
		return err
	}
	ways := make([]*way, len(each))
	for i, list := range each {
		ways[i] = &way{schedule: choices[i], instrs: len(list)}
		instrs, scratch := launches(list, sets)
		if ways[i].program, err = native.NewProgram(image, repeat(instrs, len(sets)), s.Threads, scratch); err != nil {
			return err
		}
		defer ways[i].program.Close()
	}
	if err := s.race(ways, len(repeat(make([]native.Instr, len(sets)), len(sets)))); err != nil {
		return err
	}
	own := ways[0]
	best := slices.MinFunc(left(ways), byMedian)
	if median(best.seconds) > (1-MinGain)*median(own.seconds) {
		best = own
	}
	k.Best, k.OwnSeconds, k.BestSeconds = best.schedule, median(own.seconds), median(best.seconds)
	return nil
}

// mostLaunches is how many launches a program has.
const mostLaunches = 1024

// repeat is the instructions of n launches again and again, up to mostLaunches.
func repeat(instrs []native.Instr, n int) []native.Instr {
	return slices.Repeat(instrs, max(1, mostLaunches/n))
}

// launches are the instructions of list on each set of operands, and the scratch that one
// of them takes.
func launches(list []lower.Launch, sets [][]uintptr) (out []native.Instr, scratch int) {
	for _, set := range sets {
		for _, l := range list {
			in := native.Instr{Kernel: l.Name, Tasks: l.Tasks}
			for _, n := range l.Bufs {
				in.Bufs = append(in.Bufs, set[n])
			}
			out, scratch = append(out, in), max(scratch, int(l.ScratchBytes()))
		}
	}
	return out, scratch
}

// race runs the ways in turns, for s.Seconds or until each has run often enough. The
// compiler's own runs as long as any.
func (s *search) race(ways []*way, launches int) error {
	times := 1
	for _, w := range ways { // so that memory and code are there
		took, err := s.run(w, 1)
		if err != nil {
			return err
		}
		times = max(times, min(launches, int(math.Ceil(leastRun.Seconds()/max(took, 1e-9)))))
	}
	from := time.Now()
	for n := 1; n <= mostRuns && (n <= leastRuns || time.Since(from).Seconds() < s.Seconds); n++ {
		on := left(ways)
		for _, w := range on {
			took, err := s.run(w, times)
			if err != nil {
				return err
			}
			w.seconds = append(w.seconds, took)
		}
		fastest := slices.Min(slices.MinFunc(on, byLeast).seconds)
		slack := 1.04
		if n < leastRuns {
			slack = 1.12
		}
		for _, w := range on {
			if w != ways[0] && slices.Min(w.seconds) > slack*fastest {
				w.program.Close()
				w.program = nil
			}
		}
	}
	return nil
}

// run is the seconds that each of n launches of w takes.
func (s *search) run(w *way, n int) (float64, error) {
	from := time.Now()
	err := s.team.Replay(w.program, 0, n*w.instrs)
	return time.Since(from).Seconds() / float64(n), err
}

// left are the ways that have not dropped out.
func left(ways []*way) []*way {
	return slices.DeleteFunc(slices.Clone(ways), func(w *way) bool { return w.program == nil })
}

func byMedian(a, b *way) int { return cmp.Compare(median(a.seconds), median(b.seconds)) }
func byLeast(a, b *way) int  { return cmp.Compare(slices.Min(a.seconds), slices.Min(b.seconds)) }

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// memory is what kernels read and write, outside of Go's heap.
type memory struct{ frees []func() }

func (m *memory) free() {
	for _, f := range m.frees {
		f()
	}
}

// sets of operands are as many as no cache holds, up to mostSets.
const mostSets = 16

// operands are buffers for the arguments and results of f, and of so many bytes behind
// these, several sets of them where they are small: a step's other kernels leave nothing of
// them in the caches.
func (m *memory) operands(f *ir.Func, between []int64) ([][]uintptr, error) {
	bytes := int64(0)
	for _, n := range between {
		bytes += n
	}
	var values []*ir.Value
	for _, a := range f.Args {
		values = append(values, a.Value)
	}
	for _, r := range f.Results {
		values = append(values, r.Value)
	}
	for _, v := range values {
		bytes += max(1, int64(v.Type.Bytes()))
	}
	if bytes > mostBytes {
		return nil, fmt.Errorf("its operands take %s, more than %s", units.Bytes(bytes), units.Bytes(mostBytes))
	}
	cache := max(int64(native.DescribeCPU().L3), 32<<20)
	sets := min(mostSets, 1+2*cache/bytes)
	var out [][]uintptr
	for range sets {
		var bufs []uintptr
		for i, v := range values {
			mem, err := m.alloc(int64(v.Type.Bytes()))
			if err != nil {
				return nil, err
			}
			if i < len(f.Args) {
				fill(mem, v.Type.DType, uint32(i+1))
			}
			bufs = append(bufs, native.Address(mem))
		}
		for _, n := range between {
			mem, err := m.alloc(n)
			if err != nil {
				return nil, err
			}
			bufs = append(bufs, native.Address(mem))
		}
		out = append(out, bufs)
	}
	return out, nil
}

// alloc is memory of n bytes, and of one at least.
func (m *memory) alloc(n int64) ([]byte, error) {
	mem, free, err := native.Alloc(int(max(1, n)))
	if err != nil {
		return nil, errors.Join(errors.New("no memory for its operands"), err)
	}
	m.frees = append(m.frees, free)
	return mem, nil
}

// fill gives floating-point numbers from -1 to 1, the same ones again and again. Integers
// are 0, which is a position, a device and a mask that every kernel can have.
func fill(mem []byte, d dtype.DType, seed uint32) {
	if !d.IsFloat() {
		return
	}
	numbers := make([]float64, min(4096, len(mem)/d.Size()))
	for i := range numbers {
		seed = seed*1664525 + 1013904223
		numbers[i] = float64(int32(seed)) / (1 << 31)
	}
	d.Encode(mem[:len(numbers)*d.Size()], numbers)
	for n := len(numbers) * d.Size(); n > 0 && n < len(mem); n *= 2 {
		copy(mem[n:], mem[:n])
	}
}
