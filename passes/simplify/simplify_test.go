package simplify

import (
	"fmt"
	"math/rand"
	"testing"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// The archives show each rule at work; a rule that none of them needs is not
// tested.
func TestGolden(t *testing.T) {
	fired := map[string]int{}
	passtest.Golden(t, "testdata/*.txtar", Run, func(m *ir.Module) {
		for _, f := range m.Funcs {
			for name, n := range Func(&pass.Context{}, f) {
				fired[name] += n
			}
		}
	})
	want := map[string]bool{"cse": true}
	for _, r := range anyOp {
		want[r.name] = true
	}
	for _, set := range rules {
		for _, r := range set {
			want[r.name] = true
		}
	}
	for name := range want {
		if fired[name] == 0 {
			t.Errorf("no archive fires rule %s", name)
		}
	}
	for name := range fired {
		if !want[name] {
			t.Errorf("%s is not a rule", name)
		}
	}
}

func TestRowsOfRulesExist(t *testing.T) {
	for name := range rules {
		if op.Lookup(name) == nil {
			t.Errorf("a rule looks at %s, which has no row", name)
		}
	}
}

// Random functions over elementwise operations, movement, reductions and
// constants keep their values, and a second run finds nothing to do.
func TestRandomFunctions(t *testing.T) {
	for seed := int64(1); seed <= 60; seed++ {
		m := passtest.RandomModule(rand.New(rand.NewSource(seed)), 40)
		before := m.Clone()
		for _, f := range m.Funcs {
			Func(&pass.Context{}, f)
		}
		passtest.Same(t, before, m)
		text := ir.Print(m)
		for _, f := range m.Funcs {
			if again := Func(&pass.Context{}, f); len(again) > 0 {
				t.Errorf("seed %d: a second run fires %v", seed, again)
			}
		}
		if ir.Print(m) != text {
			t.Errorf("seed %d: a second run changes the module", seed)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s\n%s", seed, ir.Print(before), text)
		}
	}
}

// chain is n operations, most of which simplify.
func chain(n int) *ir.Func {
	f := &ir.Func{Name: "f"}
	b := op.Builder{F: f}
	x := f.AddArg(ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: 4}}}, "", "", nil, op.Builder{}.Pos)
	for i := 0; len(f.Ops) < n; i++ {
		y := b.Mul(b.Add(x, b.Like(x, 0)), b.Like(x, float64(i%7)))
		x = b.Sub(b.Neg(b.Neg(y)), b.Broadcast(b.Like(x, 1), x.Type))
	}
	f.Results = []ir.Result{{Value: x}}
	return f
}

// Work grows with the function, not with its square, and needs few sweeps.
func TestLinear(t *testing.T) {
	visits := func(n int) float64 {
		f := chain(n)
		return testing.AllocsPerRun(1, func() { Func(&pass.Context{}, f.Clone()) })
	}
	small, large := visits(1000), visits(10000)
	if large > 12*small {
		t.Errorf("1,000 operations allocate %.0f times, 10,000 %.0f times", small, large)
	}
}

func BenchmarkSimplify(b *testing.B) {
	f := chain(10000)
	for range b.N {
		b.StopTimer()
		g := f.Clone()
		b.StartTimer()
		Func(&pass.Context{}, g)
	}
	b.ReportMetric(float64(len(f.Ops)), "ops")
}

func ExampleFunc() {
	f := &ir.Func{Name: "f"}
	b := op.Builder{F: f}
	x := f.AddArg(ir.Scalar(ir.F32), "", "", nil, b.Pos)
	f.Results = []ir.Result{{Value: b.Mul(b.Add(x, b.Like(x, 0)), b.Like(x, 1))}}
	fmt.Println(Func(&pass.Context{}, f))
	fmt.Print(ir.PrintFunc(f))
	// Output:
	// map[add-zero:1 mul-one:1]
	// func @f
	//   arg %0 : f32[]
	//   result %0
	// end
}
