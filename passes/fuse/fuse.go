package fuse

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Run fuses every entry function of m.
func Run(c *pass.Context, m *ir.Module) error {
	shared := &kernels{module: m, byText: map[string]*ir.Func{}, count: map[string]int{}}
	var entries []*ir.Func
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			return fmt.Errorf("fuse: function @%s is a kernel already", f.Name)
		}
		entries = append(entries, f)
	}
	x := &fuser{c: c, m: m, shared: shared, alike: newLikeness()}
	for _, f := range entries {
		if err := x.function(f, len(entries) > 1); err != nil {
			return err
		}
	}
	sumInParts(c, m, shared)
	keepCalled(m)
	m.Level = ir.Fused
	return nil
}

// fuser fuses the functions of a module one after the other.
type fuser struct {
	c      *pass.Context
	m      *ir.Module
	shared *kernels
	alike  *likeness
	ops    int // that a step does, before fusion
	done   repeats
}

// function fuses f, which may be a copy of one before it. Where others follow, f is kept
// for them.
func (x *fuser) function(f *ir.Func, many bool) error {
	dropDead(f)
	splitReductions(f)
	if x.repeat(f) {
		return nil
	}
	var given *ir.Func
	if many {
		given = f.Clone()
	}
	told := len(x.c.Remarks)
	p := grouped(x.c, f, x.m.Mesh, x.alike)
	remarks := x.c.Remarks[told:]
	before, times := len(f.Ops), f.Times()
	f.Ops = p.emit(x.shared)
	f.JoinRuns()
	joinTasks(f)
	joinCalls(f, x.shared)
	splitRuns(f, x.shared)
	if err := firstTurns(f, x.shared); err != nil {
		return err
	}
	if many {
		x.done.note(&done{given: given, f: f, before: before, times: times, remarks: slices.Clone(remarks)})
	}
	x.say(f, before, times, "")
	return nil
}

// say tells what became of f, which had so many operations before, that run so often in a step,
// and of which function it is a copy.
func (x *fuser) say(f *ir.Func, before int, times int64, as string) {
	if f.Name == "step" || f.Of == "step" {
		x.ops += int(times)
		x.m.SetMeta(ir.Term{Head: "stats", Args: ir.A("ops", ir.Int(x.ops))})
	}
	x.c.Remarkf(nil, "@%s: %d operations in %d kernel calls%s", f.Name, before, len(f.Ops), as)
}

// repeat makes f a copy of a function that was fused, where it is alike. It reports
// whether it is.
func (x *fuser) repeat(f *ir.Func) bool {
	d, names := x.done.find(f)
	if d == nil {
		return false
	}
	remarks, known := d.retold(names)
	if !known || !d.copyTo(f, names) {
		return false
	}
	x.c.Remarks = append(x.c.Remarks, remarks...)
	x.say(f, d.before, d.times, ", as @"+d.f.Name)
	return true
}

// grouped is f in groups that can be done one after the other. Operations of two runs
// may be in one group; where that leads to a circle, as what a run waits for as a whole
// is not looked at for every group, each run is grouped by itself.
func grouped(c *pass.Context, f *ir.Func, mesh []ir.MeshAxis, alike *likeness) *program {
	var whole *ir.Func
	if len(f.Stacks) > 0 {
		whole = f.Clone()
	}
	p := newProgram(c, f)
	p.mesh, p.alike = mesh, alike
	p.castsApart(c)
	p.group()
	p.recompute()
	p.beside()
	if whole == nil || !p.circles() {
		p.because(c)
		return p
	}
	*f = *whole
	p = newProgram(&pass.Context{Target: c.Target}, f) // its remarks are there
	p.mesh, p.alike, p.apart = mesh, alike, true
	p.castsApart(c)
	p.group()
	p.recompute()
	p.because(c)
	return p
}

// because records for each two groups of which one reads the other why they are not one kernel.
func (p *program) because(c *pass.Context) {
	if c.Why == "" {
		return
	}
	for _, g := range p.groups {
		if g.class == exchange {
			continue
		}
		for _, from := range p.inputs(g) {
			if from.class != exchange {
				c.Because(g.subject(), "%s is not joined to %s of %s: %s", g, from, placeOf(from.subject()), p.obstacle(from, g))
			}
		}
	}
}

// subject is the operation that a group is named for.
func (g *group) subject() *ir.Op {
	if g.root != nil {
		return g.root
	}
	return g.ops[len(g.ops)-1]
}

// String is the group in a few words: its class, and the operation that it is named for.
func (g *group) String() string { return string(g.class) + " `" + g.subject().Name + "`" }

// placeOf is where an operation comes from.
func placeOf(o *ir.Op) string { return strings.TrimSpace(o.Scope + " " + o.Pos.String()) }

// program is the state of fusing one function.
type program struct {
	f       *ir.Func
	mesh    []ir.MeshAxis
	coord   *ir.Value // the argument that holds the device's coordinates
	index   map[*ir.Op]int
	segment map[*ir.Op]int
	late    map[*ir.Op]bool
	free    map[*ir.Op]bool  // copied into every reader
	core    map[*ir.Op]*core // the attention that it is of
	steps   map[*ir.Op]bool  // see findSteps
	mask    map[*ir.Op]bool  // attentions read it, or what is made of it, and it is of positions alone
	views   map[*ir.Value]*view
	groups  []*group // by creation; merged ones are empty
	of      map[*ir.Op]*group
	users   map[*ir.Value][]*ir.Op        // operations that read a value, views included
	read    map[*ir.Value][]reader        // its readers, of values that were asked about
	result  map[*ir.Value]bool            // results of the function
	readBys map[*ir.Value]map[*group]bool // by values with many readers, when all groups are made
	above   ancestry
	seq     sequence
	time    *timing
	loss    int                // program index of the operation that makes the loss; of all, where there is none
	apart   bool               // groups are of one run each
	between []*group           // what the last search for an outside path went through
	again   map[*ir.Value]bool // rematerialized by readers, not stored
	before  map[*ir.Op]bool    // casts that products find done
	keep    map[*ir.Value]bool // stored so that others can be rematerialized
	alike   *likeness          // of all functions
}

// view says that a value is a strided view of a stored value.
type view struct {
	base   *ir.Value
	byName bool // all operations from base to the value keep names and sizes
	op.Strided
}

// group is a set of operations that becomes one kernel.
type group struct {
	id    int      // its place in program.groups
	ops   []*ir.Op // in program order
	class fusion.Class
	space space  // iteration space; of the result for gemm, scatter, pieces; of the scores for attention
	kept  space  // row, column: the axes that remain
	root  *ir.Op // contraction (of attention the last), first reduction, scatter_add, concat, pad
	last  int    // program index of its last operation
	rank  int64  // its place in the sequence, between two others
	prev  *group
	next  *group
	// What the rules ask of all operations: the number of reads by others, whether
	// a value is a result of the function, whether all work may be repeated; and how
	// long it takes to go through what they read, and through who reads them.
	outside int
	result  bool
	cheap   bool
	ins     int
	outs    int
	// segment is the stretch between messages that the group is in, of one task. Messages
	// keep their order, on which other stages rely, so no kernel may need what
	// comes after one and be needed before it.
	segment int
	// stack is that of which each instance has such a kernel, run the start of the run
	// in which it is done, and early that of the first one in which it can be.
	stack      *ir.Stack
	run, early int
	// late: rematerialized for the backward phase, or after such work. In a kernel
	// with what is early it would run in the forward phase, and its results would
	// be kept from there on: what rematerialization is to avoid.
	late bool
}

func newProgram(c *pass.Context, f *ir.Func) *program {
	n := len(f.Ops)
	p := &program{
		f: f, index: make(map[*ir.Op]int, n), segment: make(map[*ir.Op]int, n), late: make(map[*ir.Op]bool, n), free: map[*ir.Op]bool{}, views: map[*ir.Value]*view{},
		of: make(map[*ir.Op]*group, n), users: make(map[*ir.Value][]*ir.Op, n), read: map[*ir.Value][]reader{}, result: map[*ir.Value]bool{}, again: map[*ir.Value]bool{}, keep: map[*ir.Value]bool{},
		readBys: map[*ir.Value]map[*group]bool{}, before: map[*ir.Op]bool{},
	}
	f.Ops = materializeViews(f)
	p.findCores(c)
	p.findSteps()
	loss := (*ir.Op)(nil)
	for _, r := range f.Results {
		if p.result[r.Value] = true; r.Role == ir.RoleLoss {
			loss = r.Value.Def
		}
	}
	p.loss = len(f.Ops)
	segment := 0
	var task *ir.Task
	for i, o := range f.Ops {
		if p.index[o] = i; o == loss {
			p.loss = i
		}
		if op.Has(o, op.Message) || o.Task != task {
			segment++
		}
		task = o.Task
		p.segment[o] = segment
		p.late[o] = o.Remat
		o.Slot = ir.Slot{Run: o.Run, Task: o.Task}
		for _, a := range o.Args {
			p.users[a] = append(p.users[a], o)
			p.late[o] = p.late[o] || a.Def != nil && p.late[a.Def]
		}
	}
	for _, o := range f.Ops {
		switch {
		case p.steps[o]:
		case p.isFree(o):
			p.free[o] = true
		case op.CanView(o) && !p.result[o.Result()]:
			p.addView(o)
		}
	}
	p.above = p.ancestry()
	p.time = p.timing()
	return p
}

// alone reports whether o stays as it is, and reads what is in memory: a collective,
// and what is at the end of a run.
func alone(o *ir.Op) bool {
	c := op.Of(o).Class
	return c == op.Collective || c == op.Boundary
}

// isFree reports whether o reads no stored value and is cheap: a constant, an
// index, or elementwise work on a few of them.
func (p *program) isFree(o *ir.Op) bool {
	for _, r := range o.Results {
		if p.result[r] {
			return false
		}
	}
	for _, r := range o.Results {
		if p.readStored(r) {
			return false
		}
	}
	d := op.Of(o)
	if len(o.Args) == 0 {
		return d.Class == op.Source
	}
	if d.Class != op.Elementwise && !op.Has(o, op.ByName) {
		return false
	}
	if p.mask[o] {
		return p.freeSize(o, maskOps) >= 0
	}
	return p.freeSize(o, freeOps) >= 0
}

// readStored reports whether v must lie in memory: a collective reads it, or a view
// that changes its axes, perhaps under other names.
func (p *program) readStored(v *ir.Value) bool {
	return slices.ContainsFunc(p.users[v], func(u *ir.Op) bool {
		switch {
		case alone(u):
			return true
		case op.Has(u, op.ByName):
			return op.CanView(u) && p.readStored(u.Result())
		}
		return op.CanView(u)
	})
}

// freeSize is what remains of budget after counting the distinct operations
// that o is made of; negative where one of them is neither free nor a number of a step.
func (p *program) freeSize(o *ir.Op, budget int) int {
	budget--
	for _, a := range o.Args {
		switch {
		case budget < 0 || a.Def == nil:
			return -1
		case p.steps[a.Def]: // read
		case !p.free[a.Def]:
			return -1
		default:
			budget = p.freeSize(a.Def, budget)
		}
	}
	return budget
}

// addView records o as a view, if its operand is stored and not computed in
// place by name.
func (p *program) addView(o *ir.Op) {
	in := o.Args[0]
	base := &view{base: in, byName: true, Strided: op.Dense(in.Type)}
	if v := p.views[in]; v != nil {
		base = v
	}
	if out, ok := op.View(o, base.Strided); ok {
		p.views[o.Result()] = &view{base.base, base.byName && op.Has(o, op.ByName), out}
	}
}

// stored is the value whose buffer a reader of v reads.
func (p *program) stored(v *ir.Value) *ir.Value {
	if w := p.views[v]; w != nil {
		return w.base
	}
	return v
}
