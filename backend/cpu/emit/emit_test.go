package emit

import (
	"strings"
	"testing"

	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/backend/kernel/vmath"
)

func TestEveryOpIsLowered(t *testing.T) {
	for _, op := range kernel.Ops() {
		if (lowerings[op] == nil) != (op == kernel.OpMath) {
			t.Errorf("%s: lowered %v", op, lowerings[op] != nil)
		}
	}
}

// TestNativeEqualsInterpreter: random kernels give, on every target that this
// host runs, the bits that the interpreter gives; on the others they compile
// without undefined symbols.
func TestNativeEqualsInterpreter(t *testing.T) {
	const kernels = 60
	all, runnable := targets(t)
	var ks []*kernel.Kernel
	for seed := range uint64(kernels) {
		k, err := randomKernel(seed)
		if err != nil {
			t.Fatal(err)
		}
		ks = append(ks, k)
	}
	for _, tgt := range all {
		obj := compile(t, tgt, ks...)
		if !contains(runnable, tgt.Name) {
			continue
		}
		img := image(t, obj)
		for seed, k := range ks {
			compareWithInterpreter(t, tgt, k, func() [][]byte { return run(t, img, k, numbers(k, seed), 0, k.Tasks) }, seed)
		}
	}
}

func numbers(k *kernel.Kernel, seed int) [][]byte {
	var cols int64
	for _, a := range k.Args() {
		if a.Name == "index" {
			cols = a.Len
		}
	}
	return inputs(k, uint64(seed), cols)
}

func compareWithInterpreter(t *testing.T, tgt target.Target, k *kernel.Kernel, native func() [][]byte, seed int) {
	t.Helper()
	expanded, err := vmath.Expand(k)
	if err != nil {
		t.Fatal(err)
	}
	want := numbers(k, seed)
	if err := (kerneltest.Interp{NoFMA: !tgt.HasFMA}).Run(expanded, want, 0, k.Tasks); err != nil {
		t.Fatal(err)
	}
	got := native()
	for i, a := range k.Args() {
		if d := differ(a.Elem, got[i], want[i]); d != "" {
			t.Fatalf("%s: %s %s: %s\n%s", tgt.Name, k.Name, a.Name, d, k)
		}
	}
}

func contains(ts []target.Target, name string) bool {
	for _, t := range ts {
		if t.Name == name {
			return true
		}
	}
	return false
}

func TestModuleIsDeterministic(t *testing.T) {
	tgt, err := target.Resolve("cpu:x86-64-v4")
	if err != nil {
		t.Fatal(err)
	}
	text := func() string {
		k, err := randomKernel(5)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Module(tgt, k)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if text() != text() {
		t.Error("the same kernel gives two texts")
	}
}

func TestModuleErrors(t *testing.T) {
	v2, err := target.Resolve("cpu:x86-64-v2")
	if err != nil {
		t.Fatal(err)
	}
	k, err := randomKernel(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Module(v2, k, k); err == nil || !strings.Contains(err.Error(), "two kernels are named random_1") {
		t.Errorf("a name used twice: %v", err)
	}
	b := kernel.New("wide", 1)
	out := b.Arg("out", kernel.F64, 1, kernel.ReadWrite)
	x := b.Load(out.At(kernel.Int(0)), 1)
	b.Store(out.At(kernel.Int(0)), b.FMA(x, x, x))
	wide := build(t, b)
	if _, err := Module(v2, wide); err == nil || !strings.Contains(err.Error(), "needs a processor with FMA") {
		t.Errorf("f64 fma without FMA: %v", err)
	}
	if _, err := Module(v2, &kernel.Kernel{Name: "empty", Body: &kernel.Block{Yield: []*kernel.Value{k.Task}}}); err == nil {
		t.Error("a kernel that is not well formed is emitted")
	}
}
