package ceilings

import (
	"fmt"
	"runtime"
	"strings"

	"ptc/runtime/native"
)

// instruction is one that multiplies bf16 and adds to f32. The form of kernels
// has none, so that its loop is text of LLVM's, with a kernel's interface.
type instruction struct {
	name    string  // as people write it
	flop    float64 // of one
	text    string
	present func() error // why this machine has it not
}

// dots lists the instructions of an architecture, the fastest first.
func dots(arch string) []instruction {
	switch arch {
	case "amd64":
		return []instruction{
			{"AMX-BF16", 16 * 16 * 32 * 2, amxText(),
				func() error { return native.Supported([]string{"avx512f", "amx-tile", "amx-bf16"}) }},
			{"AVX512-BF16", 16 * 2 * 2, vectorDot("llvm.x86.avx512bf16.dpbf16ps.512", 16, 32, "+avx512f,+avx512bf16"),
				func() error { return native.Supported([]string{"avx512f", "avx512bf16"}) }},
		}
	case "arm64":
		return []instruction{
			{"NEON BFMMLA", 4 * 4 * 2, vectorDot("llvm.aarch64.neon.bfmmla", 4, 8, "+neon,+bf16"),
				func() error { return native.Supported([]string{"bf16"}) }},
		}
	}
	return nil
}

// dotFunction is the name of the loop of the nth instruction.
func dotFunction(n int) string { return fmt.Sprintf("ceiling_dot%d", n) }

// dotLoops are those that this machine can run, and what it has in their place
// where it can run none.
func dotLoops() (text string, out []loop, none string) {
	var lacks []string
	for i, in := range dots(runtime.GOARCH) {
		if err := in.present(); err != nil {
			lacks = append(lacks, in.name)
			continue
		}
		text += strings.ReplaceAll(in.text, "$NAME", dotFunction(i))
		out = append(out, loop{kind: Dot, name: dotFunction(i), note: in.name, work: in.flop * dotVectors(in.name) * arithmeticSteps,
			tasks: tasksOfArithmetic, bufs: func(a *arrays) []uintptr { return []uintptr{a.results} }})
	}
	if len(out) == 0 && len(lacks) == 0 {
		return "", nil, "no dot instruction of this architecture is known"
	}
	return text, out, "this machine has no " + strings.Join(lacks, " and no ")
}

// tiles and vectors that are summed independently.
const (
	amxTiles   = 4
	dotRegular = 16
)

func dotVectors(name string) float64 {
	if strings.HasPrefix(name, "AMX") {
		return amxTiles
	}
	return dotRegular
}

// vectorDot is a loop of independent calls of an intrinsic that adds products of
// two vectors of bf16 to one of f32.
func vectorDot(intrinsic string, sums, operands int, features string) string {
	f, h := fmt.Sprintf("<%d x float>", sums), fmt.Sprintf("<%d x bfloat>", operands)
	var phis, calls, adds strings.Builder
	for i := range dotRegular {
		// Sums that begin alike would be one.
		begin := strings.TrimPrefix(strings.Repeat(fmt.Sprintf(", float %d.0", i), sums), ", ")
		fmt.Fprintf(&phis, "  %%c%d = phi %s [ <%s>, %%outer ], [ %%n%d, %%inner ]\n", i, f, begin, i)
		fmt.Fprintf(&calls, "  %%n%d = call %s @%s(%s %%c%d, %s %%v, %s %%v)\n", i, f, intrinsic, f, i, h, h)
		left := fmt.Sprintf("%%s%d", i-1)
		if i == 0 {
			left = "%x"
		}
		fmt.Fprintf(&adds, "  %%s%d = fadd %s %s, %%n%d\n", i, f, left, i)
	}
	text := `
declare $F @$INTRINSIC($F, $H, $H)
define void @$NAME(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind "target-features"="$FEATURES" {
entry:
  %buf = load ptr, ptr %bufs
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %outer, label %done
outer:
  %task = phi i64 [ %begin, %entry ], [ %next, %latch ]
  %at = mul i64 %task, 64
  %place = getelementptr i8, ptr %buf, i64 %at
  %x = load $F, ptr %place, align 16
  %v = load $H, ptr %place, align 16
  br label %inner
inner:
  %step = phi i64 [ 0, %outer ], [ %more, %inner ]
$PHIS$CALLS  %more = add i64 %step, 1
  %go = icmp ult i64 %more, $STEPS
  br i1 %go, label %inner, label %latch
latch:
$ADDS  store $F %s$LAST, ptr %place, align 16
  %next = add i64 %task, 1
  %again = icmp slt i64 %next, %end
  br i1 %again, label %outer, label %done
done:
  ret void
}
`
	return strings.NewReplacer("$F", f, "$H", h, "$INTRINSIC", intrinsic, "$PHIS", phis.String(), "$CALLS", calls.String(),
		"$ADDS", adds.String(), "$LAST", fmt.Sprint(dotRegular-1), "$STEPS", fmt.Sprint(arithmeticSteps)).
		Replace(strings.ReplaceAll(text, "$FEATURES", features))
}

// amxText is a loop over four tiles of sums. A call configures the tiles (Intel,
// Architecture Instruction Set Extensions, chapter 3: palette 1, eight tiles of 16
// rows of 64 bytes) and releases them.
func amxText() string {
	var zero, dot, store strings.Builder
	for i := range 8 {
		fmt.Fprintf(&zero, "  call void @llvm.x86.tilezero(i8 %d)\n", i)
	}
	for i := range amxTiles {
		fmt.Fprintf(&dot, "  call void @llvm.x86.tdpbf16ps(i8 %d, i8 %d, i8 %d)\n", i, 4+i%2, 6+i/2)
	}
	for i := range 8 {
		fmt.Fprintf(&store, "  %%c%d = getelementptr i8, ptr %%config, i64 %d\n  store i16 64, ptr %%c%d\n", i, 16+2*i, i)
		fmt.Fprintf(&store, "  %%r%d = getelementptr i8, ptr %%config, i64 %d\n  store i8 16, ptr %%r%d\n", i, 48+i, i)
	}
	text := `
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilerelease()
declare void @llvm.x86.tilezero(i8)
declare void @llvm.x86.tdpbf16ps(i8, i8, i8)
define void @$NAME(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind "target-features"="+avx512f,+amx-tile,+amx-bf16" {
entry:
  %config = alloca [64 x i8], align 64
  store <64 x i8> zeroinitializer, ptr %config
  store i8 1, ptr %config
$STORE  call void @llvm.x86.ldtilecfg(ptr %config)
$ZERO  %some = icmp slt i64 %begin, %end
  br i1 %some, label %outer, label %done
outer:
  %task = phi i64 [ %begin, %entry ], [ %next, %latch ]
  br label %inner
inner:
  %step = phi i64 [ 0, %outer ], [ %more, %inner ]
$DOT  %more = add i64 %step, 1
  %go = icmp ult i64 %more, $STEPS
  br i1 %go, label %inner, label %latch
latch:
  %next = add i64 %task, 1
  %again = icmp slt i64 %next, %end
  br i1 %again, label %outer, label %done
done:
  call void @llvm.x86.tilerelease()
  ret void
}
`
	return strings.NewReplacer("$STORE", store.String(), "$ZERO", zero.String(), "$DOT", dot.String(), "$STEPS", fmt.Sprint(arithmeticSteps)).Replace(text)
}
