package lang

import (
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/lang/syntax"
)

// Options say what a program is lowered to.
type Options struct {
	Set []Override // config entries to replace
	// Layout is the layout's name; empty for the first one of the main file,
	// or one device where there is none.
	Layout string
	// Compute, where not empty, replaces the dtype in which the layout
	// computes: f32, bf16 or f16.
	Compute string
}

// Result is a lowered program.
type Result struct {
	Module  *ir.Module // at Global: @step and @eval
	Layout  string     // the layout's name
	Layouts []string   // all of the main file, in order
	Config  []ir.Attr  // resolved entries, in the order of the files
	// Params counts the parameters, Elems their elements.
	Params, Elems int
	// Unused are the paths of declared parameters that the loss does not read.
	// They are left out of the module.
	Unused []string
	// Warnings are about what is allowed and probably not meant.
	Warnings []string
	// Remarks are decisions that the source does not show.
	Remarks []string
}

// Lower resolves the program to a module, or to the list of its mistakes.
func (p *Program) Lower(o Options) (*Result, diag.List) {
	l := &lowerer{prog: p, mod: &ir.Module{Level: ir.Global}, paths: map[string]*param{}, bounds: map[*syntax.Module][]ir.Type{}, missing: map[string]bool{}}
	if p.main == nil || p.main.tree == nil {
		l.errs.add(&diag.Error{Code: "E0501", Msg: "nothing was parsed"})
		return nil, l.errs.list
	}
	r := l.lower(o)
	if len(l.errs.list) > 0 {
		return nil, l.errs.list.Sort()
	}
	return r, nil
}

// lowerer is the state of one lowering.
type lowerer struct {
	prog        *Program
	errs        reporter
	config      []*entry
	configIndex map[string]*entry
	mod         *ir.Module

	home      *file // of the train block
	warnings  []string
	remarks   []string
	model     *instance
	params    []*param // in the order of declaration
	absent    []*param // those whose condition is false
	paths     map[string]*param
	instances []*instance // of the model, innermost first

	fb      *funcBuilder    // the function being built; nil at compile time
	steps   int             // expressions evaluated
	modules int             // instances made
	stopped bool            // a bound was exceeded
	missing map[string]bool // imports that were reported to be missing

	// bounds are the types that cross the borders of each module: arguments
	// and results of apply in @step.
	bounds map[*syntax.Module][]ir.Type
}

// funcBuilder is the entry function being built.
type funcBuilder struct {
	f        *ir.Func
	b        op.Builder
	training bool
	values   map[*param]*ir.Value // those read so far
	order    []*param             // that all get an argument, once known
	step     *ir.Value
	seed     *ir.Value
	sites    int // random operations so far
}

// param is the argument that holds a parameter.
func (fb *funcBuilder) param(p *param) *ir.Value {
	v := fb.values[p]
	if v == nil {
		v = fb.f.NewValue(p.typ, nil)
		fb.values[p] = v
	}
	return v
}

func (l *lowerer) newFunc(name string, training bool) *funcBuilder {
	fb := &funcBuilder{f: &ir.Func{Name: name, Class: ir.Entry}, training: training, values: map[*param]*ir.Value{}}
	fb.b.F = fb.f
	if training {
		fb.step = fb.f.NewValue(ir.Scalar(ir.I32), nil)
		fb.seed = fb.f.NewValue(ir.Scalar(ir.I32), nil)
	}
	return fb
}

func (l *lowerer) lower(o Options) *Result {
	l.loadConfig(o.Set)
	if len(l.errs.list) > 0 {
		return nil
	}
	lay, layouts := l.chooseLayout(o.Layout)
	t := l.trainBlock()
	if t == nil {
		return nil
	}
	f := l.trainFrame()
	before := len(l.errs.list)
	l.model = f.instantiate(t.model, nil, t.node, "")
	if l.model == nil || l.stopped {
		return nil
	}
	if lay != nil {
		lay.unnamed = len(l.errs.list) > before
	}
	l.mod.Name = t.model.decl.Name.Name
	l.meta("config", l.configAttrs())
	l.train(t)
	if lay != nil && !l.stopped {
		l.lowerLayout(lay, t, o.Compute)
	}
	if len(l.errs.list) > 0 {
		return nil
	}
	r := &Result{Module: l.mod, Layouts: layouts, Layout: "single", Config: l.configAttrs(), Warnings: l.warnings, Remarks: l.remarks}
	if lay != nil && lay.decl != nil {
		r.Layout = lay.decl.Name.Name
	}
	used := map[string]bool{}
	for _, a := range l.mod.Func("step").Args {
		if a.Role == ir.RoleParam {
			used[a.Path] = true
			r.Params++
			r.Elems += a.Value.Type.Elems()
		}
	}
	for _, p := range l.params {
		if !used[p.path] {
			r.Unused = append(r.Unused, p.path)
		}
	}
	return r
}

func (l *lowerer) mainFrame() *frame {
	return &frame{l: l, file: l.prog.main, vars: map[string]value{}, sizes: map[string]int{}}
}

// trainFrame is a frame of the file with the train block.
func (l *lowerer) trainFrame() *frame {
	f := l.mainFrame()
	f.file = l.home
	return f
}

func (l *lowerer) meta(head string, args []ir.Attr) {
	t := ir.Term{Head: head}
	for _, a := range args {
		t.Args = t.Args.With(a.Key, a.Val)
	}
	l.mod.Meta = append(l.mod.Meta, t)
}

// tick counts an evaluated expression; it is false once there are too many.
func (l *lowerer) tick(f *frame, n syntax.Node) bool {
	if l.stopped {
		return false
	}
	if l.steps++; l.steps > maxSteps {
		l.stop(f, n, "more than %d expressions to evaluate", maxSteps)
		return false
	}
	return true
}

// stop ends the lowering: the program is beyond a bound.
func (l *lowerer) stop(f *frame, n syntax.Node, format string, args ...any) {
	if !l.stopped {
		l.stopped = true
		f.errorf("E0218", n, format, args...)
	}
}

// enter checks the depth of a call or module that f enters at site.
func (l *lowerer) enter(f *frame, site syntax.Node, g *frame) bool {
	if g.depth > maxDepth {
		l.stop(f, site, "`%s` is entered inside itself, or %d calls deep", g.name, maxDepth)
	}
	if l.errs.full() {
		l.stopped = true
	}
	return !l.stopped
}

// addParam registers a parameter of the model.
func (l *lowerer) addParam(f *frame, n syntax.Node, p *param) {
	if len(l.params) >= maxParams {
		l.stop(f, n, "more than %d parameters", maxParams)
		return
	}
	l.params = append(l.params, p)
	l.paths[p.path] = p
}

// note registers an instance of the model.
func (l *lowerer) note(i *instance) { l.instances = append(l.instances, i) }

// boundary remembers what a module gives, for rules about its borders: a
// tensor, or each one of several values.
func (l *lowerer) boundary(i *instance, v value) {
	if several, ok := v.(tuple); ok {
		for _, w := range several {
			l.boundary(i, w)
		}
		return
	}
	t, ok := v.(tensor)
	if !ok || l.fb == nil || !l.fb.training {
		return
	}
	for _, o := range l.bounds[i.decl] {
		if o.Equal(t.v.Type) {
			return
		}
	}
	l.bounds[i.decl] = append(l.bounds[i.decl], t.v.Type)
}

// renumber gives the values of a finished function numbers in the order of the
// text.
func renumber(f *ir.Func) *ir.Func {
	n := 0
	set := func(v *ir.Value) { v.ID = n; n++ }
	for _, a := range f.Args {
		set(a.Value)
	}
	for _, o := range f.Ops {
		for _, r := range o.Results {
			set(r)
		}
	}
	// nextID of f counts what was never placed; a fresh function does not.
	g := &ir.Func{Name: f.Name, Class: f.Class, Attrs: f.Attrs, Args: f.Args, Ops: f.Ops, Results: f.Results}
	g.Adopt(n - 1)
	return g
}
