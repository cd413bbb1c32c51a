package memory_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/op"
	"ptc/ir/verify"
	"ptc/passes"
	"ptc/passes/check"
	"ptc/passes/fuse"
	"ptc/passes/memory"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// repeated is a random module with runs, fused and planned.
func repeated(t *testing.T, seed int64, count, ahead int) planned {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	m := passtest.RandomRuns(r, count)
	if errs := verify.Module(m); len(errs) > 0 {
		t.Fatalf("seed %d: %v\n%s", seed, errs, ir.Print(m))
	}
	in := check.RandomInputs(m.Unrolled(), seed)
	if err := fuse.Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	if ahead > 0 {
		passtest.RandomAhead(r, m.Funcs[0], ahead)
	}
	before := m.Clone()
	if err := memory.Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	passtest.Numbered(t, before, m)
	return planned{m, in}
}

// tally counts the ways in which instances lie, and how chains go on.
type tally map[string]int

func (y tally) add(f *ir.Func) {
	for _, o := range f.Ops {
		if o.Run == nil {
			continue
		}
		n := o.Run.Stack.Count
		for j := range o.Results {
			s := ir.Spread{}
			if o.Spread != nil {
				s = o.Spread[j]
			}
			switch {
			case o.Name == ir.Enter && s.Step == 0:
				y["chain in one place"]++
			case o.Name == ir.Enter && s.Ring < n:
				y["chain in two places"]++
			case o.Name == ir.Enter:
				y["chain in a row"]++
			case s.Step < 0:
				y["back in a ring"]++
			case s.Step > 0 && s.Ring < n:
				y["in a ring"]++
			case s.Step > 0:
				y["in a row"]++
			default:
				y["in one place"]++
			}
		}
		if o.Callee != nil && strings.HasPrefix(o.Callee.Name, "copy") {
			y["copied"]++
		}
		if o.Name == collective.Done && o.Args[0].Def.Ahead > o.Ahead {
			y["under way for an iteration"]++
		}
	}
}

// all fails the test where a way was not met.
func (y tally) all(t *testing.T, ways ...string) {
	t.Helper()
	t.Log(y)
	for _, w := range ways {
		if y[w] < 3 {
			t.Errorf("%q: %d times", w, y[w])
		}
	}
}

// Plans with runs compute on one arena what the module computes on values, in the
// order in which instances take turns; and what is proved of few instances, the proof
// of all of them finds.
func TestRunsOnAnArena(t *testing.T) {
	met := tally{}
	for seed := range int64(120) {
		count := []int{1, 2, 3, 5, 9, 20}[seed%6]
		p := repeated(t, seed, count, []int{0, 1, 0, 2}[seed%4])
		where := fmt.Sprintf("seed %d, %d instances", seed, count)
		met.add(p.Funcs[0])
		if errs := verify.Module(p.Module); len(errs) > 0 {
			t.Fatalf("%s: %v\n%s", where, errs, ir.Print(p.Module))
		}
		out := p.Unrolled()
		if bugs := memory.Check(out); len(bugs) > 0 {
			t.Fatalf("%s, written out: %v\n%s", where, bugs, ir.Print(p.Module))
		}
		got, err := p.execute(out)
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
				t.Fatalf("%s: %s is not what the module computes\n%s", where, k, ir.Print(p.Module))
			}
		}
	}
	met.all(t, "chain in one place", "chain in two places", "chain in a row", "back in a ring", "in a ring", "in a row", "in one place", "copied")
}

// runMutations change where instances lie, or their order.
var runMutations = []mutation{
	{"shift a result", func(r *rand.Rand, f *ir.Func) bool {
		o := f.Ops[r.Intn(len(f.Ops))]
		if len(o.At) == 0 {
			return false
		}
		j := r.Intn(len(o.At))
		o.At = slices.Clone(o.At)
		o.At[j] += 64 * int64(1+r.Intn(4)) * int64(1-2*r.Intn(2))
		return true
	}},
	{"move a result to another's place", func(r *rand.Rand, f *ir.Func) bool {
		o, p := f.Ops[r.Intn(len(f.Ops))], f.Ops[r.Intn(len(f.Ops))]
		if len(o.At) == 0 || len(p.At) == 0 {
			return false
		}
		j, k := r.Intn(len(o.At)), r.Intn(len(p.At))
		was := o.At[j]
		o.At = slices.Clone(o.At)
		o.At[j] = p.At[k]
		return was != p.At[k]
	}},
	{"give a result another's spread", func(r *rand.Rand, f *ir.Func) bool {
		o, p := f.Ops[r.Intn(len(f.Ops))], f.Ops[r.Intn(len(f.Ops))]
		if o.Run == nil || p.Spread == nil || o.Name == ir.Leave || len(o.Results) == 0 {
			return false
		}
		o.Spread = append(slices.Clone(o.Spread), make([]ir.Spread, len(o.Results)-len(o.Spread))...)
		j, k := r.Intn(len(o.Results)), r.Intn(len(p.Spread))
		was := o.Spread[j]
		o.Spread[j] = p.Spread[k]
		return was != p.Spread[k]
	}},
	{"shorten a ring", func(r *rand.Rand, f *ir.Func) bool {
		o := f.Ops[r.Intn(len(f.Ops))]
		if len(o.Spread) == 0 {
			return false
		}
		j := r.Intn(len(o.Spread))
		o.Spread = slices.Clone(o.Spread)
		if o.Spread[j].Ring < 2 {
			return false
		}
		o.Spread[j].Ring = 1 + r.Intn(o.Spread[j].Ring-1)
		return true
	}},
	{"change a step", func(r *rand.Rand, f *ir.Func) bool {
		o := f.Ops[r.Intn(len(f.Ops))]
		if len(o.Spread) == 0 {
			return false
		}
		j := r.Intn(len(o.Spread))
		o.Spread = slices.Clone(o.Spread)
		if o.Spread[j].Step == 0 {
			return false
		}
		o.Spread[j].Step += 64 * int64(1-2*r.Intn(2))
		return o.Spread[j].Step >= 0
	}},
	{"turn a run round", func(r *rand.Rand, f *ir.Func) bool {
		o := f.Ops[r.Intn(len(f.Ops))]
		if o.Run != nil {
			o.Run.Down = !o.Run.Down
		}
		return o.Run != nil
	}},
	{"have an operation ahead", func(r *rand.Rand, f *ir.Func) bool {
		was := map[*ir.Op]int{}
		for _, o := range f.Ops {
			was[o], o.Ahead = o.Ahead, 0
		}
		passtest.RandomAhead(r, f, 1+r.Intn(2))
		changed := false
		for _, o := range f.Ops {
			changed = changed || was[o] != o.Ahead
		}
		return changed
	}},
	{"swap neighbours of a run", func(r *rand.Rand, f *ir.Func) bool {
		i := r.Intn(len(f.Ops) - 1)
		a, b := f.Ops[i], f.Ops[i+1]
		if a.Run == nil || a.Run != b.Run || ends(a) || ends(b) {
			return false
		}
		f.Ops[i], f.Ops[i+1] = b, a
		return true
	}},
	{"put something into the middle of a row", func(r *rand.Rand, f *ir.Func) bool {
		o, p := f.Ops[r.Intn(len(f.Ops))], f.Ops[r.Intn(len(f.Ops))]
		if o.Run != nil && o.Name != ir.Leave || p.Spread == nil || p.Run == nil || len(o.At) == 0 {
			return false
		}
		j, k := r.Intn(len(o.At)), r.Intn(len(p.At))
		o.At = slices.Clone(o.At)
		o.At[j] = p.At[k] + p.Spread[k].Of(r.Intn(p.Run.Stack.Count), 0)
		return true
	}},
}

// wellFormed is what is wrong with m besides its places.
func wellFormed(m *ir.Module) error {
	c := m.Clone()
	for _, f := range c.Funcs {
		for _, a := range f.Args {
			a.At, a.Spread = 0, ir.Spread{}
		}
		for _, o := range f.Ops {
			o.At, o.Spread = nil, nil
		}
	}
	if c.Level = ir.Fused; len(verify.Module(c)) > 0 {
		return verify.Module(c)
	}
	return nil
}

func ends(o *ir.Op) bool {
	return slices.Contains([]string{ir.Enter, ir.Leave, ir.EnterTick, ir.LeaveTick}, o.Name)
}

// What the proof of all instances refuses of a changed plan, the proof of few refuses.
// It may refuse more: what shares bytes with a row of places between two uses of it.
func TestFewInstancesProveAll(t *testing.T) {
	tried, refused, more := 0, map[string]int{}, 0
	for seed := range int64(36) {
		p := repeated(t, seed, []int{12, 13, 16, 21}[seed%4], []int{0, 1, 0, 2}[seed%4])
		for n, mu := range runMutations {
			for k := range int64(12) {
				m := p.Clone()
				if !mu.apply(rand.New(rand.NewSource(seed<<16+int64(n)<<8+k)), m.Funcs[0]) {
					continue
				}
				if wellFormed(m) != nil {
					continue
				}
				tried++
				few, all := len(memory.Check(m)) > 0, len(memory.Check(m.Unrolled())) > 0
				switch {
				case all && !few:
					t.Fatalf("seed %d, %s %d: %v, and it is accepted\n%s", seed, mu.name, k, memory.Check(m.Unrolled()), ir.Print(m))
				case all:
					refused[mu.name]++
				case few:
					more++
				}
			}
		}
	}
	total := 0
	for _, mu := range runMutations {
		t.Logf("%-40s %4d refused", mu.name, refused[mu.name])
		if total += refused[mu.name]; refused[mu.name] == 0 {
			t.Errorf("%s: never refused", mu.name)
		}
	}
	t.Logf("%d tried, %d refused, %d refused by the excerpt alone", tried, total, more)
	if tried < 1000 || total < 500 || more > (tried-total)*3/4 {
		t.Errorf("%d tried, %d refused, %d refused by the excerpt alone", tried, total, more)
	}
}

// started has some collectives of runs under way at the same time as what comes before their first
// reader.
func started(r *rand.Rand, f *ir.Func) {
	before := map[*ir.Op][]*ir.Op{}
	for i, o := range f.Ops {
		if o.Run == nil || !op.Has(o, op.Starts) || o.Start || r.Intn(4) == 0 {
			continue
		}
		var types []ir.Type
		for _, v := range o.Results {
			types = append(types, v.Type.Clone())
		}
		d := f.NewOp(collective.Done, o.Results, nil, types...)
		d.Slot, d.Scope, o.Start = o.Slot, o.Scope, true
		var first *ir.Op
		for _, p := range f.Ops[i+1:] {
			for n, v := range p.Args {
				if j := slices.Index(o.Results, v); j >= 0 {
					if p.Args[n] = d.Results[j]; first == nil && p.Run == o.Run && p.Name != ir.Leave {
						first = p
					}
				}
			}
		}
		for n, x := range f.Results {
			if j := slices.Index(o.Results, x.Value); j >= 0 {
				f.Results[n].Value = d.Results[j]
			}
		}
		if first == nil {
			first = f.Ops[i+1]
		}
		before[first] = append(before[first], d)
	}
	var ops []*ir.Op
	for _, o := range f.Ops {
		ops = append(append(ops, before[o]...), o)
	}
	f.Ops = ops
}

// Runs with collectives that are under way while other instances have their turn.
func TestRunsOnDevices(t *testing.T) {
	small := irtest.Sizes{Layers: 6, Batch: 4, Seq: 4, Heads: 2, Head: 2, FFN: 4, Vocab: 8}
	large := small // of which activations are worth a transfer
	large.Seq, large.FFN = 8, 16
	shard := func(over string, axes ...string) ir.Term {
		return ir.Term{Head: "shard", Args: ir.A("axes", ir.Names(axes), "over", ir.Names{over}, "at", ir.Str("test.ptl:1:1"))}
	}
	zero := ir.Term{Head: "zero", Args: ir.A("level", ir.Int(3), "over", ir.Names{"dp"})}
	offload := ir.Term{Head: "offload", Args: ir.A("what", ir.Names{"optimizer"}, "to", ir.Name("host"), "piece", ir.Int(64))}
	met := tally{}
	for _, l := range []struct {
		mesh  string
		sizes irtest.Sizes
		rules ir.Terms
	}{
		{"dp", small, ir.Terms{shard("dp", "batch")}},
		{"tp", small, ir.Terms{shard("tp", "heads", "ffn", "vocab")}},
		{"dp", small, ir.Terms{shard("dp", "batch"), zero}},
		{"dp", small, ir.Terms{shard("dp", "batch"), offload}},
		{"dp", large, ir.Terms{shard("dp", "batch"), away}},
		{"dp", large, ir.Terms{shard("dp", "batch"), zero, away, offload}},
	} {
		model := irtest.Transformer(l.sizes)
		model.Funcs = model.Funcs[:1]
		for seed := range int64(6) {
			m := model.Clone()
			m.Mesh = []ir.MeshAxis{{Name: l.mesh, Size: 2}}
			m.SetMeta(ir.Term{Head: "layout", Args: ir.A("name", ir.Str("test"), "rules", l.rules)})
			in := check.RandomInputs(m, 1)
			if err := passes.Run(&pass.Context{}, m, &passes.Options{Stop: "offload-activations"}); err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewSource(seed))
			f := m.Funcs[0]
			if len(f.Stacks) == 0 {
				t.Fatal("nothing is repeated")
			}
			started(r, f)
			passtest.RandomAhead(r, f, int(seed%3))
			if errs := verify.Module(m); len(errs) > 0 {
				t.Fatal(errs)
			}
			want, err := passtest.OnDevices(m, in)
			if err != nil {
				t.Fatal(err)
			}
			if err := memory.Run(&pass.Context{}, m); err != nil {
				t.Fatal(err)
			}
			met.add(f)
			if errs := verify.Module(m); len(errs) > 0 {
				t.Fatalf("%v\n%s", errs, ir.Print(m))
			}
			if bugs := memory.Check(m.Unrolled()); len(bugs) > 0 {
				t.Fatalf("written out: %v", bugs)
			}
			got, err := passtest.OnDevices(m, in)
			if err != nil {
				t.Fatal(err)
			}
			for k, x := range want {
				if got[k] != x {
					t.Fatalf("%s is not what the module computes\n%s", k, ir.Print(m))
				}
			}
		}
	}
	met.all(t, "in a ring", "in a row", "in one place", "under way for an iteration")
}
