package gemm

import (
	"fmt"
	"regexp"
	"strings"
)

// emulation is what the instructions of tile registers do (Intel, Software Developer's
// Manual, volume 2), for a processor that has none: functions on memory in their place.
// The product of two bf16 is exact, so that a multiplication and an addition are fused.
const emulation = `
@state = internal global [8192 x i8] zeroinitializer, align 64
define internal ptr @emu.place(i8 %t, i64 %row) alwaysinline {
  %n = zext i8 %t to i64
  %a = mul i64 %n, 1024
  %b = mul i64 %row, 64
  %c = add i64 %a, %b
  %p = getelementptr i8, ptr @state, i64 %c
  ret ptr %p
}
define internal void @emu.ldtilecfg(ptr %c) noinline {
  call void @emu.tilezero(i8 0)
  ret void
}
define internal void @emu.tilerelease() noinline {
  ret void
}
define internal void @emu.tilezero(i8 %t) noinline {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = call ptr @emu.place(i8 %t, i64 %i)
  store <16 x i32> zeroinitializer, ptr %p, align 4
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, 16
  br i1 %more, label %loop, label %done
done:
  ret void
}
define internal void @emu.tileloadd64(i8 %t, ptr %from, i64 %stride) noinline {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = call ptr @emu.place(i8 %t, i64 %i)
  %at = mul i64 %i, %stride
  %q = getelementptr i8, ptr %from, i64 %at
  %x = load <16 x i32>, ptr %q, align 4
  store <16 x i32> %x, ptr %p, align 4
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, 16
  br i1 %more, label %loop, label %done
done:
  ret void
}
define internal void @emu.tileloaddt164(i8 %t, ptr %from, i64 %stride) noinline {
  call void @emu.tileloadd64(i8 %t, ptr %from, i64 %stride)
  ret void
}
define internal <16 x i16> @emu.narrow(<16 x float> %x) alwaysinline {
  %b = bitcast <16 x float> %x to <16 x i32>
  %s = lshr <16 x i32> %b, $SIXTEEN
  %o = and <16 x i32> %s, $ONE
  %h = add <16 x i32> %o, $HALF
  %r = add <16 x i32> %b, %h
  %q = or <16 x i32> %b, $QUIET
  %n = fcmp uno <16 x float> %x, %x
  %c = select <16 x i1> %n, <16 x i32> %q, <16 x i32> %r
  %u = lshr <16 x i32> %c, $SIXTEEN
  %t = trunc <16 x i32> %u to <16 x i16>
  ret <16 x i16> %t
}
define internal <32 x bfloat> @emu.avx512bf16.cvtne2ps2bf16.512(<16 x float> %high, <16 x float> %low) noinline {
  %h = call <16 x i16> @emu.narrow(<16 x float> %high)
  %l = call <16 x i16> @emu.narrow(<16 x float> %low)
  %all = shufflevector <16 x i16> %l, <16 x i16> %h, $BOTH
  %b = bitcast <32 x i16> %all to <32 x bfloat>
  ret <32 x bfloat> %b
}
define internal void @emu.tilestored64(i8 %t, ptr %to, i64 %stride) noinline {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = call ptr @emu.place(i8 %t, i64 %i)
  %at = mul i64 %i, %stride
  %q = getelementptr i8, ptr %to, i64 %at
  %x = load <16 x i32>, ptr %p, align 4
  store <16 x i32> %x, ptr %q, align 4
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, 16
  br i1 %more, label %loop, label %done
done:
  ret void
}
define internal void @emu.tdpbf16ps(i8 %c, i8 %a, i8 %b) noinline {
entry:
  br label %rows
rows:
  %m = phi i64 [ 0, %entry ], [ %m1, %next ]
  %row = call ptr @emu.place(i8 %a, i64 %m)
  br label %steps
steps:
  %k = phi i64 [ 0, %rows ], [ %k1, %steps ]
  %even = phi <16 x float> [ zeroinitializer, %rows ], [ %even1, %steps ]
  %odd = phi <16 x float> [ zeroinitializer, %rows ], [ %odd1, %steps ]
  %xp = getelementptr i32, ptr %row, i64 %k
  %x = load i32, ptr %xp, align 4
  %x0 = insertelement <16 x i32> poison, i32 %x, i32 0
  %xs = shufflevector <16 x i32> %x0, <16 x i32> poison, <16 x i32> zeroinitializer
  %yp = call ptr @emu.place(i8 %b, i64 %k)
  %ys = load <16 x i32>, ptr %yp, align 4
  %xl = shl <16 x i32> %xs, $SIXTEEN
  %yl = shl <16 x i32> %ys, $SIXTEEN
  %xlf = bitcast <16 x i32> %xl to <16 x float>
  %ylf = bitcast <16 x i32> %yl to <16 x float>
  %low = fmul <16 x float> %xlf, %ylf
  %even1 = fadd <16 x float> %even, %low
  %xh = and <16 x i32> %xs, $UPPER
  %yh = and <16 x i32> %ys, $UPPER
  %xhf = bitcast <16 x i32> %xh to <16 x float>
  %yhf = bitcast <16 x i32> %yh to <16 x float>
  %high = fmul <16 x float> %xhf, %yhf
  %odd1 = fadd <16 x float> %odd, %high
  %k1 = add i64 %k, 1
  %mores = icmp ult i64 %k1, 16
  br i1 %mores, label %steps, label %next
next:
  %cp = call ptr @emu.place(i8 %c, i64 %m)
  %old = load <16 x float>, ptr %cp, align 4
  %both = fadd <16 x float> %even1, %odd1
  %new = fadd <16 x float> %old, %both
  store <16 x float> %new, ptr %cp, align 4
  %m1 = add i64 %m, 1
  %morer = icmp ult i64 %m1, 16
  br i1 %morer, label %rows, label %done
done:
  ret void
}
`

// emulated is the text of kernels for the target with tile registers, for this host's
// processor and with functions in their place.
func emulated(text, cpu string) string {
	every := func(n string) string { return "<" + strings.TrimSuffix(strings.Repeat("i32 "+n+", ", 16), ", ") + ">" }
	text = regexp.MustCompile(`(?m)^declare .* @llvm\.x86\..*\n`).ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "@llvm.x86.", "@emu.")
	text = strings.ReplaceAll(text, `"target-cpu"="x86-64-v4"`, `"target-cpu"="`+cpu+`"`)
	text = regexp.MustCompile(`"target-features"="[^"]*"`).ReplaceAllString(text, "")
	var both []string
	for i := range 32 {
		both = append(both, fmt.Sprint("i32 ", i))
	}
	return text + strings.NewReplacer("$SIXTEEN", every("16"), "$UPPER", every("-65536"), "$ONE", every("1"), "$HALF", every("32767"),
		"$QUIET", every("4194304"), "$BOTH", "<32 x i32> <"+strings.Join(both, ", ")+">").Replace(emulation)
}
