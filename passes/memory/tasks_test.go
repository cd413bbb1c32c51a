package memory_test

import (
	"math/rand"
	"slices"
	"testing"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/verify"
	"ptc/passes"
	"ptc/passes/check"
	"ptc/passes/memory"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// pipelined is a transformer in a pipeline of two stages, planned.
func pipelined(t *testing.T, schedule string, chunks, microbatches int, more ...ir.Term) (*ir.Module, check.Inputs) {
	t.Helper()
	sizes := irtest.Sizes{Layers: 4 * chunks, Batch: microbatches, Seq: 4, Heads: 2, Head: 2, FFN: 4, Vocab: 8}
	if slices.ContainsFunc(more, func(t ir.Term) bool { return t.Head == "offload" }) {
		sizes.Seq, sizes.FFN = 16, 16 // of which activations are worth a transfer
	}
	m := irtest.Transformer(sizes)
	m.Funcs = m.Funcs[:1]
	m.Mesh = []ir.MeshAxis{{Name: "pp", Size: 2}}
	rules := append(ir.Terms{{Head: "pipeline", Args: ir.A("blocks", ir.Str("blocks"), "chunks", ir.Int(chunks),
		"microbatches", ir.Int(microbatches), "over", ir.Names{"pp"}, "schedule", ir.Str(schedule))}}, more...)
	m.SetMeta(ir.Term{Head: "layout", Args: ir.A("name", ir.Str("test"), "rules", rules)})
	in := check.RandomInputs(m, 1)
	if err := passes.Run(&pass.Context{}, m, &passes.Options{Stop: "memory"}); err != nil {
		t.Fatal(err)
	}
	return m, in
}

var schedules = []struct {
	name                 string
	chunks, microbatches int
}{
	{"gpipe", 1, 5}, {"1f1b", 1, 6}, {"zb_h1", 1, 6}, {"zb_h2", 1, 6}, {"interleaved", 2, 6}, {"zb_v", 2, 6}, {"dualpipe_v", 2, 6}, {"1f1b", 1, 2},
}

// Tasks compute on the arenas of devices what the module computes on values; and what is
// proved of few microbatches, the proof of all ticks finds.
func TestTasksOnDevices(t *testing.T) {
	recompute := ir.Term{Head: "recompute", Args: ir.A("of", ir.Str("blocks.*"))}
	rings, elsewhere := map[int]int{}, 0
	for _, s := range schedules {
		for _, more := range [][]ir.Term{nil, {recompute}, {away}} {
			m, in := pipelined(t, s.name, s.chunks, s.microbatches, more...)
			if errs := verify.Module(m); len(errs) > 0 {
				t.Fatalf("%s: %v\n%s", s.name, errs, ir.Print(m))
			}
			for _, f := range m.Funcs {
				for _, o := range f.Ops {
					for _, x := range o.Spread {
						rings[x.MicroRing]++
						if o.Name == collective.DeviceToHost && o.Run != nil && x.Step > 0 && x.MicroRing > 1 {
							elsewhere++
						}
					}
				}
			}
			for way, all := range map[string]*ir.Module{"unrolled": m.Unrolled()} {
				if bugs := memory.Check(all); len(bugs) > 0 {
					t.Fatalf("%s, %s: %v\n%s", s.name, way, bugs, ir.Print(m))
				}
			}
			before := m.Clone()
			for _, f := range before.Funcs {
				for _, a := range f.Args {
					a.At, a.Spread = 0, ir.Spread{}
				}
				for _, o := range f.Ops {
					o.At, o.Spread = nil, nil
				}
			}
			before.Level = ir.Fused
			want, err := passtest.OnDevices(before, in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := passtest.OnDevices(m, in)
			if err != nil {
				t.Fatal(err)
			}
			for k, x := range want {
				if got[k] != x {
					t.Fatalf("%s: %s is not what the module computes\n%s", s.name, k, ir.Print(m))
				}
			}
		}
	}
	for _, n := range []int{1, 2, 3, 5} {
		if rings[n] < 10 {
			t.Errorf("rings of %d places: %d", n, rings[n])
		}
	}
	if elsewhere < 10 {
		t.Errorf("%d activations of blocks and microbatches in another memory", elsewhere)
	}
}

// away has activations in host memory.
var away = ir.Term{Head: "offload", Args: ir.A("what", ir.Names{"activations"}, "to", ir.Name("host"))}

// perMicro is an operation of a task for microbatches, and a result of it.
func perMicro(r *rand.Rand, f *ir.Func, name string) (*ir.Op, int) {
	for range 200 {
		o := f.Ops[r.Intn(len(f.Ops))]
		if o.PerMicro() && (o.Name == name || name == "" && o.Name != ir.EnterTick && o.Name != ir.LeaveTick) && len(o.At) > 0 {
			o.At, o.Spread = slices.Clone(o.At), append(slices.Clone(o.Spread), make([]ir.Spread, len(o.At)-len(o.Spread))...)
			return o, r.Intn(len(o.At))
		}
	}
	return nil, 0
}

// ringed is one of a value in a ring of at least as many places, local one that only its
// own task reads.
func ringed(r *rand.Rand, f *ir.Func, least int) (*ir.Op, int) {
	for range 100 {
		if o, j := perMicro(r, f, ""); o != nil && o.Spread[j].MicroRing >= least {
			return o, j
		}
	}
	return nil, 0
}

func local(r *rand.Rand, f *ir.Func) (*ir.Op, int) {
	for range 100 {
		if o, j := perMicro(r, f, ""); o != nil && o.Spread[j].MicroRing == 0 {
			return o, j
		}
	}
	return nil, 0
}

// taskMutations change where microbatches lie.
var taskMutations = []mutation{
	{"a ring one too small", func(r *rand.Rand, f *ir.Func) bool {
		o, j := ringed(r, f, 2)
		if o == nil {
			return false
		}
		was := o.Spread[j]
		for _, o := range f.Ops {
			o.Spread = slices.Clone(o.Spread)
			for j, s := range o.Spread {
				if s.MicroRing == was.MicroRing && s.MicroStep == was.MicroStep {
					if o.Spread[j].MicroRing--; o.Spread[j].MicroRing == 1 {
						o.Spread[j].MicroStep = 0
					}
				}
			}
		}
		return true
	}},
	{"the ring of one value too small", func(r *rand.Rand, f *ir.Func) bool {
		o, j := ringed(r, f, 3)
		if o != nil {
			o.Spread[j].MicroRing--
		}
		return o != nil
	}},
	{"another step", func(r *rand.Rand, f *ir.Func) bool {
		o, j := ringed(r, f, 2)
		if o != nil {
			o.Spread[j].MicroStep -= 64
		}
		return o != nil
	}},
	{"a local over a place of a ring", func(r *rand.Rand, f *ir.Func) bool {
		o, j := local(r, f)
		p, k := ringed(r, f, 1)
		if o == nil || p == nil {
			return false
		}
		o.At[j] = p.At[k] + p.Spread[k].Of(0, r.Intn(p.Spread[k].MicroRing))
		return true
	}},
	{"an accumulator moved in one of three", func(r *rand.Rand, f *ir.Func) bool {
		o, j := perMicro(r, f, []string{ir.EnterTick, ir.LeaveTick}[r.Intn(2)])
		if o != nil {
			o.At[j] += 64 * int64(1-2*r.Intn(2))
		}
		return o != nil
	}},
	{"a local over an accumulator", func(r *rand.Rand, f *ir.Func) bool {
		o, j := local(r, f)
		p, k := perMicro(r, f, ir.LeaveTick)
		if o == nil || p == nil {
			return false
		}
		o.At[j] = p.At[k]
		return true
	}},
	{"a ring's value over an accumulator", func(r *rand.Rand, f *ir.Func) bool {
		o, j := ringed(r, f, 1)
		p, k := perMicro(r, f, ir.LeaveTick)
		if o == nil || p == nil {
			return false
		}
		o.At[j] = p.At[k]
		return true
	}},
	{"no ring", func(r *rand.Rand, f *ir.Func) bool {
		o, j := ringed(r, f, 1)
		if o == nil {
			return false
		}
		o.Spread[j].MicroRing, o.Spread[j].MicroStep = 0, 0
		return o.Name != ir.Leave && o.Name != ir.Enter
	}},
	{"ticks the other way about", func(r *rand.Rand, f *ir.Func) bool {
		i := 1 + r.Intn(len(f.Ticks)-2)
		f.Ticks = slices.Clone(f.Ticks)
		f.Ticks[i], f.Ticks[i-1] = f.Ticks[i-1], f.Ticks[i]
		return true
	}},
}

// What the proof of all ticks refuses of a changed plan, that of few microbatches and
// the table of ticks refuses.
func TestFewMicrobatchesProveAll(t *testing.T) {
	tried, total, more, refused, alone := 0, 0, 0, map[string]int{}, map[string]int{}
	for i, s := range []int{0, 1, 2, 5, 1, 5} {
		s, rules := schedules[s], []ir.Term(nil)
		if i >= 4 {
			rules = append(rules, away)
		}
		p, _ := pipelined(t, s.name, s.chunks, s.microbatches, rules...)
		for n, mu := range append(slices.Clone(runMutations), taskMutations...) {
			for k := range int64(4) {
				m := p.Clone()
				if !mu.apply(rand.New(rand.NewSource(int64(i)<<16+int64(n)<<8+k)), m.Funcs[k%2]) || wellFormed(m) != nil {
					continue
				}
				tried++
				few, all := len(memory.Check(m)) > 0, len(memory.Check(m.Unrolled())) > 0
				switch {
				case all && !few:
					t.Fatalf("%s, %s %d: %v, and it is accepted\n%s", s.name, mu.name, k, memory.Check(m.Unrolled()), ir.Print(m))
				case all:
					refused[mu.name]++
					total++
				case few:
					more++
					alone[mu.name]++
				}
			}
		}
	}
	for _, mu := range taskMutations {
		t.Logf("%-40s %4d refused, %4d by the excerpt alone", mu.name, refused[mu.name], alone[mu.name])
		if refused[mu.name]+alone[mu.name] == 0 {
			t.Errorf("%s: never refused", mu.name)
		}
	}
	t.Logf("%d tried, %d refused, %d refused by the excerpt alone", tried, total, more)
	if tried < 200 || total < 100 {
		t.Errorf("%d tried, %d refused, %d refused by the excerpt alone", tried, total, more)
	}
}
