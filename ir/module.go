package ir

import "ptc/internal/diag"

// Module is a whole program at one level.
type Module struct {
	Level Level
	Name  string     // the model's name
	Mesh  []MeshAxis // devices; empty for one device
	// Meta says in order what no function says: config, layout rules, data
	// source, target. Each is one line of the text.
	Meta  []Term
	Funcs []*Func
}

// MeshAxis is one named axis of the device mesh. Devices are numbered
// row-major, the last axis fastest.
type MeshAxis struct {
	Name string
	Size int
}

// Devices is the number of devices of the mesh, at least 1.
func (m *Module) Devices() int {
	n := 1
	for _, a := range m.Mesh {
		n *= a.Size
	}
	return n
}

// MeshSize is the size of the named mesh axis, or 0.
func (m *Module) MeshSize(name string) int {
	for _, a := range m.Mesh {
		if a.Name == name {
			return a.Size
		}
	}
	return 0
}

// Group is the number of devices that differ on these mesh axes alone.
func (m *Module) Group(over []string) int {
	n := 1
	for _, name := range over {
		n *= m.MeshSize(name)
	}
	return n
}

// Func is the function called name, or nil.
func (m *Module) Func(name string) *Func {
	for _, f := range m.Funcs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// MetaTerm is the first metadata term with the head, or nil.
func (m *Module) MetaTerm(head string) *Term {
	for i := range m.Meta {
		if m.Meta[i].Head == head {
			return &m.Meta[i]
		}
	}
	return nil
}

// SetMeta replaces the metadata term with t's head, or appends t.
func (m *Module) SetMeta(t Term) {
	if old := m.MetaTerm(t.Head); old != nil {
		*old = t
		return
	}
	m.Meta = append(m.Meta, t)
}

// Func is a function: arguments, operations in execution order, results.
type Func struct {
	Name  string
	Class FuncClass
	// Of, of an entry that is a stage's part of a function, is the function's name.
	Of    string
	Stage Index // of the part: the position of its devices on the mesh axis of stages
	Attrs Attrs // kernels: see ir/fusion; planned: sizes of memories
	// Stacks are what is repeated in the function.
	Stacks []*Stack
	Timetable
	Args []*Arg
	Ops  []*Op
	// Results are in the order of the text. An entry function's result with
	// the role and path of an argument is that argument's new value.
	Results []Result
	nextID  int
}

// Roles of arguments and results of entry functions.
const (
	RoleParam   = "param"   // a trained parameter; path is the module path
	RoleState   = "state"   // optimizer state; path is "blocks.3.attn.wq/m"
	RoleData    = "data"    // a field of the batch; path is the field's name
	RoleStep    = "step"    // i32 scalar: the number of the step, from 1
	RoleSeed    = "seed"    // i32 scalar: the run's seed
	RoleSetting = "setting" // scalar of f32, i32 or f64 that the plan is told for a run; path is its formula, see internal/formula
	RoleCoord   = "coord"   // i32[mesh=n]: this device's coordinate on each mesh axis
	RoleIndex   = "index"   // i32 scalar: the number of an instance of a stack, which AttrNumber is; path is its module
	RoleLoss    = "loss"    // result: the scalar loss
	RoleStat    = "stat"    // result: a scalar to report; path is grad_norm, lr, …
	RoleGrad    = "grad"    // result: a raw gradient, readable when it is computed; it need not live to the end of the step
	RoleIn      = "in"      // an argument of a kernel function
	RoleOut     = "out"     // a result of a kernel function
)

// MetricPath is the path of a metric among the statistics.
func MetricPath(name string) string { return "metrics." + name }

// AttrCopyOf names the parameter of which a state is a copy of more bits, and
// whose initial values it has before they are rounded.
const AttrCopyOf = "of"

// AttrDefault is what an argument of role setting holds where nobody says otherwise.
const AttrDefault = "default"

// AttrNumber is the number that an argument of role index holds; of one that every
// instance of a stack has, the first instance's, if it is not 0.
const AttrNumber = "number"

// Arg is an argument of a function.
type Arg struct {
	Value *Value
	Role  string
	Path  string
	// Memory is where the value is before and after a run, At its place there,
	// which the level planned has.
	Memory Memory
	At     Offset
	Spread Spread // planned: of what instances or microbatches have each
	Attrs  Attrs  // params and states: init=Term; copies: AttrCopyOf
	Pos    diag.Pos
}

// Result is a result of a function.
type Result struct {
	Value *Value
	Role  string
	Path  string
	Attrs Attrs
}

// Value is an argument or the result of an operation. Every value is defined
// once.
type Value struct {
	ID   int // unique in the function; printed %ID
	Type Type
	Def  *Op // nil for an argument
	// Each is the stack of which every instance has such a value, of what no run
	// makes: an argument, or a result of grad. See [Value.In].
	Each *Stack
	// Micro says of an argument that there is one for each microbatch. See
	// [Value.PerMicro].
	Micro bool
}

// Op is one operation. Name selects its row in ir/op.
type Op struct {
	Name    string
	Args    []*Value
	Results []*Value
	Attrs   Attrs // what it computes, next to the operands
	Slot
	Callee *Func    // of a call: the function, of the same module
	First  *Func    // of a call that accumulates: the function in the first tick of its task, see [Task]
	Memory Memory   // of a store: where its results are
	Start  bool     // of what moves data: issued here, complete at its `done`
	At     []int64  // planned: places of the results in bytes
	Spread []Spread // planned, in a run or a task: of each result; nil where all instances and microbatches are in one place
	Wait   Wait     // planned
	Scope  string   // module path it came from, for example blocks.3.mlp
	Pos    diag.Pos // source that caused it
}

// Result is the only result of an op; it panics where there are several.
func (o *Op) Result() *Value {
	if len(o.Results) != 1 {
		panic("ir: op " + o.Name + " has not exactly one result")
	}
	return o.Results[0]
}

// NewValue makes a value with a fresh number; the caller places it.
func (f *Func) NewValue(t Type, def *Op) *Value {
	v := &Value{ID: f.nextID, Type: t, Def: def}
	f.nextID++
	return v
}

// NextID is the number of the next value.
func (f *Func) NextID() int { return f.nextID }

// AddArg appends an argument.
func (f *Func) AddArg(t Type, role, path string, attrs Attrs, pos diag.Pos) *Value {
	v := f.NewValue(t, nil)
	f.Args = append(f.Args, &Arg{Value: v, Role: role, Path: path, Attrs: attrs, Pos: pos})
	return v
}

// StatePath is the path of a state of the parameter called name, or name with
// underscores after it where one of args is of that name.
func StatePath(args Named, param, name string) string {
	for {
		p := param + "/" + name
		if args.Arg(RoleState, p) == nil {
			return p
		}
		name += "_"
	}
}

// NewOp makes an operation with fresh results of the given types. It is not
// appended: the caller decides on the place.
func (f *Func) NewOp(name string, args []*Value, attrs Attrs, types ...Type) *Op {
	o := &Op{Name: name, Args: append([]*Value(nil), args...), Attrs: attrs}
	for _, t := range types {
		o.Results = append(o.Results, f.NewValue(t, o))
	}
	return o
}

// Adopt tells f that value numbers up to id are taken; the parser and passes
// that move operations between functions call it.
func (f *Func) Adopt(id int) { f.nextID = max(f.nextID, id+1) }

// Arg is the argument with the role and path, or nil.
func (f *Func) Arg(role, path string) *Arg {
	for _, a := range f.Args {
		if a.Role == role && a.Path == path {
			return a
		}
	}
	return nil
}

// Named finds the arguments of a function by role and path: for who looks for
// many, where each [Func.Arg] would go through all. It does not see later changes.
type Named map[named]*Arg

type named struct{ role, path string }

// Named is the arguments that f has now.
func (f *Func) Named() Named { return NamedOf(f.Args) }

// NamedOf is these arguments; of those with the same role and path the first counts.
func NamedOf(args []*Arg) Named {
	n := make(Named, len(args))
	for _, a := range args {
		if k := (named{a.Role, a.Path}); n[k] == nil {
			n[k] = a
		}
	}
	return n
}

// Arg is the argument with the role and path, or nil.
func (n Named) Arg(role, path string) *Arg { return n[named{role, path}] }

// Result is the result with the role and path, or nil.
func (f *Func) Result(role, path string) *Result {
	for i := range f.Results {
		if f.Results[i].Role == role && f.Results[i].Path == path {
			return &f.Results[i]
		}
	}
	return nil
}

// Uses counts, for every value, the operations and results that read it.
func (f *Func) Uses() map[*Value]int {
	n := make(map[*Value]int, len(f.Ops))
	for _, o := range f.Ops {
		for _, a := range o.Args {
			n[a]++
		}
	}
	for _, r := range f.Results {
		n[r.Value]++
	}
	return n
}

// Replace makes every reader of a value in the map read its image instead;
// chains are followed.
func (f *Func) Replace(with map[*Value]*Value) {
	if len(with) == 0 {
		return
	}
	at := func(v *Value) *Value {
		for {
			w, ok := with[v]
			if !ok {
				return v
			}
			v = w
		}
	}
	for _, o := range f.Ops {
		for i, a := range o.Args {
			o.Args[i] = at(a)
		}
	}
	for i := range f.Results {
		f.Results[i].Value = at(f.Results[i].Value)
	}
}

// Clone is a deep copy of the module.
func (m *Module) Clone() *Module {
	c := &Module{Level: m.Level, Name: m.Name}
	c.Mesh = append(c.Mesh, m.Mesh...)
	c.Meta = append(c.Meta, m.Meta...)
	copies := make(map[*Func]*Func, len(m.Funcs))
	for _, f := range m.Funcs {
		copies[f] = f.Clone()
		c.Funcs = append(c.Funcs, copies[f])
	}
	for _, f := range c.Funcs {
		for _, o := range f.Ops {
			if g := copies[o.Callee]; g != nil {
				o.Callee = g
			}
			if g := copies[o.First]; g != nil {
				o.First = g
			}
		}
	}
	return c
}

// defined is how many values arguments and operations define.
func (f *Func) defined() int {
	n := len(f.Args)
	for _, o := range f.Ops {
		n += len(o.Results)
	}
	return n
}

// sizes is how much a copy of a function needs.
type sizes struct{ values, axes, mesh int }

// size is how many operands and results operations have, and how many axes and mesh axes the types of values.
func (f *Func) size() (n sizes) {
	add := func(t Type) {
		n.axes += len(t.Axes)
		for i := range t.Axes {
			n.mesh += len(t.Axes[i].Mesh)
		}
	}
	for _, a := range f.Args {
		add(a.Value.Type)
	}
	for _, o := range f.Ops {
		n.values += len(o.Args) + len(o.Results)
		for _, r := range o.Results {
			add(r.Type)
		}
	}
	return n
}

// typeCopier copies types into memory for many of them. No copy can grow into the next one.
type typeCopier struct {
	axes []Axis
	mesh []string
}

func (c *typeCopier) clone(t Type) Type {
	out := Type{DType: t.DType, Pad: t.Pad}
	if t.Axes != nil {
		n := len(t.Axes)
		out.Axes, c.axes = c.axes[:n:n], c.axes[n:]
		for i, a := range t.Axes {
			out.Axes[i] = Axis{Name: a.Name, Size: a.Size}
			if k := len(a.Mesh); k > 0 {
				out.Axes[i].Mesh, c.mesh = c.mesh[:k:k], c.mesh[k:]
				copy(out.Axes[i].Mesh, a.Mesh)
			}
		}
	}
	if len(t.Partial) > 0 {
		out.Partial = append([]Partial(nil), t.Partial...)
	}
	return out
}

// Clone is a deep copy of the function, which calls the same functions; value
// numbers are kept.
func (f *Func) Clone() *Func {
	c := &Func{Name: f.Name, Class: f.Class, Of: f.Of, Stage: f.Stage, Attrs: f.Attrs, nextID: f.nextID, Ops: make([]*Op, 0, len(f.Ops))}
	stacks, runs := map[*Stack]*Stack{}, map[*Run]*Run{nil: nil}
	for _, s := range f.Stacks {
		t := *s
		stacks[s] = &t
		c.Stacks = append(c.Stacks, &t)
	}
	table, tasks := f.Timetable.clone()
	c.Timetable = table
	at := make([]*Value, f.nextID)
	ops, values := make([]Op, len(f.Ops)), make([]Value, 0, f.defined())
	n := f.size()
	lists, types := make([]*Value, n.values), typeCopier{axes: make([]Axis, n.axes), mesh: make([]string, n.mesh)}
	list := func(n int) []*Value {
		out := lists[:0:n]
		lists = lists[n:]
		return out
	}
	copyValue := func(v *Value, def *Op) *Value {
		values = append(values, Value{ID: v.ID, Type: types.clone(v.Type), Def: def, Each: stacks[v.Each], Micro: v.Micro})
		at[v.ID] = &values[len(values)-1]
		return at[v.ID]
	}
	for _, a := range f.Args {
		b := *a
		b.Value = copyValue(a.Value, nil)
		c.Args = append(c.Args, &b)
	}
	for i, o := range f.Ops {
		p := &ops[i]
		*p = *o
		if _, known := runs[o.Run]; !known {
			runs[o.Run] = &Run{Stack: stacks[o.Run.Stack], Down: o.Run.Down}
		}
		p.Run, p.Task = runs[o.Run], tasks[o.Task]
		p.Args, p.Results = list(len(o.Args)), list(len(o.Results))
		for _, a := range o.Args {
			p.Args = append(p.Args, at[a.ID])
		}
		for _, r := range o.Results {
			p.Results = append(p.Results, copyValue(r, p))
		}
		c.Ops = append(c.Ops, p)
	}
	for _, r := range f.Results {
		r.Value = at[r.Value.ID]
		c.Results = append(c.Results, r)
	}
	return c
}
