package lower

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"sort"
	"sync"
	"testing"
	"time"
	"unsafe"

	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
	"ptc/internal/foreign"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
	machine "ptc/runtime/native"
)

// resolve finds a target; the test is skipped where no code can be made.
func resolve(t testing.TB, name string) target.Target {
	t.Helper()
	if _, err := llvm.Load(); errors.Is(err, llvm.ErrNone) {
		t.Skip("not applicable: PTC_LLVM=none, and the reference backend stands in")
	} else if err != nil {
		t.Fatal(err)
	}
	tgt, err := target.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	return tgt
}

// compile makes one object of kernels.
func compile(t testing.TB, tgt target.Target, ks ...*kernel.Kernel) []byte {
	t.Helper()
	l, err := llvm.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := emit.Module(tgt, ks...)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := l.Compile(text, tgt)
	if err != nil {
		t.Fatalf("%s: %v", tgt.Name, err)
	}
	if missing, err := llvm.Undefined(obj); err != nil || len(missing) > 0 {
		t.Fatalf("%s: undefined %v, %v", tgt.Name, missing, err)
	}
	return obj
}

// call is a kernel of an image with its memory, ready to run on some threads.
type call struct {
	k       *kernel.Kernel
	fn      uintptr
	bufs    [][]byte
	ptrs    []byte
	scratch [][]byte
}

const guard = 256

// prepare copies bufs to native memory, with guard bytes behind each.
func prepare(t testing.TB, img *machine.Image, k *kernel.Kernel, bufs [][]byte, threads int) *call {
	t.Helper()
	fn, ok := img.Symbol(k.Name)
	if !ok {
		t.Fatalf("no symbol %s", k.Name)
	}
	alloc := func(n int, fill byte) []byte {
		mem, free, err := machine.Alloc(n + guard)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(free)
		for j := range mem {
			mem[j] = fill
		}
		return mem[:n]
	}
	c := &call{k: k, fn: fn, ptrs: alloc(8*len(bufs), 0)}
	addresses := unsafe.Slice((*uintptr)(unsafe.Pointer(&c.ptrs[0])), len(bufs))
	for i, b := range bufs {
		mem := alloc(len(b), 0xa5)
		copy(mem, b)
		c.bufs = append(c.bufs, mem)
		addresses[i] = machine.Address(mem)
	}
	for range threads {
		c.scratch = append(c.scratch, alloc(int(k.ScratchBytes()), 0xff))
	}
	return c
}

func (c *call) run(begin, end int64, thread int) {
	if begin < end {
		foreign.Call(c.fn, machine.Address(c.ptrs), uintptr(begin), uintptr(end), machine.Address(c.scratch[thread]))
	}
}

// team runs all tasks, a share for each thread.
func (c *call) team() {
	n := int64(len(c.scratch))
	if n == 1 {
		c.run(0, c.k.Tasks, 0)
		return
	}
	var wait sync.WaitGroup
	for i := range n {
		wait.Add(1)
		go func() {
			defer wait.Done()
			c.run(i*c.k.Tasks/n, (i+1)*c.k.Tasks/n, int(i))
		}()
	}
	wait.Wait()
}

// intact fails the test if something was written behind a buffer.
func (c *call) intact(t testing.TB) {
	t.Helper()
	behind := func(b []byte, want byte) {
		for _, x := range b[len(b) : len(b)+guard] {
			if x != want {
				t.Fatal("written past a buffer")
			}
		}
	}
	for _, b := range c.bufs {
		behind(b, 0xa5)
	}
	for _, b := range c.scratch {
		behind(b, 0xff)
	}
}

// checkNative runs the kernels of functions as machine code for every target of this
// host, in reverse order of tasks too, which must not matter, and compares with the
// evaluator in float64.
func checkNative(t *testing.T, fs []*ir.Func) {
	var args, want [][]*tensor.Tensor
	for i, f := range fs {
		in := irtest.Arguments(f, int64(i))
		out, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, in, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		args, want = append(args, in), append(want, out)
	}
	for _, name := range target.Names() {
		tgt := resolve(t, name)
		var ks []*kernel.Kernel
		for i, f := range fs {
			k, err := Kernel(fmt.Sprintf("k%d", i), f, emit.Machine(tgt), nil)
			if err != nil {
				t.Fatal(err)
			}
			ks = append(ks, k)
		}
		if machine.Supported(tgt.Requires) != nil {
			compile(t, tgt, ks[:min(4, len(ks))]...)
			continue
		}
		img, err := machine.Load(compile(t, tgt, ks...))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(img.Close)
		for i, f := range fs {
			bufs, _ := buffers(f, args[i])
			got, again := prepare(t, img, ks[i], bufs, 1), prepare(t, img, ks[i], bufs, 1)
			got.run(0, ks[i].Tasks, 0)
			for task := ks[i].Tasks - 1; task >= 0; task-- {
				again.run(task, task+1, 0)
			}
			got.intact(t)
			for j, w := range want[i] {
				n := len(f.Args) + j
				x := tensor.New(f.Results[j].Value.Type)
				x.Get(got.bufs[n])
				if at, diff := irtest.Worst(x, w); !(diff < tolerance(w.Type.DType)) {
					t.Errorf("%s: result %d differs at %d: %v, want %v\n%s", name, j, at, x.Data[at], w.Data[at], ir.PrintFunc(f))
				}
				if string(got.bufs[n]) != string(again.bufs[n]) {
					t.Errorf("%s: result %d depends on the order of tasks\n%s", name, j, ir.PrintFunc(f))
				}
			}
		}
	}
}

func TestAttentionNative(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	fs := []*ir.Func{}
	for _, a := range []irtest.Attention{
		{Batch: 1, Heads: 2, Group: 1, Rows: 300, Keys: 300, Cols: 64, Values: 64, Causal: true, Stats: true},
		{Batch: 1, Heads: 1, Group: 2, Rows: 130, Keys: 520, Cols: 80, Values: 80},
		{Batch: 1, Heads: 1, Group: 1, Rows: 600, Keys: 600, Cols: 32, Values: 128, Causal: true, Window: 100},
	} {
		fs = append(fs, parse(t, a.Forward()), parse(t, a.Backward()))
	}
	for range 8 {
		fs = append(fs, parse(t, irtest.RandomAttention(r).Forward()), parse(t, irtest.RandomAttention(r).Backward()))
	}
	checkNative(t, fs)
}

// chain is the attention of a as kernels of other classes.
func chain(a irtest.Attention, causal bool) []string {
	s, scores := fmt.Sprintf("b=%d, kv=%d, s=%d", a.Batch, a.Heads, a.Rows), fmt.Sprintf("b=%d, kv=%d, s=%d, t=%d", a.Batch, a.Heads, a.Rows, a.Keys)
	mask := "  %3 : f32[" + scores + "] = div %0, %2\n"
	last := "%3"
	if causal {
		mask += fmt.Sprintf(`  %%20 : i32[s=%d] = index axis=s size=%d
  %%21 : i32[t=%d] = index axis=t size=%d
  %%22 : bool[s=%d, t=%d] = ge %%20, %%21
  %%23 : f32[] = const dtype=f32 value=-inf
  %%24 : f32[%s] = select %%22, %%3, %%23
`, a.Rows, a.Rows, a.Keys, a.Keys, a.Rows, a.Keys, scores)
		last = "%24"
	}
	return []string{
		fmt.Sprintf("func @k class=kernel\n  arg %%0 : f32[b=%d, s=%d, kv=%d, d=%d] in\n  arg %%1 : f32[b=%d, t=%d, kv=%d, d=%d] in\n  %%2 : f32[%s] = dot %%0, %%1 out=(b, kv, s, t) over=(d)\n  result %%2 out\nend\n",
			a.Batch, a.Rows, a.Heads, a.Cols, a.Batch, a.Keys, a.Heads, a.Cols, scores),
		fmt.Sprintf("func @k class=kernel\n  arg %%0 : f32[%s] in\n  %%2 : f32[] = const dtype=f32 value=8\n%s  %%4 : f32[%s] = reduce_max %s over=(t)\n  %%5 : f32[%s] = sub %s, %%4\n  %%6 : f32[%s] = exp %%5\n  %%7 : f32[%s] = reduce_sum %%6 over=(t)\n  %%8 : f32[%s] = div %%6, %%7\n  result %%8 out\nend\n",
			scores, mask, s, last, scores, last, scores, s, scores),
		fmt.Sprintf("func @k class=kernel\n  arg %%0 : f32[%s] in\n  arg %%1 : f32[b=%d, t=%d, kv=%d, e=%d] in\n  %%2 : f32[b=%d, s=%d, kv=%d, e=%d] = dot %%0, %%1 out=(b, s, kv, e) over=(t)\n  result %%2 out\nend\n",
			scores, a.Batch, a.Keys, a.Heads, a.Values, a.Batch, a.Rows, a.Heads, a.Values),
	}
}

// ready compiles kernel functions and gives them random arguments.
func ready(b testing.TB, tgt target.Target, threads int, texts ...string) []*call {
	var ks []*kernel.Kernel
	var fs []*ir.Func
	for i, text := range texts {
		m, errs := ir.Parse("bench.ptir", []byte("ptir 1 fused \"t\"\n\n"+text))
		if len(errs) > 0 {
			b.Fatal(errs)
		}
		f := m.Funcs[0]
		k, err := Kernel(fmt.Sprintf("k%d", i), f, emit.Machine(tgt), nil)
		if err != nil {
			b.Fatal(err)
		}
		ks, fs = append(ks, k), append(fs, f)
	}
	img, err := machine.Load(compile(b, tgt, ks...))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(img.Close)
	var out []*call
	for i, f := range fs {
		var bufs [][]byte
		for _, a := range f.Args {
			mem := make([]byte, a.Value.Type.Bytes())
			for j := 0; j+4 <= len(mem); j += 4 {
				*(*float32)(unsafe.Pointer(&mem[j])) = float32(math.Sin(float64(j) * 12.9898))
			}
			bufs = append(bufs, mem)
		}
		for _, x := range f.Results {
			bufs = append(bufs, make([]byte, x.Value.Type.Bytes()))
		}
		out = append(out, prepare(b, img, ks[i], bufs, threads))
	}
	return out
}

// median is the median time of n runs of each of fs, which take turns.
func medians(n int, fs ...func()) []time.Duration {
	times := make([][]time.Duration, len(fs))
	for range n {
		for i, f := range fs {
			start := time.Now()
			f()
			times[i] = append(times[i], time.Since(start))
		}
	}
	out := make([]time.Duration, len(fs))
	for i, ts := range times {
		sort.Slice(ts, func(a, b int) bool { return ts[a] < ts[b] })
		out[i] = ts[len(ts)/2]
	}
	return out
}

// BenchmarkAttention runs attentions of heads of 64 in turns with the chain of three
// kernels that stores the scores.
func BenchmarkAttention(b *testing.B) {
	tgt := resolve(b, "cpu")
	for _, threads := range []int{1, 2} {
		for _, n := range []int{256, 1024, 4096} {
			for _, causal := range []bool{false, true} {
				a := irtest.Attention{Batch: 1, Heads: 12, Group: 1, Rows: n, Keys: n, Cols: 64, Values: 64, Causal: causal, Stats: true}
				b.Run(fmt.Sprintf("threads=%d/n=%d/causal=%v", threads, n, causal), func(b *testing.B) {
					start := time.Now()
					one := ready(b, tgt, threads, a.Forward())[0]
					compiled := time.Since(start)
					run := []func(){one.team}
					if n <= 1024 {
						chain := ready(b, tgt, threads, chain(a, causal)...)
						run = append(run, func() {
							for _, c := range chain {
								c.team()
							}
						})
					}
					for b.Loop() {
						times := medians(7, run...)
						full := 4 * float64(a.Batch*a.Heads*n*n*64)
						done := full
						if causal {
							done = full / 2 * float64(n+1) / float64(n)
						}
						b.ReportMetric(done/times[0].Seconds()/1e9, "gflop/s")
						if len(times) > 1 {
							b.ReportMetric(times[1].Seconds()/times[0].Seconds(), "×chain")
						}
						b.ReportMetric(float64(one.k.ScratchBytes()>>10), "KiB")
						b.ReportMetric(float64(compiled.Milliseconds()), "ms-compile")
					}
				})
			}
		}
	}
}
