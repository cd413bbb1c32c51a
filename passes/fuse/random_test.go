package fuse

import (
	"fmt"
	"math/rand"
	"regexp"
	"sort"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// sizes of the axes of a random module as it is made, and such that values
// are large enough to be computed again and reductions to be split.
var (
	tiny  = map[string]int{}
	large = map[string]int{"a": 8, "x": 8, "b": 12, "y": 12, "c": 16, "v": 8}
)

var sized = regexp.MustCompile(`\b([abcxyv])=(\d+)`)

// kinds of random modules: of all operations, of reductions and elementwise work between
// them, and of blocks that are written once, with work between their runs.
var kinds = map[string]func(r *rand.Rand, n int) *ir.Module{
	"all": passtest.RandomModule, "reductions": passtest.RandomReductions,
	"runs":     func(r *rand.Rand, _ int) *ir.Module { return passtest.RandomRuns(r, 3) },
	"own runs": func(r *rand.Rand, _ int) *ir.Module { return passtest.RandomOwnRuns(r, 3) },
}

// random is a random module of Local for one device.
func random(t *testing.T, seed int64, kind string, sizes map[string]int) *ir.Module {
	m := kinds[kind](rand.New(rand.NewSource(seed)), 40)
	m.Level = ir.Local
	return passtest.Parse(t, sized.ReplaceAllStringFunc(ir.Print(m), func(s string) string {
		if n := sizes[s[:1]]; n > 0 {
			return fmt.Sprintf("%s=%d", s[:1], n)
		}
		return s
	}))
}

// Fusing keeps the values, whatever the program and the order in which it
// comes, and leaves nothing that a kernel cannot do.
func TestRandom(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) { testRandom(t, kind) })
	}
}

func testRandom(t *testing.T, kind string) {
	seeds := int64(300)
	if strings.Contains(kind, "runs") {
		seeds = 100 // they take long to execute
	}
	for seed := int64(1); seed <= seeds; seed++ {
		for name, sizes := range map[string]map[string]int{"tiny": tiny, "large": large} {
			if name == "large" && seed%5 != 0 {
				continue // one in five: they take long to execute
			}
			before := random(t, seed, kind, sizes)
			fused := run(t, before)
			sound(t, fused)
			passtest.Same(t, before, fused)
			if again := run(t, before); ir.Print(again) != ir.Print(fused) {
				t.Errorf("two runs differ:\n%s\n%s", ir.Print(fused), ir.Print(again))
			}
			other := before.Clone()
			shuffle(rand.New(rand.NewSource(seed)), other.Funcs[0])
			other = run(t, other)
			sound(t, other)
			passtest.Same(t, before, other)
			if t.Failed() {
				t.Fatalf("seed %d, %s, %s:\n%s\n%s", seed, kind, name, ir.Print(before), ir.Print(fused))
			}
		}
	}
}

func run(t *testing.T, m *ir.Module) *ir.Module {
	t.Helper()
	m = m.Clone()
	if err := Run(&pass.Context{Target: pass.Target{Attention: true}}, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// sound checks that every kernel can be tiled, that no two are the same, that
// each is called, and that what a call stores is read.
func sound(t *testing.T, m *ir.Module) {
	t.Helper()
	passtest.Parse(t, ir.Print(m)) // verifies
	called := map[string]bool{}
	for _, f := range m.Funcs {
		uses := f.Uses()
		for _, o := range f.Ops {
			if o.Callee != nil {
				called[o.Callee.Name] = true
			}
			for _, v := range o.Results {
				if o.Name == "call" && uses[v] == 0 {
					t.Errorf("@%s: nothing reads %%%d", f.Name, v.ID)
				}
			}
		}
	}
	seen := map[string]string{}
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel {
			continue
		}
		if k, err := fusion.Analyze(f); err != nil {
			t.Errorf("@%s: %v", f.Name, err)
		} else if want := f.Attrs.Text("kind"); string(k.Class) != want {
			t.Errorf("@%s is %s, analysis says %s", f.Name, want, k.Class)
		}
		g := f.Clone()
		g.Name = "k"
		text := ir.PrintFunc(g)
		if seen[text] != "" {
			t.Errorf("@%s and @%s are the same", seen[text], f.Name)
		}
		seen[text] = f.Name
		if !called[f.Name] {
			t.Errorf("nothing calls @%s", f.Name)
		}
	}
}

// shuffle puts operations that are outside of runs, and runs, in a random order in which
// each comes after its operands.
func shuffle(r *rand.Rand, f *ir.Func) {
	var left [][]*ir.Op
	f.Runs(func(_ *ir.Run, ops []*ir.Op) { left = append(left, ops) })
	f.Ops = nil
	known := map[*ir.Value]bool{}
	for _, a := range f.Args {
		known[a.Value] = true
	}
	for len(left) > 0 {
		var ready []int
	next:
		for i, ops := range left {
			for _, o := range ops {
				for _, a := range o.Args {
					if !known[a] && (a.Def == nil || a.Def.Run == nil || a.Def.Run != o.Run) {
						continue next
					}
				}
			}
			ready = append(ready, i)
		}
		i := ready[r.Intn(len(ready))]
		for _, o := range left[i] {
			for _, v := range o.Results {
				known[v] = true
			}
		}
		f.Ops = append(f.Ops, left[i]...)
		left = append(left[:i], left[i+1:]...)
	}
}

// Independent work gives the same kernels in whatever order it comes.
func TestOrderOfIndependentWork(t *testing.T) {
	for seed := int64(1); seed <= 20; seed++ {
		m := parallelWork()
		want := texts(run(t, m))
		shuffle(rand.New(rand.NewSource(seed)), m.Funcs[0])
		if got := texts(run(t, m)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("seed %d: kernels\n%v\nwant\n%v", seed, got, want)
		}
	}
}

// parallelWork is three normalizations and contractions of inputs of their own.
func parallelWork() *ir.Module {
	f := &ir.Func{Name: "f", Class: ir.Entry}
	for i := range 3 {
		path := string(rune('x' + i))
		x := f.AddArg(ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: 4}, {Name: "b", Size: 8}}}, ir.RoleData, path, nil, diag.Pos{})
		w := f.AddArg(ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "b", Size: 8}, {Name: "c", Size: 2}}}, ir.RoleData, path+"w", nil, diag.Pos{})
		emit := func(name string, attrs ir.Attrs, t ir.Type, args ...*ir.Value) *ir.Value {
			o := f.NewOp(name, args, attrs, t)
			f.Ops = append(f.Ops, o)
			return o.Result()
		}
		s := emit("reduce_sum", ir.A("over", ir.Names{"b"}), x.Type.Drop("b"), emit("mul", nil, x.Type, x, x))
		n := emit("mul", nil, x.Type, x, emit("rsqrt", nil, s.Type, s))
		y := emit("dot", ir.A("over", ir.Names{"b"}), ir.Type{DType: ir.F32, Axes: []ir.Axis{x.Type.Axes[0], w.Type.Axes[1]}}, n, w)
		y = emit("tanh", nil, y.Type, y)
		f.Results = append(f.Results, ir.Result{Value: y, Role: ir.RoleGrad, Path: path})
	}
	return &ir.Module{Name: "parallel", Level: ir.Local, Funcs: []*ir.Func{f}}
}

// texts are the kernels without their names, in order of text.
func texts(m *ir.Module) []string {
	var out []string
	for _, f := range m.Funcs[1:] {
		f.Name = "k"
		out = append(out, ir.PrintFunc(f))
	}
	sort.Strings(out)
	return out
}
