package compiler_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// apart gives every value of a module of level fused a place of its own, and has every
// instruction wait: a planner that wastes what it can, and that is right about tasks.
type apart struct {
	m       *ir.Module
	f       *ir.Func // that is planned
	ops     []*ir.Op
	end     map[ir.Index]int64            // of arenas, by stage
	tensors map[ir.Index]map[string]int64 // places by path, of each instance
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
	p.reserve()
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
		case ir.Enter, ir.Leave, ir.EnterTick, ir.LeaveTick:
		default:
			o.Wait = ir.WaitAll
		}
	}
	f.Ops = p.ops
	f.Renumber()
}

// add appends an operation. What is added up is brought to the place of all ticks.
func (p *apart) add(o *ir.Op) {
	if o.Name == ir.LeaveTick {
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
	if v.PerMicro() && v.Def == nil || v.Def != nil && v.Def.Name != ir.EnterTick && v.PerMicro() {
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
	at, step := known[ir.OfInstance(path, 0)], int64(0)
	for i := range instances {
		if i == 1 {
			step = known[ir.OfInstance(path, 1)] - at
		}
		if known[ir.OfInstance(path, i)] != at+int64(i)*step {
			panic(fmt.Sprintf("%s has %d instances that are not at equal distances", path, instances))
		}
	}
	p.spread[v] = placed{at, by(step, instances, micros, instances)}
}

// reserve gives each parameter and state of a stage one place in all of its functions,
// which may divide a list into other stacks. Members of a list lie one behind the other.
func (p *apart) reserve() {
	for _, f := range p.m.Funcs {
		if f.Class == ir.Entry && p.tensors[f.Stage] == nil {
			p.tensors[f.Stage] = map[string]int64{}
		}
	}
	for stage, places := range p.tensors {
		for _, t := range p.living(stage) {
			if _, known := places[t.path]; !known {
				places[t.path] = p.end[stage]
				p.end[stage] += t.size
			}
		}
	}
}

// tensor is one that lives between steps.
type tensor struct {
	path    string
	list    string // path without its numbers
	numbers string // of path, padded so that they sort as numbers
	size    int64
}

// living are the parameters and states of all functions of a stage, list by list.
func (p *apart) living(stage ir.Index) (all []tensor) {
	digits := regexp.MustCompile(`[0-9]+`)
	for _, p.f = range p.m.Funcs {
		for _, a := range p.f.Args {
			if p.f.Class != ir.Entry || p.f.Stage != stage || a.Role != ir.RoleParam && a.Role != ir.RoleState {
				continue
			}
			size, instances, _ := p.bytes(a.Value)
			for i := range instances {
				t := tensor{path: ir.OfInstance(a.Path, i), size: size}
				t.list = digits.ReplaceAllString(t.path, "")
				for _, n := range digits.FindAllString(t.path, -1) {
					t.numbers += fmt.Sprintf("%8s", n)
				}
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, func(x, y tensor) int {
		return cmp.Or(strings.Compare(x.list, y.list), strings.Compare(x.numbers, y.numbers))
	})
	return all
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
