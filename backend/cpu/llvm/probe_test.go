package llvm

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"ptc/runtime/native"
)

var update = flag.Bool("update", false, "rewrite the objects that runtime/native tests its loader with")

// probe has one function for each kind of reference that an object may hold:
// a constant pool, a jump table, mutable and zeroed data, an exported variable
// behind the global offset table, a table of function addresses, and calls.
//
// probe writes to bufs[0], for task i: 16·i + 0: pick(i); + 1: the sum of the
// vector constant; + 2: count(); + 3: the exported variable; + 4: the function of
// the table for i mod 2, of i; + 5: the zeroed cell, which it then increments.
const probe = `
@shared = global i64 700
@counter = internal global i64 5
@zeroed = internal global i64 0
@table = internal constant [2 x ptr] [ptr @double, ptr @negate]

define i64 @double(i64 %x) nounwind noinline {
  %y = mul i64 %x, 2
  ret i64 %y
}

define i64 @negate(i64 %x) nounwind noinline {
  %y = sub i64 0, %x
  ret i64 %y
}

define i64 @count() nounwind noinline {
  %v = load volatile i64, ptr @counter
  %w = add i64 %v, 1
  store volatile i64 %w, ptr @counter
  ret i64 %w
}

define i64 @pick(i64 %x) nounwind noinline {
  switch i64 %x, label %other [
    i64 0, label %a
    i64 1, label %b
    i64 2, label %c
    i64 3, label %d
    i64 4, label %e
    i64 5, label %f
  ]
a:
  %va = call i64 @double(i64 50)
  ret i64 %va
b:
  %vb = call i64 @negate(i64 50)
  ret i64 %vb
c:
  %vc = load volatile i64, ptr @counter
  ret i64 %vc
d:
  ret i64 33
e:
  %ve = mul i64 %x, 11
  ret i64 %ve
f:
  %vf = call i64 @double(i64 %x)
  %vg = call i64 @negate(i64 %vf)
  ret i64 %vg
other:
  ret i64 -1
}

define void @probe(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind {
entry:
  %out = load ptr, ptr %bufs
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %o = mul i64 %i, 16
  %p0 = getelementptr i64, ptr %out, i64 %o
  %r0 = call i64 @pick(i64 %i)
  store i64 %r0, ptr %p0
  %p1 = getelementptr i64, ptr %p0, i64 1
  %v = insertelement <4 x float> poison, float 0.0, i32 0
  %s = shufflevector <4 x float> %v, <4 x float> poison, <4 x i32> zeroinitializer
  store volatile <4 x float> %s, ptr %scratch
  %l = load volatile <4 x float>, ptr %scratch
  %k = fadd <4 x float> %l, <float 1.5, float 2.25, float 3.125, float 4.0>
  %sum = call float @llvm.vector.reduce.fadd.v4f32(float 0.0, <4 x float> %k)
  %scaled = fmul float %sum, 8.0
  %r1 = fptosi float %scaled to i64
  store i64 %r1, ptr %p1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %r2 = call i64 @count()
  store i64 %r2, ptr %p2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %r3 = load volatile i64, ptr @shared
  store i64 %r3, ptr %p3
  %p4 = getelementptr i64, ptr %p0, i64 4
  %odd = and i64 %i, 1
  %fp = getelementptr [2 x ptr], ptr @table, i64 0, i64 %odd
  %fn = load volatile ptr, ptr %fp
  %r4 = call i64 %fn(i64 %i)
  store i64 %r4, ptr %p4
  %p5 = getelementptr i64, ptr %p0, i64 5
  %r5 = load volatile i64, ptr @zeroed
  store i64 %r5, ptr %p5
  %z = add i64 %r5, 1
  store volatile i64 %z, ptr @zeroed
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>)
`

// probeTargets are the least of each instruction set: any machine runs one.
var probeTargets = map[string]string{"amd64": "cpu:x86-64-v2", "arm64": "cpu:arm64"}

// TestProbeObjects compiles what runtime/native tests its loader with, and with
// -update writes it there. That package's tests need no LLVM and check what the
// objects compute; here it is that they still can be compiled and loaded.
func TestProbeObjects(t *testing.T) {
	l := library(t)
	for arch, name := range probeTargets {
		tgt := resolve(t, name)
		driver, err := Driver(tgt)
		if err != nil {
			t.Fatal(err)
		}
		object, err := l.Compile(probe+program+driver, tgt)
		if err != nil {
			t.Fatal(err)
		}
		if arch == probeArch(host(t).Arch) {
			img, err := native.Load(object)
			if err != nil {
				t.Fatal(err)
			}
			img.Close()
		}
		path := filepath.Join("..", "..", "..", "runtime", "native", "testdata", "probe."+arch+".o")
		if *update {
			if err := os.WriteFile(path, object, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%v: write it with -update", err)
		}
	}
}

func probeArch(arch string) string {
	if arch == "x86-64" {
		return "amd64"
	}
	return arch
}
