package memory

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// updatesLast makes every new parameter and state writable over the old one:
// nothing may read the old value after the kernel that writes the new one, and
// that kernel must read it element by element. Where this does not hold, the
// new value gets a place of its own and a copy at the end of the program; in
// another memory, where no kernel can copy it, it is an error. A new value that is the
// old one of another is a copy, which reads it.
func (p *planner) updatesLast(f *ir.Func) error {
	mem := op.Memories(f)
	args := f.Named()
	for i := range f.Results { // before it is decided what is written over these
		r := &f.Results[i]
		if a := args.Arg(r.Role, r.Path); a != nil && a.Value != r.Value && r.Value.Def == nil && mem[r.Value] == ir.Device {
			r.Value = p.copyAtEnd(f, r.Value)
			mem[r.Value] = ir.Device
		}
	}
	u := usesOf(f)
	stored := map[*ir.Value]int{} // results that each value is, but for gradients
	for _, r := range f.Results {
		if r.Role != ir.RoleGrad {
			stored[r.Value]++
		}
	}
	for i := range f.Results {
		r := &f.Results[i]
		a := args.Arg(r.Role, r.Path)
		if a == nil || a.Value == r.Value {
			continue
		}
		why := ""
		switch d := r.Value.Def; {
		case d == nil || d.Name == op.Leave:
			why = "no kernel writes it"
		case u.time.mixed(u.time.at(d)):
			why = "its task has turns between those of others"
		case p.clashes(f, u, r.Value, a.Value):
			why = "the old value is still read when it is written"
		case shared(stored, r):
			why = "another result is the same value"
		default:
			continue
		}
		p.c.Because(r.Value.Def, "%s %q is copied to its place at the end: %s", r.Role, r.Path, why)
		if mem[r.Value] != ir.Device {
			return &diag.Error{Code: "E0391", Pos: a.Pos,
				Msg:  fmt.Sprintf("@%s: %s %q in memory `%s` is overwritten before all of the old value is on the device", f.Name, r.Role, r.Path, mem[r.Value]),
				Want: "each piece to be copied back after it was copied to the device"}
		}
		if old := r.Value; r.Role != ir.RoleGrad {
			stored[old]--
		}
		r.Value = p.copyAtEnd(f, r.Value)
		u.time = timelineOf(f)
		u.add(len(f.Ops)-1, r.Value.Def)
	}
	return nil
}

// span is a range of bytes of a value.
type span struct{ lo, hi int64 }

func (s span) meets(t span) bool { return s.lo < t.hi && t.lo < s.hi }

// extent is a range of a value's bytes, and in whose value it is.
type extent struct {
	v *ir.Value
	span
}

// writes are the values that make up v, each where its operation writes it: of
// what is held, its pieces; of what is done, what was started.
func (u uses) writes(v *ir.Value) []extent {
	var out []extent
	var add func(v *ir.Value, at int64)
	add = func(v *ir.Value, at int64) {
		switch {
		case v.Def != nil && op.Has(v.Def, op.Joins):
			for _, a := range v.Def.Args {
				add(a, at)
				at += int64(a.Type.Bytes())
			}
		case v.Def != nil && op.Has(v.Def, op.Completes):
			add(v.Def.Args[u.result[v]], at)
		default:
			out = append(out, extent{v, span{at, at + int64(v.Type.Bytes())}})
		}
	}
	add(v, 0)
	return out
}

// readsOf says which bytes of old operand n of o is: all, those of the piece
// that it copies to the device, or those of the part of old that it is.
func readsOf(o *ir.Op, n int, old *ir.Value, parts map[*ir.Value]span) (span, bool) {
	a := o.Args[n]
	s, ok := parts[a]
	if a == old {
		s, ok = span{0, int64(a.Type.Bytes())}, true
	}
	if ok && op.Has(o, op.Loads) {
		at := s.lo + pieceOffset(o)
		s = span{at, at + int64(o.Results[n].Type.Bytes())}
	}
	return s, ok && !op.Has(o, op.Joins)
}

// uses are the operations of a function by what they use, as numbers, so that
// not every new value goes through the whole program.
type uses struct {
	time *timeline
	of   map[*ir.Value][]int // by operand
	done map[*ir.Op][]int    // by what was started
	// result is the number of a value among the results of its operation: merged
	// collectives have hundreds.
	result map[*ir.Value]int
	// operands are the numbers of each value among the operands of an operation
	// with many, for the same reason.
	operands map[*ir.Op]map[*ir.Value][]int
}

func usesOf(f *ir.Func) uses {
	u := uses{timelineOf(f), map[*ir.Value][]int{}, map[*ir.Op][]int{}, map[*ir.Value]int{}, map[*ir.Op]map[*ir.Value][]int{}}
	for i, o := range f.Ops {
		u.add(i, o)
	}
	return u
}

func (u uses) add(i int, o *ir.Op) {
	for j, r := range o.Results {
		u.result[r] = j
	}
	for _, a := range o.Args {
		if l := u.of[a]; len(l) == 0 || l[len(l)-1] != i {
			u.of[a] = append(l, i)
		}
	}
	if op.Has(o, op.Completes) {
		x := o.Args[0].Def
		u.done[x] = append(u.done[x], i)
	}
}

// reads are the numbers of o's operands that may be old or a part of it.
func (u uses) reads(o *ir.Op, old *ir.Value, parts map[*ir.Value]span) []int {
	var out []int
	if len(o.Args) <= fewSpots {
		for n := range o.Args {
			out = append(out, n)
		}
		return out
	}
	if u.operands[o] == nil {
		u.operands[o] = map[*ir.Value][]int{}
		for n, a := range o.Args {
			u.operands[o][a] = append(u.operands[o][a], n)
		}
	}
	out = append(out, u.operands[o][old]...)
	for v := range parts {
		out = append(out, u.operands[o][v]...)
	}
	return out
}

// around are the operations that read old or parts of it, wait for those that do,
// or write ws: in their order.
func (u uses) around(f *ir.Func, old *ir.Value, ws []extent) []int {
	var out []int
	seen := map[*ir.Value]bool{}
	var add func(v *ir.Value)
	add = func(v *ir.Value) {
		if seen[v] {
			return
		}
		seen[v] = true
		for _, i := range u.of[v] {
			o := f.Ops[i]
			out = append(append(out, i), u.done[o]...)
			if op.Has(o, op.Views) {
				add(o.Result())
			}
		}
	}
	add(old)
	for _, w := range ws {
		if w.v.Def != nil {
			out = append(out, u.time.at(w.v.Def))
		}
	}
	slices.SortFunc(out, func(i, j int) int { return u.time.of(i, 0).compare(u.time.of(j, 0)) })
	return slices.Compact(out)
}

// clashes reports whether writing v over old would be seen by a reader of old.
func (p *planner) clashes(f *ir.Func, u uses, v, old *ir.Value) bool {
	ws := u.writes(v)
	written := map[*ir.Value]bool{}
	parts := map[*ir.Value]span{} // of old
	late := func(s span) bool {   // whether something was written there
		return slices.ContainsFunc(ws, func(w extent) bool { return written[w.v] && w.meets(s) })
	}
	for _, i := range u.around(f, old, ws) {
		o := f.Ops[i]
		if op.Has(o, op.Completes) {
			for _, n := range u.reads(o.Args[0].Def, old, parts) {
				if s, ok := readsOf(o.Args[0].Def, n, old, parts); ok && late(s) {
					return true // it is sent until here
				}
			}
		}
		for _, n := range u.reads(o, old, parts) {
			s, ok := readsOf(o, n, old, parts)
			if !ok {
				continue
			}
			if op.Has(o, op.Views) {
				at := s.lo + pieceOffset(o)
				parts[o.Result()] = span{at, at + int64(o.Result().Type.Bytes())}
				continue
			}
			if late(s) {
				return true
			}
			for _, w := range ws {
				if o == w.v.Def && w.meets(s) && (w.span != s || usedTwice(o, o.Args[n]) || !p.mayOverwrite(o, n, u.result[w.v])) {
					return true
				}
			}
		}
		for _, w := range ws {
			written[w.v] = written[w.v] || o == w.v.Def
		}
	}
	return false
}

// shared reports whether another result, that is stored, is the same value.
func shared(stored map[*ir.Value]int, r *ir.Result) bool {
	n := stored[r.Value]
	if r.Role != ir.RoleGrad {
		n--
	}
	return n > 0
}

func (p *planner) copyAtEnd(f *ir.Func, v *ir.Value) *ir.Value {
	k := p.copyKernel(v.Type)
	call := f.NewOp(op.Call, []*ir.Value{v}, nil, v.Type.Clone())
	call.Callee, call.Task = k, atEnd(f)
	if s := v.In(); s != nil {
		if call.Run = (&ir.Run{Stack: s}); v.Def != nil {
			call.Scope = v.Def.Scope
		}
	}
	f.Ops = append(f.Ops, call)
	return call.Results[0]
}

// atEnd is the task that ends the program; nil of a program without tasks.
func atEnd(f *ir.Func) *ir.Task {
	if len(f.Tasks) == 0 {
		return nil
	}
	t := f.Tasks[len(f.Tasks)-1]
	if t.Once && f.Ticks[len(f.Ticks)-1].Task == t {
		return t
	}
	name := "end"
	for f.Task(name) != nil {
		name += "_"
	}
	t = &ir.Task{Name: name, Once: true}
	f.Tasks, f.Ticks = append(f.Tasks, t), append(f.Ticks, ir.Tick{Task: t})
	return t
}

// copyKernel is the kernel that copies a value of type t.
func (p *planner) copyKernel(t ir.Type) *ir.Func {
	for i := 0; ; i++ {
		name := fmt.Sprintf("copy_%d", i)
		if f := p.m.Func(name); f != nil {
			if f.Args[0].Value.Type.Equal(t) {
				return f
			}
			continue
		}
		f := &ir.Func{Name: name, Class: ir.Kernel, Attrs: ir.A("kind", ir.Name(string(fusion.Map)))}
		b := op.Builder{F: f}
		in := f.AddArg(t.Clone(), ir.RoleIn, "", nil, b.Pos)
		out := b.EmitStated(op.Cast, ir.A("to", ir.Name(t.DType.String())), in)
		f.Results = []ir.Result{{Value: out, Role: ir.RoleOut}}
		k, err := fusion.Analyze(f)
		if err != nil {
			panic("memory: the copy kernel: " + err.Error())
		}
		p.kernels[f] = k
		p.m.Funcs = append(p.m.Funcs, f)
		return f
	}
}
