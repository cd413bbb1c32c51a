package compiler_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptc/backend"
	"ptc/backend/assemble"
	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/runtime/explain"
	"ptc/runtime/program"
)

// apart gives every value of a module of level fused a place of its own, and has every
// instruction wait: a planner that wastes what it can, and that is right about tasks.
type apart struct {
	m       *ir.Module
	f       *ir.Func // that is planned
	ops     []*ir.Op
	end     map[ir.Index]int64            // of arenas, by stage
	tensors map[ir.Index]map[string]int64 // places by path
	spread  map[*ir.Value]placed
}

type placed struct {
	at int64
	by ir.Spread
}

// planApart plans all entry functions of m.
func planApart(m *ir.Module) *ir.Module {
	p := &apart{m: m, end: map[ir.Index]int64{}, tensors: map[ir.Index]map[string]int64{}}
	m.Level = ir.Planned
	for _, f := range m.Funcs {
		if f.Class == ir.Entry {
			p.plan(f)
		}
	}
	for _, f := range m.Funcs {
		if f.Class == ir.Entry {
			f.Attrs = f.Attrs.With("arena", ir.Int(p.end[f.Stage]))
		}
	}
	return m
}

func (p *apart) plan(f *ir.Func) {
	p.f, p.ops, p.spread = f, nil, map[*ir.Value]placed{}
	for _, a := range f.Args {
		p.place(a.Value, a.Path, a.Role == ir.RoleParam || a.Role == ir.RoleState)
		a.At, a.Spread = ir.OffsetOf(p.spread[a.Value].at), p.spread[a.Value].by
	}
	f.Runs(func(r *ir.Run, list []*ir.Op) {
		var leaves []*ir.Op
		for _, o := range list {
			if o.Name == ir.Leave {
				leaves = append(leaves, o)
			}
		}
		ends := map[*ir.Op]placed{}
		for _, o := range leaves {
			ends[o] = p.chain(r, o)
		}
		for _, o := range list {
			if o.Name != ir.Leave {
				p.add(o)
			}
		}
		for _, o := range leaves {
			o.Args[1] = p.copy(o.Args[1], o.Slot, o.Scope, ends[o])
		}
		for _, o := range leaves {
			p.add(o)
		}
	})
	p.results()
	for _, o := range p.ops {
		o.At, o.Spread = []int64{}, nil
		for _, v := range o.Results {
			o.At, o.Spread = append(o.At, p.spread[v].at), append(o.Spread, p.spread[v].by)
		}
		switch o.Name {
		case ir.Enter, ir.Leave, ir.EnterTurn, ir.LeaveTurn:
		default:
			o.Wait = ir.WaitAll
		}
	}
	f.Ops = p.ops
	f.Renumber()
}

// add appends an operation. What is added up is brought to the place of all turns.
func (p *apart) add(o *ir.Op) {
	if o.Name == ir.LeaveTurn {
		o.Args[1] = p.copy(o.Args[1], o.Slot, o.Scope, p.spread[o.Args[0]])
		p.spread[o.Result()] = p.spread[o.Args[0]]
	}
	p.ops = append(p.ops, o)
	for i, v := range o.Results {
		if op.Has(o, op.Completes) {
			p.spread[v] = p.spread[o.Args[i]]
		}
		if _, known := p.spread[v]; !known {
			p.place(v, "", false)
		}
	}
}

// results brings new values of parameters and states to their places.
func (p *apart) results() {
	for i := range p.f.Results {
		r := &p.f.Results[i]
		a := p.f.Arg(r.Role, r.Path)
		if r.Role != ir.RoleParam && r.Role != ir.RoleState || a == nil || a.Value == r.Value {
			continue
		}
		slot := ir.Slot{}
		if n := len(p.f.Tasks); n > 0 {
			slot.Task = p.f.Tasks[n-1]
		}
		if s := r.Value.In(); s != nil {
			slot.Run = &ir.Run{Stack: s}
		}
		r.Value = p.copy(r.Value, slot, "new", p.spread[a.Value])
	}
}

// copy appends a copy of v to a place.
func (p *apart) copy(v *ir.Value, slot ir.Slot, scope string, to placed) *ir.Value {
	name, whole := "", v.Type.Clone()
	whole.Partial = nil
	for i := 0; ; i++ {
		name = fmt.Sprintf("apart_%d", i)
		k := p.m.Func(name)
		if k == nil {
			k = &ir.Func{Name: name, Class: ir.Kernel, Attrs: ir.A("kind", ir.Name("map"))}
			b := op.Builder{F: k}
			in := k.AddArg(whole.Clone(), ir.RoleIn, "", nil, b.Pos)
			out := b.Emit(op.Cast, ir.A("to", ir.Name(v.Type.DType.String())), in)
			k.Results = []ir.Result{{Value: out, Role: ir.RoleOut}}
			p.m.Funcs = append(p.m.Funcs, k)
		} else if !k.Args[0].Value.Type.Equal(whole) {
			continue
		}
		break
	}
	o := p.f.NewOp(op.Call, []*ir.Value{v}, nil, v.Type.Clone())
	o.Callee, o.Slot, o.Scope = p.m.Func(name), slot, scope
	p.spread[o.Result()] = to
	p.ops = append(p.ops, o)
	return o.Result()
}

// bytes are those of v, and for how many instances and microbatches it is there.
func (p *apart) bytes(v *ir.Value) (size int64, instances, micros int) {
	micros = 1
	if v.PerMicro() && v.Def == nil || v.Def != nil && v.Def.Name != ir.EnterTurn && v.PerMicro() {
		micros = p.f.Micro
	}
	return (int64(v.Type.Bytes()) + 63) / 64 * 64, v.Count(), micros
}

func (p *apart) take(bytes int64) (at int64) {
	at = p.end[p.f.Stage]
	p.end[p.f.Stage] += bytes
	return at
}

// by is the distance of instances and microbatches, of which each takes so many places.
func by(size int64, instances, micros, places int) (s ir.Spread) {
	if instances > 1 {
		s.Step, s.Ring = size, instances
	}
	if micros > 1 {
		s.MicroStep, s.MicroRing = size*int64(places), micros
	}
	return s
}

// place gives v a place; what has a path and lives between steps has one in all functions
// of a device.
func (p *apart) place(v *ir.Value, path string, lives bool) {
	size, instances, micros := p.bytes(v)
	all := size * int64(instances*micros)
	if !lives {
		p.spread[v] = placed{p.take(all), by(size, instances, micros, instances)}
		return
	}
	known := p.tensors[p.f.Stage]
	if known == nil {
		known = map[string]int64{}
		p.tensors[p.f.Stage] = known
	}
	path += fmt.Sprint(" ", instances)
	at, ok := known[path]
	if !ok {
		at = p.take(all)
		known[path] = at
	}
	p.spread[v] = placed{at, by(size, instances, micros, instances)}
}

// chain has what goes from instance to instance in a row of places: a copy of what
// enters in the first of them, and what leaves in the next one, which it gives.
func (p *apart) chain(r *ir.Run, leave *ir.Op) placed {
	n, enter := r.Stack.Count, leave.Args[0].Def
	size, _, micros := p.bytes(leave.Args[0])
	at := p.take(size * int64((n+1)*micros))
	inside, outside := by(size, n, micros, n+1), by(size, 1, micros, n+1)
	first, in, out, last := at, at, at+size, at+size*int64(n)
	if r.Down {
		first, in, out, last = last, out, in, first
	}
	slot := enter.Slot
	slot.Run = nil
	enter.Args[0] = p.copy(enter.Args[0], slot, ir.OfInstance(enter.Scope, 0), placed{first, outside})
	p.spread[leave.Args[0]], p.spread[leave.Result()] = placed{in, inside}, placed{last, outside}
	return placed{out, inside}
}

// fused compiles source up to `fuse` for a target.
func fused(t *testing.T, o compiler.Options) (m *ir.Module) {
	t.Helper()
	o.Hooks = []compiler.Hook{func(_ int, name string, text func() string, _ time.Duration) error {
		if name != "fuse" {
			return nil
		}
		parsed, errs := ir.Parse("fuse.ptir", []byte(text()))
		if len(errs) > 0 {
			return errs[0]
		}
		m = parsed
		return nil
	}}
	if _, _, err := compiler.Compile(o); err != nil && m == nil {
		t.Fatal(err)
	}
	return m
}

// tasked compiles source up to `fuse` for a target, and plans it apart: with its tasks, and
// with their turns one after the other.
func tasked(t *testing.T, o compiler.Options) (m *ir.Module, tasks, serial *program.Plan) {
	t.Helper()
	m = planApart(fused(t, o))
	to, err := backend.Resolve(o.Target)
	if err != nil {
		t.Fatal(err)
	}
	if tasks, err = assemble.Plan(m, to); err != nil {
		t.Fatal(err)
	}
	if serial, err = assemble.Plan(m.Unrolled(), to); err != nil {
		t.Fatal(err)
	}
	return m, tasks, serial
}

// read is a plan as a run has it, from its file.
func read(t *testing.T, p *program.Plan) *program.Plan {
	t.Helper()
	b, err := program.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = program.Decode(b); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTasksRun: a plan with tasks computes what that with their turns one after the other
// does, kernel for kernel and bit for bit, under every schedule; and says the same of itself.
func TestTasksRun(t *testing.T) {
	for _, layout := range []string{"gpipe", "f1b", "interleaved", "zb_h1", "zb_h2", "zb_v", "interleaved_zb", "dualpipe_v", "breadth_first"} {
		src := pipelined["weights of the batch"]
		_, tasks, serial := tasked(t, compiler.Options{File: "m.ptl", Source: []byte(src), Layout: layout, Target: "ref:f64"})
		tasks, serial = read(t, tasks), read(t, serial)
		got, err := tasks.Expanded()
		if err != nil {
			t.Fatal(layout, err)
		}
		want, err := serial.Expanded()
		if err != nil {
			t.Fatal(layout, err)
		}
		if tasks.Devices[0].Progs[0].Micro < 2 || len(tasks.Devices[0].Progs[0].Instrs) >= len(got.Devices[0].Progs[0].Instrs) {
			t.Errorf("%s: %d instructions of %d", layout, len(tasks.Devices[0].Progs[0].Instrs), len(got.Devices[0].Progs[0].Instrs))
		}
		for i := range got.Devices {
			for j := range got.Devices[i].Progs {
				if d := cmp.Diff(instructions(want, i, j), instructions(got, i, j)); d != "" {
					t.Fatalf("%s: device %d, the turns of the plan (+) and of the module (-):\n%s", layout, i, d)
				}
			}
		}
		a, b := explain.Describe(serial), explain.Describe(tasks)
		if a.LaunchesPerStep != b.LaunchesPerStep || a.FlopsPerStep != b.FlopsPerStep || !reflect.DeepEqual(a.Memory.Peak, b.Memory.Peak) || !reflect.DeepEqual(counts(a), counts(b)) {
			t.Errorf("%s: %d launches, %v FLOP, %v, %v; written out %d, %v, %v, %v", layout, b.LaunchesPerStep, b.FlopsPerStep, b.Memory.Peak, counts(b), a.LaunchesPerStep, a.FlopsPerStep, a.Memory.Peak, counts(a))
		}
		x, err := matrix.TrainOn(serial, 3, 2)
		if err != nil {
			t.Fatal(layout, err)
		}
		y, err := matrix.TrainOn(tasks, 3, 2)
		if err != nil {
			t.Fatal(layout, err)
		}
		if !reflect.DeepEqual(x, y) {
			t.Errorf("%s: a run of tasks differs from that of their turns", layout)
		}
		p, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(src), Layout: layout, Target: "ref:f64"})
		if err != nil {
			t.Fatal(layout, err)
		}
		z, err := matrix.TrainOn(p, 3, 2)
		if err != nil {
			t.Fatal(layout, err)
		}
		if r := matrix.Compare(z, y, matrix.Target{Tolerance: 1e-12}); !r.OK() {
			t.Errorf("%s: planned apart, it computes something else: %v", layout, r)
		}
	}
}

// instructions are those of a program that is written out, with their buffers' places.
func instructions(p *program.Plan, device, prog int) (out []string) {
	d := &p.Devices[device]
	for _, in := range d.Progs[prog].Instrs {
		s := fmt.Sprint(p.Kernels[in.Kernel].Name, " ", in.Scope, in.NoWait, in.Pos)
		if in.Comm != nil {
			s += fmt.Sprintf(" %+v", *in.Comm)
		}
		for _, b := range in.Bufs {
			s += fmt.Sprint(" ", d.Buffers[b].Offset, "+", d.Buffers[b].Bytes)
		}
		out = append(out, s)
	}
	return out
}

// counts are how often kernels are launched and communications issued in a step.
func counts(d *explain.Description) map[string]int {
	out := map[string]int{}
	for _, k := range d.Kernels {
		out[k.Name] = k.Launches
		for _, s := range k.Where {
			out[k.Name+" "+s.Module+" "+s.Source] += s.Launches
		}
	}
	for _, c := range d.Collectives {
		out[c.Kind+" "+c.Axis] += c.Count
	}
	return out
}

// TestPlansOfTasksDoNotGrow: of a pipeline with four times the microbatches, the plan has
// more turns, and as many instructions, buffers and ports.
func TestPlansOfTasksDoNotGrow(t *testing.T) {
	sizes := map[int][]int{}
	for _, micro := range []int{4, 16} {
		src := strings.Replace(pipelined["one gradient for all"], "microbatches = 4 } }\n", fmt.Sprintf("microbatches = %d } }\n", micro), 1)
		_, p, _ := tasked(t, compiler.Options{File: "m.ptl", Source: []byte(src), Layout: "gpipe", Target: "ref"})
		b, err := program.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Devices {
			for _, x := range p.Devices[i].Progs {
				sizes[micro] = append(sizes[micro], len(x.Instrs), len(x.Tasks), len(p.Devices[i].Buffers), len(p.Devices[i].Ports))
				if x.Name == "step" && x.Micro != micro {
					t.Errorf("program %s is for %d microbatches of %d", x.Name, x.Micro, micro)
				}
			}
		}
		if explain.Describe(p).Microbatches != micro {
			t.Errorf("it says that it has %d microbatches", explain.Describe(p).Microbatches)
		}
		sizes[micro] = append(sizes[micro], len(b)/1000)
	}
	if !reflect.DeepEqual(sizes[4], sizes[16]) {
		t.Errorf("%v", sizes)
	}
}
