package llvm

import (
	"fmt"
	"strings"

	"ptc/backend/cpu/llvm/target"
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
// in [from, to) it runs a part of the tasks, some of them at a time:
//
//	void kernel(ptr bufs, i64 begin, i64 end, ptr scratch)
//
// and then waits until all have been run, unless there is one thread, the
// instruction is the last, or bit 0 of its flags says that the next one need not
// wait. Bits from 2 on are how many instructions behind it are launched with it, as far
// as they are before to: their kernel and their number of tasks are the same, and the
// launch has the tasks of all.
//
// Half of the tasks are dealt in equal contiguous shares, so that threads find in
// their caches what they wrote before. The rest, which begins at the even share
// of all threads, is claimed: whoever is free takes 1/2n of what is left, at
// least one task, so that the last to be taken are single ones, and a thread that
// was held up, or had the longer tasks, does not hold up the others. (Guided
// self-scheduling: Polychronopoulos and Kuck, IEEE Transactions on Computers 36,
// 1987.) What a task computes does not depend on who runs it. An instruction of
// one task is thread 0's.
//
// Claims are counted in the word at sync+256, which only grows, over all
// instructions: those of an instruction begin where those of the one before it
// end, so that a thread that went on without waiting claims tasks of the next one
// only when those of this one are gone.
//
// The barrier counts arrivals in the word at sync, which only grows: barrier k
// is complete at k·nthreads. The last thread to arrive publishes that number in
// the word at sync+128, on which the others spin, so that they do not disturb
// those still to arrive. A fast thread may arrive at barrier k+1 while a slow one
// has yet to see k: it compares with ≥. All words are 0 before the first call, and
// a pair of cache lines apart.
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
define internal void @ptc_launch(ptr %instrs, i64 %tasks, i64 %begin, i64 %end, ptr %scratch) nounwind noinline {
entry:
  %kernel = load ptr, ptr %instrs
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %part, label %exit

part:
  %at = phi i64 [ %begin, %entry ], [ %to, %part ]
  %i = udiv i64 %at, %tasks
  %from = mul i64 %i, %tasks
  %full = add i64 %from, %tasks
  %whole = icmp slt i64 %full, %end
  %to = select i1 %whole, i64 %full, i64 %end
  %bufs.p = getelementptr { ptr, ptr, i64, i64 }, ptr %instrs, i64 %i, i32 1
  %bufs = load ptr, ptr %bufs.p
  %first = sub i64 %at, %from
  %last = sub i64 %to, %from
  call void %kernel(ptr %bufs, i64 %first, i64 %last, ptr %scratch)
  %more = icmp slt i64 %to, %end
  br i1 %more, label %part, label %exit

exit:
  ret void
}

define void @ptc_replay(ptr %instrs, i64 %from, i64 %to, i64 %tid, i64 %nthreads, ptr %sync, ptr %scratch) nounwind {
entry:
  %released = getelementptr i8, ptr %sync, i64 128
  %claims = getelementptr i8, ptr %sync, i64 256
  %single = icmp eq i64 %nthreads, 1
  %any = icmp slt i64 %from, %to
  br i1 %any, label %instr, label %exit

instr:
  %i = phi i64 [ %from, %entry ], [ %next, %continue ]
  %passed = phi i64 [ 0, %entry ], [ %passed.next, %continue ]
  %claimed = phi i64 [ 0, %entry ], [ %claimed.next, %continue ]
  %kernel.p = getelementptr { ptr, ptr, i64, i64 }, ptr %instrs, i64 %i, i32 0
  %tasks.p = getelementptr { ptr, ptr, i64, i64 }, ptr %instrs, i64 %i, i32 2
  %flags.p = getelementptr { ptr, ptr, i64, i64 }, ptr %instrs, i64 %i, i32 3
  %one = load i64, ptr %tasks.p
  %flags.first = load i64, ptr %flags.p
  %said = lshr i64 %flags.first, 2
  %behind = sub i64 %to, %i
  %fit = icmp ult i64 %said, %behind
  %cut = sub i64 %behind, 1
  %further = select i1 %fit, i64 %said, i64 %cut
  %last.instr = add i64 %i, %further
  %flags.last = getelementptr { ptr, ptr, i64, i64 }, ptr %instrs, i64 %last.instr, i32 3
  %flags = load i64, ptr %flags.last
  %count = add i64 %further, 1
  %tasks = mul i64 %one, %count
  br i1 %single, label %whole, label %team

whole:
  %some = icmp slt i64 0, %tasks
  br i1 %some, label %run.whole, label %ran

run.whole:
  call void @ptc_launch(ptr %kernel.p, i64 %one, i64 0, i64 %tasks, ptr %scratch)
  br label %ran

team:
  %alone.flag = and i64 %flags, 2
  %shared = icmp eq i64 %alone.flag, 0
  %more = icmp sgt i64 %tasks, 1
  %several = and i1 %shared, %more
  br i1 %several, label %share, label %alone

alone:
  %first.thread = icmp eq i64 %tid, 0
  br i1 %first.thread, label %whole, label %ran

share:
  %shares = shl i64 %nthreads, 1
  %each = udiv i64 %tasks, %shares
  %first = mul i64 %each, %tid
  %last = add i64 %first, %each
  %dealt = mul i64 %each, %nthreads
  %goal.claims = sub i64 %tasks, %dealt
  %claimed.end = add i64 %claimed, %goal.claims
  %mine = icmp sgt i64 %each, 0
  br i1 %mine, label %run.share, label %claim

run.share:
  call void @ptc_launch(ptr %kernel.p, i64 %one, i64 %first, i64 %last, ptr %scratch)
  br label %claim

claim:
  %seen.claims = load atomic i64, ptr %claims monotonic, align 8
  br label %try

try:
  %now = phi i64 [ %seen.claims, %claim ], [ %found, %take ]
  %open.claims = icmp ult i64 %now, %claimed.end
  br i1 %open.claims, label %take, label %ran

take:
  %left = sub i64 %claimed.end, %now
  %part = udiv i64 %left, %shares
  %none = icmp eq i64 %part, 0
  %chunk = select i1 %none, i64 1, i64 %part
  %then = add i64 %now, %chunk
  %pair = cmpxchg ptr %claims, i64 %now, i64 %then monotonic monotonic, align 8
  %found = extractvalue { i64, i1 } %pair, 0
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %run.claimed, label %try

run.claimed:
  %into = sub i64 %now, %claimed
  %begin = add i64 %into, %dealt
  %end = add i64 %begin, %chunk
  call void @ptc_launch(ptr %kernel.p, i64 %one, i64 %begin, i64 %end, ptr %scratch)
  br label %claim

ran:
  %claimed.next = phi i64 [ %claimed, %whole ], [ %claimed, %run.whole ], [ %claimed, %alone ], [ %claimed.end, %try ]
  %next = add i64 %last.instr, 1
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
