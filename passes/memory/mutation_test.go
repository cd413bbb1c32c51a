package memory_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/verify"
	"ptc/passes"
	"ptc/passes/check"
	"ptc/passes/fuse"
	"ptc/passes/memory"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// planned is a module and inputs for it.
type planned struct {
	*ir.Module
	in check.Inputs
}

// transformer is a training step of one layer, with updates in place.
func transformer(t *testing.T) planned {
	t.Helper()
	m := irtest.Transformer(irtest.Sizes{Layers: 1, Batch: 2, Seq: 4, Heads: 2, Head: 2, FFN: 5, Vocab: 7})
	m.Funcs = m.Funcs[:1] // the step
	in := check.RandomInputs(m, 1)
	if err := passes.Run(&pass.Context{}, m, &passes.Options{Stop: "memory"}); err != nil {
		t.Fatal(err)
	}
	return planned{m, in}
}

func random(t *testing.T, seed int64) planned {
	t.Helper()
	m := passtest.RandomModule(rand.New(rand.NewSource(seed)), 40)
	m.Level = ir.Local
	in := check.RandomInputs(m, seed)
	for _, run := range []pass.Func{fuse.Run, memory.Run} {
		if err := run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
	}
	return planned{m, in}
}

// execute runs the first function on an arena. The error is an access outside
// it, or what a kernel made of bytes that are no value.
func (p planned) execute(m *ir.Module) (map[string]string, error) {
	a, err := passtest.NewArena(m, m.Funcs[0], p.in)
	if err != nil {
		return nil, err
	}
	for i := range m.Funcs[0].Ops {
		if err := a.Call(i); err != nil {
			return nil, err
		}
	}
	return a.Results()
}

// Plans compute on one arena what the module computes on values.
func TestPlansOnAnArena(t *testing.T) {
	for i := range 40 {
		p := transformer(t)
		if i > 0 {
			p = random(t, int64(i))
		}
		if errs := verify.Module(p.Module); len(errs) > 0 {
			t.Fatal(errs)
		}
		got, err := p.execute(p.Module)
		if err != nil {
			t.Fatal(err)
		}
		want, err := check.Execute(p.Module, p.in, false)
		if err != nil {
			t.Fatal(err)
		}
		for k, x := range want[p.Funcs[0].Name] {
			b := make([]byte, x.Type.Bytes())
			x.Put(b)
			if got[k.Role+" "+k.Path] != string(b) {
				t.Errorf("module %d: %s is not what the module computes", i, k)
			}
		}
	}
}

// A mutation changes one thing of a plan; false where there is nothing of the
// kind to change.
type mutation struct {
	name  string
	apply func(r *rand.Rand, f *ir.Func) bool
}

// placed is the place of result j of operation i.
type placed struct{ i, j int }

func pick(r *rand.Rand, f *ir.Func) placed {
	i := r.Intn(len(f.Ops))
	return placed{i, r.Intn(len(f.Ops[i].Results))}
}

func (p placed) get(f *ir.Func) int64 { return f.Ops[p.i].At[p.j] }

func (p placed) set(f *ir.Func, at int64) {
	o := f.Ops[p.i]
	all := slices.Clone(o.At)
	all[p.j] = at
	o.At = all
}

var mutations = []mutation{
	{"shift a result", func(r *rand.Rand, f *ir.Func) bool {
		p := pick(r, f)
		p.set(f, p.get(f)+64*int64(1+r.Intn(4))*int64(1-2*r.Intn(2)))
		return true
	}},
	{"shift a result by less than the alignment", func(r *rand.Rand, f *ir.Func) bool {
		p := pick(r, f)
		p.set(f, p.get(f)+int64(4*(1+r.Intn(15))))
		return true
	}},
	{"move a result to another's place", func(r *rand.Rand, f *ir.Func) bool {
		p, q := pick(r, f), pick(r, f)
		if p.get(f) == q.get(f) {
			return false
		}
		p.set(f, q.get(f))
		return true
	}},
	{"move a result to an argument's place", func(r *rand.Rand, f *ir.Func) bool {
		p, a := pick(r, f), f.Args[r.Intn(len(f.Args))]
		if p.get(f) == a.At.Bytes() {
			return false
		}
		p.set(f, a.At.Bytes())
		return true
	}},
	{"swap two results", func(r *rand.Rand, f *ir.Func) bool {
		p, q := pick(r, f), pick(r, f)
		x, y := p.get(f), q.get(f)
		p.set(f, y)
		q.set(f, x)
		return x != y
	}},
	{"swap two arguments", func(r *rand.Rand, f *ir.Func) bool {
		a, b := f.Args[r.Intn(len(f.Args))], f.Args[r.Intn(len(f.Args))]
		a.At, b.At = b.At, a.At
		return a != b && a.Value.Type.Bytes() != b.Value.Type.Bytes()
	}},
	{"shift an argument", func(r *rand.Rand, f *ir.Func) bool {
		a := f.Args[r.Intn(len(f.Args))]
		a.At = ir.OffsetOf(a.At.Bytes() + 64*int64(1-2*r.Intn(2)))
		return true
	}},
	{"shrink the arena", func(r *rand.Rand, f *ir.Func) bool {
		f.Attrs = f.Attrs.With("arena", ir.Int(f.Attrs.Int("arena", 0)-64*int64(1+r.Intn(8))))
		return true
	}},
	{"swap two calls", func(r *rand.Rand, f *ir.Func) bool {
		i, j := r.Intn(len(f.Ops)), r.Intn(len(f.Ops))
		f.Ops[i], f.Ops[j] = f.Ops[j], f.Ops[i]
		return i != j
	}},
	{"swap neighbours", func(r *rand.Rand, f *ir.Func) bool {
		if len(f.Ops) < 2 {
			return false
		}
		i := r.Intn(len(f.Ops) - 1)
		f.Ops[i], f.Ops[i+1] = f.Ops[i+1], f.Ops[i]
		return true
	}},
	{"move a call", func(r *rand.Rand, f *ir.Func) bool {
		i := r.Intn(len(f.Ops))
		o := f.Ops[i]
		f.Ops = slices.Delete(f.Ops, i, i+1)
		j := r.Intn(len(f.Ops) + 1)
		f.Ops = slices.Insert(f.Ops, j, o)
		return i != j
	}},
	{"drop a call", func(r *rand.Rand, f *ir.Func) bool {
		i := r.Intn(len(f.Ops))
		f.Ops = slices.Delete(f.Ops, i, i+1)
		return true
	}},
	{"give a call another's operand of its type", func(r *rand.Rand, f *ir.Func) bool {
		// The value is as good for the types; it may not be there any more.
		o := f.Ops[r.Intn(len(f.Ops))]
		if len(o.Args) == 0 {
			return false
		}
		n := r.Intn(len(o.Args))
		for _, p := range f.Ops {
			for _, v := range p.Results {
				if v != o.Args[n] && v.Type.Equal(o.Args[n].Type) && r.Intn(3) == 0 {
					o.Args[n] = v
					return true
				}
			}
		}
		return false
	}},
}

// Check refuses every change of a plan that changes a result, or that reads
// what is not there. What is harmless it may refuse or not, but not all of it.
func TestMutations(t *testing.T) {
	tried, harmful, accepted := map[string]int{}, map[string]int{}, 0
	try := func(p planned, want map[string]string, mu mutation, seed int64) {
		m := p.Clone()
		if !mu.apply(rand.New(rand.NewSource(seed)), m.Funcs[0]) {
			return
		}
		tried[mu.name]++
		refused := len(memory.Check(m)) > 0
		// Another operand changes the result for a good reason; whether it is
		// there when it is read, the arena shows against the values.
		if mu.name == "give a call another's operand of its type" {
			if want = onValues(p, m); want == nil {
				harmful[mu.name]++
				if !refused {
					t.Errorf("%s, seed %d: it is read before it is computed, and accepted", mu.name, seed)
				}
				return
			}
		}
		got, err := p.execute(m)
		changed := err != nil || fmt.Sprint(got) != fmt.Sprint(want)
		switch {
		case changed:
			harmful[mu.name]++
			if !refused {
				t.Errorf("%s, seed %d: the result changes (%v), and it is accepted", mu.name, seed, err)
			}
		case !refused:
			accepted++
		}
	}
	for i := range 9 {
		p := transformer(t)
		n := 60
		if i > 0 {
			p, n = random(t, int64(i)), 15
		}
		if bugs := memory.Check(p.Module); len(bugs) > 0 {
			t.Fatal(bugs)
		}
		want, err := p.execute(p.Module)
		if err != nil {
			t.Fatal(err)
		}
		for _, mu := range mutations {
			for seed := range n {
				try(p, want, mu, int64(seed))
			}
		}
	}
	total, bad := 0, 0
	for _, mu := range mutations {
		t.Logf("%-44s %3d tried, %3d harmful", mu.name, tried[mu.name], harmful[mu.name])
		total, bad = total+tried[mu.name], bad+harmful[mu.name]
		if harmful[mu.name] == 0 {
			t.Errorf("%s never changes a result", mu.name)
		}
	}
	t.Logf("%d mutations, %d harmful, %d of the others accepted", total, bad, accepted)
	if total < 600 || bad < 300 || accepted < 20 {
		t.Errorf("%d mutations, %d harmful, %d of the others accepted", total, bad, accepted)
	}
}

// onValues is what m computes on values; nil where an operand comes too late.
func onValues(p planned, m *ir.Module) map[string]string {
	out, err := check.Execute(m, p.in, false)
	if err != nil {
		return nil
	}
	bytes := map[string]string{}
	for k, x := range out[m.Funcs[0].Name] {
		b := make([]byte, x.Type.Bytes())
		x.Put(b)
		bytes[k.Role+" "+k.Path] = string(b)
	}
	return bytes
}
