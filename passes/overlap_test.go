package passes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/op"
	"ptc/ir/verify"
	"ptc/passes/check"
	"ptc/passes/overlap"
	"ptc/passes/pass"
)

// overlapped is a training step under a layout, to the end of the passes.
func overlapped(t *testing.T, mesh []ir.MeshAxis, rules ir.Terms, executed bool) *ir.Module {
	t.Helper()
	return overlappedLayers(t, 4, mesh, rules, executed)
}

func overlappedLayers(t *testing.T, layers int, mesh []ir.MeshAxis, rules ir.Terms, executed bool) *ir.Module {
	t.Helper()
	m := irtest.Transformer(irtest.Sizes{Layers: layers, Batch: 8, Seq: 8, Heads: 4, Head: 4, FFN: 32, Vocab: 16})
	m.Mesh = mesh
	m.SetMeta(rule("layout", "name", ir.Str("test"), "rules", rules))
	o := &Options{VerifyEach: true}
	k := check.New(1)
	if executed {
		o.Hooks = []Hook{k.Hook}
	}
	if err := Run(&pass.Context{}, m, o); err != nil {
		t.Fatal(err)
	}
	for _, r := range k.Report.Rows {
		if !r.OK {
			t.Errorf("%s: %s by %.3g", r.Pass, r.Worst, r.Diff)
		}
	}
	return m.Unrolled()
}

// exchanges of the training step, by kind: how many, of how many bytes, and the
// largest that has several tensors.
type exchanges struct {
	count, bytes, started int
	bucket                int
}

func exchangesOf(m *ir.Module) map[string]exchanges {
	out := map[string]exchanges{}
	for _, f := range m.Funcs {
		if f.Name != "step" && f.Of != "step" {
			continue
		}
		for _, o := range f.Ops {
			if op.Of(o).Class != op.Collective || o.Name == "done" {
				continue
			}
			x := out[o.Name]
			x.count++
			n := 0
			for _, v := range o.Args {
				n += v.Type.Bytes()
			}
			if len(o.Args) > 1 {
				x.bucket = max(x.bucket, n)
			}
			x.bytes += n
			if o.Start {
				x.started++
			}
			out[o.Name] = x
		}
	}
	return out
}

// TestBuckets holds that buckets change how many exchanges there are, and
// neither what is exchanged nor any result.
func TestBuckets(t *testing.T) {
	for _, l := range []struct {
		name  string
		mesh  []ir.MeshAxis
		rules ir.Terms
		kind  string
	}{
		{"dp", mesh("dp", 4), ir.Terms{shard("dp", "batch")}, "all_reduce"},
		{"zero 2", mesh("dp", 4), ir.Terms{shard("dp", "batch"), zero(2, "dp")}, "reduce_scatter"},
		{"dp tp", mesh("dp", 2, "tp", 2), ir.Terms{shard("dp", "batch"), shard("tp", "heads", "ffn", "vocab")}, "all_reduce"},
		{"dp pp", mesh("dp", 2, "pp", 2), ir.Terms{shard("dp", "batch"), pipelined("1f1b", 2)}, "all_reduce"},
	} {
		var bytes int
		last := 1 << 30
		for i, limit := range []int{0, 512, 2048, 1 << 20} {
			rules := append(ir.Terms{rule("bucket", "bytes", ir.Int(limit))}, l.rules...)
			x := exchangesOf(overlapped(t, l.mesh, rules, limit == 2048))[l.kind]
			if i == 0 {
				bytes = x.bytes
			}
			if x.bytes != bytes || x.bucket > limit || x.count >= last || x.started == 0 && limit < 1<<20 {
				t.Errorf("%s, buckets of %d bytes: %+v; before %d exchanges of %d bytes", l.name, limit, x, last, bytes)
			}
			last = x.count
		}
	}
}

// TestManyReductions holds that the reductions of gradients all run concurrently with other
// work, though there are more of them than may be under way at once: the oldest is
// waited for where the limit is reached.
func TestManyReductions(t *testing.T) {
	const layers = 8
	for _, l := range []struct {
		name  string
		rules ir.Terms
		kind  string
	}{
		{"dp", ir.Terms{shard("dp", "batch")}, "all_reduce"},
		{"zero 2", ir.Terms{shard("dp", "batch"), zero(2, "dp")}, "reduce_scatter"},
		{"zero 3", ir.Terms{shard("dp", "batch"), zero(3, "dp")}, "reduce_scatter"},
	} {
		m := overlappedLayers(t, layers, mesh("dp", 2), append(ir.Terms{rule("bucket", "bytes", ir.Int(0))}, l.rules...), false)
		all, blocking, open, most := 0, 0, 0, 0
		ops := m.Func("step").Ops
		for i, o := range ops {
			if o.Name == "done" {
				open--
			}
			if o.Start {
				open++
				most = max(most, open)
			}
			if o.Name == l.kind && o.Args[0].Type.Rank() > 0 {
				if all++; !o.Start && !slices.Contains(ops[i+1].Args, o.Result()) {
					blocking++ // though something stands before its reader
				}
			}
		}
		if all <= overlap.MaxOpen*2 || blocking > 0 {
			t.Errorf("%s: %d of %d reductions block", l.name, blocking, all)
		}
		if most > overlap.MaxOpen {
			t.Errorf("%s: %d collectives under way, want at most %d", l.name, most, overlap.MaxOpen)
		}
	}
}

// TestBesideOtherInstances: but for those of the first or last instances and for what
// stands outside of the blocks, collectives that need not be waited for in their block
// have as many kernels to overlap with them as a block has at least.
func TestBesideOtherInstances(t *testing.T) {
	const layers = 8
	for _, l := range []struct {
		name    string
		rules   ir.Terms
		kind    string
		except  int // of so many
		kernels int
	}{
		{"dp", ir.Terms{shard("dp", "batch")}, "all_reduce", 6, 20},
		{"zero 3 gathers", ir.Terms{shard("dp", "batch"), zero(3, "dp")}, "all_gather", 6, 8},
		{"zero 3 reductions", ir.Terms{shard("dp", "batch"), zero(3, "dp")}, "reduce_scatter", 4, 12},
	} {
		m := overlappedLayers(t, layers, mesh("dp", 2), l.rules, false)
		kernels, all, few := 0, 0, 0
		at := map[*ir.Op]int{}
		for _, o := range m.Func("step").Ops {
			switch {
			case o.Callee != nil:
				kernels++
			case o.Name == "done":
				if x := o.Args[0].Def; x.Name == l.kind && kernels-at[x] < l.kernels {
					few++
				}
			case o.Start:
				at[o] = kernels
			case o.Name == l.kind:
				few++
			}
			if o.Name == l.kind {
				all++
			}
		}
		if all < layers || few > l.except {
			t.Errorf("%s: %d of %d have fewer than %d kernels to overlap with them, want at most %d", l.name, few, all, l.kernels, l.except)
		}
	}
}

// TestPrefetch holds that gathers of parameters are issued as many layers ahead
// as the layout says, in whose memory they show.
func TestPrefetch(t *testing.T) {
	var last int64
	for _, ahead := range []int{0, 1, 2} {
		z := zero(3, "dp")
		z.Args = z.Args.With("prefetch", ir.Int(ahead))
		m := overlapped(t, mesh("dp", 2), ir.Terms{shard("dp", "batch"), z}, ahead == 2)
		for layer := range 4 {
			first, before := gatherOf(m, layer), layer-ahead
			if ahead == 0 {
				continue // each where it is read
			}
			if at := firstKernel(m, max(0, before)); first > at {
				t.Errorf("prefetch %d: layer %d is gathered at %d, layer %d begins at %d", ahead, layer, first, max(0, before), at)
			}
			if before > 0 && first < firstKernel(m, before-1) {
				t.Errorf("prefetch %d: layer %d is gathered at %d, before layer %d", ahead, layer, first, before-1)
			}
		}
		arena := m.MetaTerm("arena").Args.Int("bytes", 0)
		if arena < last {
			t.Errorf("prefetch %d needs %d bytes, and one less %d", ahead, arena, last)
		}
		last = arena
	}
}

// gatherOf is the place of the first gather of a layer's matrix.
func gatherOf(m *ir.Module, layer int) int {
	f := m.Func("step")
	for i, o := range f.Ops {
		for _, v := range o.Args {
			if o.Name != "all_gather" {
				continue
			}
			for _, a := range f.Args {
				if a.Value == v && strings.HasPrefix(a.Path, fmt.Sprintf("blocks.%d.", layer)) && len(v.Type.Axes) > 1 {
					return i
				}
			}
		}
	}
	return -1
}

func firstKernel(m *ir.Module, layer int) int {
	for i, o := range m.Func("step").Ops {
		if o.Name == "call" && o.Scope == fmt.Sprintf("blocks.%d", layer) {
			return i
		}
	}
	return -1
}

// TestOverlapRule holds that only what the layout names runs concurrently with other work.
func TestOverlapRule(t *testing.T) {
	base := ir.Terms{shard("dp", "batch"), zero(3, "dp")}
	for _, c := range []struct {
		kinds  ir.Names
		gather bool
		reduce bool
	}{{ir.Names{}, false, false}, {ir.Names{"all_gather"}, true, false}, {ir.Names{"reduce_scatter"}, false, true}} {
		x := exchangesOf(overlapped(t, mesh("dp", 2), append(ir.Terms{rule("overlap", "collectives", c.kinds)}, base...), false))
		if (x["all_gather"].started > 0) != c.gather || (x["reduce_scatter"].started > 0) != c.reduce {
			t.Errorf("overlap %v: %+v", c.kinds, x)
		}
	}
}

// TestStartedProved breaks what is under way, which the verifier must see.
func TestStartedProved(t *testing.T) {
	find := func(f *ir.Func, name string) int {
		for i, o := range f.Ops {
			if o.Name == name {
				return i
			}
		}
		return -1
	}
	for _, c := range []struct {
		name  string
		wreck func(f *ir.Func)
	}{
		{"no done", func(f *ir.Func) {
			i := find(f, "done")
			for k, r := range f.Ops[i].Results {
				f.Replace(map[*ir.Value]*ir.Value{r: f.Ops[i].Args[k]})
			}
			f.Ops = append(f.Ops[:i:i], f.Ops[i+1:]...)
		}},
		{"not started", func(f *ir.Func) { f.Ops[find(f, "done")].Args[0].Def.Start = false }},
		{"done twice", func(f *ir.Func) {
			i := find(f, "done")
			o := f.Ops[i]
			d := f.NewOp("done", o.Args, o.Attrs)
			for _, r := range o.Results {
				d.Results = append(d.Results, f.NewValue(r.Type, d))
			}
			f.Ops = append(f.Ops[:i:i], append([]*ir.Op{d}, f.Ops[i:]...)...)
		}},
		{"read early", func(f *ir.Func) {
			o := f.Ops[find(f, "done")]
			f.Replace(map[*ir.Value]*ir.Value{o.Results[0]: o.Args[0]})
		}},
	} {
		m := overlapped(t, mesh("dp", 2), ir.Terms{shard("dp", "batch")}, false)
		c.wreck(m.Func("step"))
		if errs := verify.Module(m); len(errs) == 0 {
			t.Errorf("%s is not refused", c.name)
		}
	}
}
