package llvm

import (
	"fmt"
	"strings"

	"ptc/backend/llvm/target"
)

// Spinning before a waiting thread gives up its processor: a barrier of threads
// that all run is passed within a few microseconds, so whoever waits longer
// waits for a thread that has no processor.
const (
	spinsBeforeYield = 512
	spinsPerYield    = 32 // afterwards; both are powers of two
)

// Driver is the LLVM IR text of the function that replays a program of kernels,
// to be appended to the text of the kernels it is compiled with:
//
//	void ptc_replay(ptr instrs, i64 from, i64 to, i64 tid, i64 nthreads, ptr sync, ptr scratch)
//
// instrs is an array of {ptr kernel, ptr bufs, i64 tasks, i64 flags}. Every one of
// nthreads threads calls it with its tid and its own scratch; of each instruction
// in [from, to) it runs its contiguous share of the tasks:
//
//	void kernel(ptr bufs, i64 begin, i64 end, ptr scratch)
//
// and then waits until all have, unless there is one thread, the instruction is
// the last, or bit 0 of its flags says that the next one need not wait.
//
// The barrier counts arrivals in the word at sync, which only grows: barrier k
// is complete at k·nthreads. The last thread to arrive publishes that number in
// the word at sync+128, on which the others spin, so that they do not disturb
// those still to arrive. A fast thread may arrive at barrier k+1 while a slow one
// has yet to see k: it compares with ≥. Both words are 0 before the first call.
// The two are kept apart by a pair of cache lines.
//
// It needs no library: yielding is a Linux system call.
func Driver(t target.Target) (string, error) {
	var pause, yield string
	switch t.Arch {
	case "x86-64": // sched_yield is 24; the kernel clobbers rcx and r11
		pause = `call void asm sideeffect "pause", "~{memory}"()`
		yield = `call i64 asm sideeffect "syscall", "={rax},{rax},~{rcx},~{r11},~{memory}"(i64 24)`
	case "arm64": // sched_yield is 124
		pause = `call void asm sideeffect "yield", "~{memory}"()`
		yield = `call i64 asm sideeffect "svc #0", "={x0},{x8},~{memory}"(i64 124)`
	default:
		return "", fmt.Errorf("llvm: no replay driver for target %s (instruction set %q)", t.Name, t.Arch)
	}
	return strings.NewReplacer(
		"$PAUSE", pause, "$YIELD", yield,
		"$FIRST", fmt.Sprint(spinsBeforeYield), "$EVERY", fmt.Sprint(spinsPerYield-1),
	).Replace(driverText), nil
}

const driverText = `
define void @ptc_replay(ptr %instrs, i64 %from, i64 %to, i64 %tid, i64 %nthreads, ptr %sync, ptr %scratch) nounwind {
entry:
  %released = getelementptr i8, ptr %sync, i64 128
  %single = icmp eq i64 %nthreads, 1
  %any = icmp slt i64 %from, %to
  br i1 %any, label %instr, label %exit

instr:
  %i = phi i64 [ %from, %entry ], [ %next, %continue ]
  %passed = phi i64 [ 0, %entry ], [ %passed.next, %continue ]
  %kernel.p = getelementptr { ptr, ptr, i64, i64 }, ptr %instrs, i64 %i, i32 0
  %bufs.p = getelementptr { ptr, ptr, i64, i64 }, ptr %instrs, i64 %i, i32 1
  %tasks.p = getelementptr { ptr, ptr, i64, i64 }, ptr %instrs, i64 %i, i32 2
  %flags.p = getelementptr { ptr, ptr, i64, i64 }, ptr %instrs, i64 %i, i32 3
  %kernel = load ptr, ptr %kernel.p
  %bufs = load ptr, ptr %bufs.p
  %tasks = load i64, ptr %tasks.p
  %flags = load i64, ptr %flags.p
  br i1 %single, label %whole, label %share

whole:
  br label %split

share:
  %each = udiv i64 %tasks, %nthreads
  %rest = urem i64 %tasks, %nthreads
  %more = icmp ult i64 %tid, %rest
  %before = select i1 %more, i64 %tid, i64 %rest
  %base = mul i64 %each, %tid
  %first = add i64 %base, %before
  %extra = zext i1 %more to i64
  %count = add i64 %each, %extra
  %last = add i64 %first, %count
  br label %split

split:
  %begin = phi i64 [ 0, %whole ], [ %first, %share ]
  %end = phi i64 [ %tasks, %whole ], [ %last, %share ]
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %run, label %ran

run:
  call void %kernel(ptr %bufs, i64 %begin, i64 %end, ptr %scratch)
  br label %ran

ran:
  %next = add i64 %i, 1
  %end.reached = icmp sge i64 %next, %to
  br i1 %end.reached, label %exit, label %wait.asked

wait.asked:
  %flag = and i64 %flags, 1
  %free = icmp ne i64 %flag, 0
  %go = or i1 %single, %free
  br i1 %go, label %continue, label %barrier

barrier:
  %goal = add i64 %passed, %nthreads
  %old = atomicrmw add ptr %sync, i64 1 acq_rel, align 8
  %arrived = add i64 %old, 1
  %is.last = icmp eq i64 %arrived, %goal
  br i1 %is.last, label %release, label %spin

release:
  store atomic i64 %goal, ptr %released release, align 8
  br label %continue

spin:
  %spins = phi i64 [ 0, %barrier ], [ %spins.next, %spun ]
  %seen = load atomic i64, ptr %released acquire, align 8
  %open = icmp uge i64 %seen, %goal
  br i1 %open, label %continue, label %relax

relax:
  $PAUSE
  %spins.next = add i64 %spins, 1
  %long = icmp uge i64 %spins.next, $FIRST
  %phase = and i64 %spins.next, $EVERY
  %turn = icmp eq i64 %phase, 0
  %give.up = and i1 %long, %turn
  br i1 %give.up, label %yield, label %spun

yield:
  %ignored = $YIELD
  br label %spun

spun:
  br label %spin

continue:
  %passed.next = phi i64 [ %passed, %wait.asked ], [ %goal, %release ], [ %goal, %spin ]
  br label %instr

exit:
  ret void
}
`
