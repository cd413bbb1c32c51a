package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"time"
	"unsafe"

	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/cpu/lower"
	"ptc/backend/kernel"
	"ptc/compiler/ceilings"
	"ptc/compiler/jit"
	"ptc/internal/dtype"
	"ptc/runtime/native"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gemm:", err)
		os.Exit(1)
	}
}

func run() error {
	threads := flag.Int("threads", 1, "threads of the team")
	match := flag.String("run", "", "measure only the shapes that match this regular expression")
	library := flag.String("blas", "", "path of a BLAS library to measure as well (cblas_sgemm)")
	seconds := flag.Float64("seconds", 0.5, "time for the runs of one shape")
	rank := flag.Float64("quantile", 0.5, "of the runs' rates, the one to show: more than the median where other work disturbs")
	choices := flag.Bool("choices", false, "measure each way to cut a product that the generator lists")
	name := flag.String("target", "cpu", "target to compile for")
	narrow := flag.Bool("bf16", false, "measure products of bf16, not f32")
	flag.Parse()
	if *narrow && (*library != "" || *choices) {
		return errors.New("-bf16 is for products by themselves: neither -blas nor -choices")
	}
	only, err := regexp.Compile(*match)
	if err != nil {
		return err
	}
	tgt, err := target.Resolve(*name)
	if err != nil {
		return err
	}
	b := &bench{threads: *threads, seconds: *seconds, quantile: *rank, target: tgt}
	if *library != "" {
		if b.blas, err = openBLAS(*library); err != nil {
			return err
		}
		b.blas.threads(int32(*threads))
	}
	if b.lib, err = llvm.Load(); err != nil {
		return err
	}
	if b.team, err = native.NewTeam(*threads); err != nil {
		return err
	}
	defer b.team.Close()
	fmt.Printf("%-24s %5s %8s %6s %8s %6s %8s\n", "product", "tasks", "GFLOP/s", "peak", "library", "ratio", "FMA peak")
	for _, s := range sweep() {
		if only.MatchString(s.String()) {
			s.narrow = *narrow
			measure := b.measure
			if *choices {
				measure = b.choices
			}
			if err := measure(s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
	}
	return nil
}

type bench struct {
	threads  int
	seconds  float64
	quantile float64
	target   target.Target
	lib      *llvm.Library
	team     *native.Team
	blas     *blas
}

// measure prints the line of s.
func (b *bench) measure(s shape) error {
	list, between, err := s.launches("product", emit.Machine(b.target))
	if err != nil {
		return err
	}
	p, err := ceilings.MultiplyAdds("peak", emit.Machine(b.target), int64(b.threads), peakSteps, peakVectors)
	if err != nil {
		return err
	}
	kernels := []*kernel.Kernel{p}
	for _, l := range list {
		kernels = append(kernels, l.Kernel)
	}
	img, err := jit.Load(b.lib, b.target, "", kernels...)
	if err != nil {
		return err
	}
	defer img.Close()
	var mem memory
	defer mem.free()
	left, right := mem.random(s.batch*s.m*s.k, 1), mem.random(s.batch*s.k*s.n, 2)
	out, want := mem.random(s.batch*s.m*s.n, 3), mem.random(s.batch*s.m*s.n, 4)
	vectors := mem.random(p.Args()[0].Len, 5)
	bufs := [][]byte{left, right, out}
	if s.narrow {
		bufs = [][]byte{mem.halves(left), mem.halves(right), mem.halves(out)}
	}
	for i, n := range between {
		bufs = append(bufs, mem.random(n/4, uint64(6+i)))
	}
	if mem.err != nil {
		return mem.err
	}
	product, err := b.program(img, list, bufs...)
	if err != nil {
		return err
	}
	defer product.Close()
	ceiling, err := b.program(img, []lower.Launch{{Kernel: p, Bufs: []int{0}}}, vectors)
	if err != nil {
		return err
	}
	defer ceiling.Close()

	once := b.replayed(product, len(list)) * float64(len(list))
	reference(b.blas, s, left, right, want)
	if s.narrow {
		widen(bufs[2], floats(out))
	}
	if err := compare(floats(out), floats(want), s); err != nil {
		return err
	}
	lanes := float64(emit.Machine(b.target).Lanes(kernel.F32))
	// A run of a short product is many of it: the clock and waking a team cost
	// microseconds.
	times := max(1, min(most/len(list), int(0.002/once)))
	b.replay(ceiling) // wakes the team
	peakTimes := max(1, int(0.002/b.replay(ceiling)))
	var ours, theirs, peaks []float64
	for start := time.Now(); time.Since(start).Seconds() < b.seconds || len(ours) < 5; {
		b.pause()
		b.replayed(product, times) // the processors wake
		for range turn {
			peaks = append(peaks, 2*peakSteps*peakVectors*lanes*float64(b.threads)/b.replayed(ceiling, peakTimes)/1e9)
			ours = append(ours, s.flops()/b.replayed(product, times*len(list))/float64(len(list))/1e9)
		}
		for range turn {
			if b.blas == nil {
				break
			}
			from := time.Now()
			for range times {
				b.blas.run(s, left, right, out)
			}
			theirs = append(theirs, s.flops()*float64(times)/time.Since(from).Seconds()/1e9)
		}
	}
	mid := func(x []float64) float64 { return quantile(x, b.quantile) }
	fmt.Printf("%-24s %5d %8.1f %5.0f%% %8.1f %6.2f %8.1f\n", s, list[0].Tasks, mid(ours), 100*mid(ours)/mid(peaks), mid(theirs), mid(ours)/mid(theirs), mid(peaks))
	return nil
}

// peakSteps is how often the loop of the peak runs in a task, on peakVectors independent vectors.
const (
	peakSteps   = 1 << 14
	peakVectors = 10
)

// turn is how many runs of each take turns.
const turn = 3

// pause waits until a library's threads sleep: after a call they wait busily for the next
// one, OpenBLAS's for some 25 ms, MKL's for 200, on the processors that ours are to run on.
func (b *bench) pause() {
	if b.blas != nil && b.threads > 1 {
		time.Sleep(250 * time.Millisecond)
	}
}

// program is the launches again and again.
func (b *bench) program(img *native.Image, list []lower.Launch, bufs ...[]byte) (*native.Program, error) {
	var instrs []native.Instr
	scratch := 0
	for _, l := range list {
		in := native.Instr{Kernel: l.Name, Tasks: l.Tasks}
		for _, n := range l.Bufs {
			in.Bufs = append(in.Bufs, native.Address(bufs[n]))
		}
		instrs, scratch = append(instrs, in), max(scratch, int(l.ScratchBytes()))
	}
	return native.NewProgram(img, slices.Repeat(instrs, most/len(list)), b.threads, scratch)
}

// most is the number of kernels of a program, of which a run takes some.
const most = 4096

func (b *bench) replay(p *native.Program) float64 { return b.replayed(p, 1) }

// replayed is the seconds that each of the first n kernels takes.
func (b *bench) replayed(p *native.Program, n int) float64 {
	n = min(n, most)
	start := time.Now()
	if err := b.team.Replay(p, 0, n); err != nil {
		panic(err) // the program is whole and was made for this team
	}
	return time.Since(start).Seconds() / float64(n)
}

// memory is what kernels read and write, outside of Go's heap.
type memory struct {
	frees []func()
	err   error
}

func (m *memory) random(n int64, seed uint64) []byte {
	mem, free, err := native.Alloc(int(4 * n))
	if err != nil {
		m.err = err
		return nil
	}
	m.frees = append(m.frees, free)
	// Numbers without a pattern: where neighbours of a column are related, sums grow with
	// the depth, and so does what roundings add up to.
	r := rand.New(rand.NewPCG(seed, 0))
	for i, f := 0, floats(mem); i < len(f); i++ {
		f[i] = 2*r.Float32() - 1
	}
	return mem
}

// halves is the numbers of from as bf16, to which it rounds those of from as well.
func (m *memory) halves(from []byte) []byte {
	mem, free, err := native.Alloc(len(from) / 2)
	if err != nil {
		panic(err) // half of what there was
	}
	m.frees = append(m.frees, free)
	for i, f := range floats(from) {
		binary.LittleEndian.PutUint16(mem[2*i:], dtype.ToBF16(f))
	}
	widen(mem, floats(from))
	return mem
}

// widen makes f32 of bf16.
func widen(from []byte, to []float32) {
	for i := range to {
		to[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(from[2*i:])) << 16)
	}
}

func (m *memory) free() {
	for _, f := range m.frees {
		f()
	}
}

func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// reference computes s with the library, or where there is none some rows of it
// in float64; the others become NaN.
func reference(lib *blas, s shape, left, right, out []byte) {
	if lib != nil {
		lib.run(s, left, right, out)
		return
	}
	l, r, w := floats(left), floats(right), floats(out)
	for i := range w {
		w[i] = float32(math.NaN())
	}
	at := func(x []float32, base, free, k, n int64, along bool) float64 {
		if along {
			return float64(x[base+free*s.k+k])
		}
		return float64(x[base+k*n+free])
	}
	for _, row := range []int64{0, s.m / 2, s.m - 1} {
		for n := range min(s.n, 1024) {
			n = s.n - 1 - n
			var sum float64
			base := s.batch - 1
			for k := range s.k {
				sum += at(l, base*s.m*s.k, row, k, s.m, s.form[0] == 'N') * at(r, base*s.k*s.n, n, k, s.n, s.form[1] == 'T')
			}
			w[base*s.m*s.n+row*s.n+n] = float32(sum)
		}
	}
}

// compare takes sums of products of numbers up to 1: two ways to add may
// differ by as many roundings as there are, and by one to bf16.
func compare(got, want []float32, s shape) error {
	bound, relative := float64(s.k+8)*0x1p-22, 0.0
	if s.narrow {
		relative = 0x1p-8
	}
	for i, w := range want {
		if w == w && !(math.Abs(float64(got[i]-w)) <= bound+relative*math.Abs(float64(w))) {
			return fmt.Errorf("element %d is %g, want %g", i, got[i], w)
		}
	}
	return nil
}

func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	return x[min(len(x)-1, int(q*float64(len(x))))]
}
