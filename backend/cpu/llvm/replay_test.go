package llvm

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"ptc/backend/cpu/llvm/target"
	"ptc/runtime/native"
)

// program is two kernels over n tasks: `fill` sets a[i] = i + c, where c is kept
// in a cell that `bump`, of one task, increments; `gather` sets b[i] = a[n-1-i] +
// b[i], so it reads what another thread has written and the next fill must not
// overtake it.
const program = `
define void @bump(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind {
  %c = load ptr, ptr %bufs
  %v = load i64, ptr %c
  %w = add i64 %v, 1
  store i64 %w, ptr %c
  ret void
}

define void @fill(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind {
entry:
  %a = load ptr, ptr %bufs
  %cp = getelementptr ptr, ptr %bufs, i64 1
  %cell = load ptr, ptr %cp
  %c = load i64, ptr %cell
  store i64 %begin, ptr %scratch
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %p = getelementptr i64, ptr %a, i64 %i
  %v = add i64 %i, %c
  store i64 %v, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @gather(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind {
entry:
  %a = load ptr, ptr %bufs
  %bp = getelementptr ptr, ptr %bufs, i64 1
  %b = load ptr, ptr %bp
  %np = getelementptr ptr, ptr %bufs, i64 2
  %ncell = load ptr, ptr %np
  %n = load i64, ptr %ncell
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %r = sub i64 %n, %i
  %r1 = sub i64 %r, 1
  %p = getelementptr i64, ptr %a, i64 %r1
  %q = getelementptr i64, ptr %b, i64 %i
  %v = load i64, ptr %p
  %w = load i64, ptr %q
  %s = add i64 %v, %w
  store i64 %s, ptr %q
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
`

// host is the target of this machine.
func host(t testing.TB) target.Target {
	t.Helper()
	return resolve(t, "cpu")
}

// image compiles kernels and the replay driver for this machine and loads them.
func image(t testing.TB, kernels string) *native.Image {
	t.Helper()
	l, h := library(t), host(t)
	if err := native.Supported(h.Requires); err != nil {
		t.Fatal(err)
	}
	driver, err := Driver(h)
	if err != nil {
		t.Fatal(err)
	}
	object, err := l.Compile(kernels+driver, h)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := Undefined(object); err != nil || len(names) > 0 {
		t.Fatalf("undefined symbols %v, %v", names, err)
	}
	img, err := native.Load(object)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(img.Close)
	return img
}

// alloc is n elements outside Go's heap, and their address.
func alloc[T any](t testing.TB, n int) ([]T, uintptr) {
	t.Helper()
	var zero T
	mem, free, err := native.Alloc(n * int(unsafe.Sizeof(zero)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n), native.Address(mem)
}

// replay is the program above, ready to run, on a team.
type replay struct {
	a, b, cell []int64
	prog       *native.Program
	team       *native.Team
}

func newReplay(t testing.TB, n, threads int) *replay {
	t.Helper()
	img := image(t, program)
	r := &replay{}
	var a, b, cell, size uintptr
	var sizes []int64
	r.a, a = alloc[int64](t, n)
	r.b, b = alloc[int64](t, n)
	r.cell, cell = alloc[int64](t, 1)
	sizes, size = alloc[int64](t, 1)
	sizes[0] = int64(n)
	var err error
	r.prog, err = native.NewProgram(img, []native.Instr{
		{Kernel: "bump", Bufs: []uintptr{cell}, Tasks: 1},
		{Kernel: "fill", Bufs: []uintptr{a, cell}, Tasks: int64(n)},
		{Kernel: "gather", Bufs: []uintptr{a, b, size}, Tasks: int64(n)},
	}, threads, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.prog.Close)
	if r.team, err = native.NewTeam(threads); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.team.Close)
	return r
}

func TestReplay(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 7} {
		for _, n := range []int{5, 64} {
			t.Run(fmt.Sprintf("%d threads %d tasks", threads, n), func(t *testing.T) {
				r := newReplay(t, n, threads)
				const steps = 200
				for range steps {
					if err := r.team.Replay(r.prog, 0, r.prog.Len()); err != nil {
						t.Fatal(err)
					}
				}
				// b[i] is the sum over steps c = 1 … of (n-1-i) + c.
				for i, got := range r.b {
					want := int64(steps*(n-1-i) + steps*(steps+1)/2)
					if got != want {
						t.Fatalf("b[%d] = %d after %d steps, want %d", i, got, steps, want)
					}
				}
			})
		}
	}
}

// TestReplayTogether: a launch of several instructions has the tasks of all, each with
// the buffers of its own instruction; a replay may end or begin within one.
func TestReplayTogether(t *testing.T) {
	const count, steps = 5, 40
	for _, threads := range []int{1, 2, 3, 7} {
		for _, n := range []int{1, 3, 64} {
			img := image(t, program)
			cells, cell := alloc[int64](t, 1)
			_, next := alloc[int64](t, 1)
			instrs := []native.Instr{{Kernel: "bump", Bufs: []uintptr{cell}, Tasks: 1}}
			var all [][]int64
			for k := range count {
				a, at := alloc[int64](t, n)
				all = append(all, a)
				instrs = append(instrs, native.Instr{Kernel: "fill", Bufs: []uintptr{at, cell}, Tasks: int64(n), Independent: k < count-1, With: k > 0})
			}
			instrs = append(instrs, native.Instr{Kernel: "bump", Bufs: []uintptr{next}, Tasks: 1}, native.Instr{Kernel: "bump", Bufs: []uintptr{cell}, Tasks: 1})
			prog, err := native.NewProgram(img, instrs, threads, 64)
			if err != nil {
				t.Fatal(err)
			}
			team, err := native.NewTeam(threads)
			if err != nil {
				t.Fatal(err)
			}
			for step := range steps {
				cut := step % (prog.Len() + 1)
				for _, r := range [][2]int{{0, cut}, {cut, prog.Len()}} {
					if err := team.Replay(prog, r[0], r[1]); err != nil {
						t.Fatal(err)
					}
				}
				for k, a := range all {
					for i, got := range a {
						if want := int64(i) + cells[0] - 1; got != want {
							t.Fatalf("%d threads, step %d cut at %d: element %d of instruction %d is %d, want %d", threads, step, cut, i, k, got, want)
						}
					}
				}
			}
			team.Close()
			prog.Close()
		}
	}
}

// waiting is a kernel whose task 0 ends only when all n of the others have: each of
// them adds one to the cell bufs[0], n is at bufs[1].
const waiting = `
define void @waiting(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind {
entry:
  %cell = load ptr, ptr %bufs
  %np = getelementptr ptr, ptr %bufs, i64 1
  %ncell = load ptr, ptr %np
  %n = load i64, ptr %ncell
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %ran ]
  %first = icmp eq i64 %i, 0
  br i1 %first, label %wait, label %add
wait:
  %seen = load atomic i64, ptr %cell acquire, align 8
  %all = icmp sge i64 %seen, %n
  br i1 %all, label %ran, label %wait
add:
  %old = atomicrmw add ptr %cell, i64 1 acq_rel
  br label %ran
ran:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
`

// TestClaims: the other threads run what a thread that is busy with one task was
// not dealt, in instructions with a barrier between them and without.
func TestClaims(t *testing.T) {
	for _, threads := range []int{2, 3} {
		cells, cell := alloc[int64](t, 1)
		sizes, size := alloc[int64](t, 1)
		const tasks, length = 7, 4 // at most one task of a thread is dealt
		sizes[0] = tasks - 1
		img := image(t, waiting)
		for _, independent := range []bool{false, true} {
			instrs := make([]native.Instr, length)
			for i := range instrs {
				instrs[i] = native.Instr{Kernel: "waiting", Bufs: []uintptr{cell, size}, Tasks: tasks, Independent: independent}
			}
			prog, err := native.NewProgram(img, instrs, threads, 64)
			if err != nil {
				t.Fatal(err)
			}
			defer prog.Close()
			team, err := native.NewTeam(threads)
			if err != nil {
				t.Fatal(err)
			}
			defer team.Close()
			for range 20 {
				cells[0] = 0
				if err := team.Replay(prog, 0, length); err != nil {
					t.Fatal(err)
				}
				if want := int64(length * (tasks - 1)); cells[0] != want {
					t.Fatalf("%d threads: %d tasks have run, want %d", threads, cells[0], want)
				}
			}
		}
	}
}

// TestSaxpy runs vector code of this machine's own width. Products and sums are
// exact, so fused or not they are the same.
func TestSaxpy(t *testing.T) {
	const tasks = 11
	x, xAddr := alloc[float32](t, 16*tasks)
	y, yAddr := alloc[float32](t, 16*tasks)
	for i := range x {
		x[i], y[i] = float32(i), float32(1000-3*i)
	}
	prog, err := native.NewProgram(image(t, saxpy), []native.Instr{
		{Kernel: "saxpy", Bufs: []uintptr{xAddr, yAddr}, Tasks: tasks},
		{Kernel: "saxpy", Bufs: []uintptr{xAddr, yAddr}, Tasks: tasks},
	}, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	team, err := native.NewTeam(2)
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	if err := team.Replay(prog, 0, 2); err != nil {
		t.Fatal(err)
	}
	for i, got := range y {
		if want := float32(1000-3*i) + 5*float32(i); got != want {
			t.Fatalf("y[%d] = %v, want %v", i, got, want)
		}
	}
}

// TestTargetsAskForKnownFeatures: the runtime can test for whatever a target
// requires, so no plan is refused for a name that nobody knows.
func TestTargetsAskForKnownFeatures(t *testing.T) {
	for _, name := range target.Names() {
		tgt := resolve(t, name)
		err := native.Supported(tgt.Requires)
		if err != nil && (tgt.Arch == host(t).Arch) && strings.Contains(err.Error(), "there is no") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := native.Supported(host(t).Requires); err != nil {
		t.Errorf("the host's own target: %v", err)
	}
}

func TestDriverNamesTheTargetItLacks(t *testing.T) {
	if _, err := Driver(target.Target{Name: "cuda:sm_90"}); err == nil || !strings.Contains(err.Error(), "cuda:sm_90") {
		t.Errorf("error %v", err)
	}
}

// BenchmarkReplay measures what one instruction of an empty kernel costs: the
// walk, the call, and with several threads the barrier; and, with a program of
// one instruction, what it costs to start and to join a team. There are as many
// tasks as threads, at least two.
func BenchmarkReplay(b *testing.B) {
	const empty = "define void @empty(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind {\n  ret void\n}\n"
	for _, threads := range []int{1, 2, 4} {
		for _, length := range []int{1, 1000} {
			b.Run(fmt.Sprintf("threads=%d/instrs=%d", threads, length), func(b *testing.B) {
				instrs := make([]native.Instr, length)
				for i := range instrs {
					instrs[i] = native.Instr{Kernel: "empty", Tasks: int64(max(threads, 2))}
				}
				prog, err := native.NewProgram(image(b, empty), instrs, threads, 0)
				if err != nil {
					b.Fatal(err)
				}
				defer prog.Close()
				team, err := native.NewTeam(threads)
				if err != nil {
					b.Fatal(err)
				}
				defer team.Close()
				for b.Loop() {
					if err := team.Replay(prog, 0, length); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(length), "ns/instr")
			})
		}
	}
}
