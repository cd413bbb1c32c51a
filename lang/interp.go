package lang

import (
	"slices"

	"ptc/ir"
	"ptc/lang/syntax"
)

// interp is the state of one evaluation: what the program is, what was made of it
// so far, and how much of the bounds is used up.
type interp struct {
	prog        *Program
	errs        reporter
	config      []*entry
	configIndex map[string]*entry

	model     *instance
	params    []*param    // in the order of declaration
	absent    []*param    // those whose condition is false
	instances []*instance // of the model, innermost first
	// bounds are the types that cross the borders of each module: arguments
	// and results of apply in @step.
	bounds map[*syntax.Module][]ir.Type

	fb      *funcBuilder    // the function being built; nil at compile time
	steps   int             // expressions evaluated
	modules int             // instances made
	stopped bool            // a bound was exceeded
	missing map[string]bool // imports that were reported to be missing
}

// newInterp evaluates p, whose config it reads first.
func newInterp(p *Program, set []Override) *interp {
	in := &interp{prog: p, bounds: map[*syntax.Module][]ir.Type{}, missing: map[string]bool{}}
	in.loadConfig(set)
	return in
}

// frame is a frame of a file.
func (in *interp) frame(g *file) *frame {
	return &frame{in: in, file: g, vars: map[string]value{}, sizes: map[string]int{}}
}

// tick counts an evaluated expression; it is false once there are too many.
func (in *interp) tick(f *frame, n syntax.Node) bool {
	if in.stopped {
		return false
	}
	if in.steps++; in.steps > maxSteps {
		in.stop(f, n, "more than %d expressions to evaluate", maxSteps)
		return false
	}
	return true
}

// stop ends the lowering: the program is beyond a bound.
func (in *interp) stop(f *frame, n syntax.Node, format string, args ...any) {
	if !in.stopped {
		in.stopped = true
		f.errorf("E0218", n, format, args...)
	}
}

// enter checks the depth of a call or module that f enters at site.
func (in *interp) enter(f *frame, site syntax.Node, g *frame) bool {
	if g.depth > maxDepth {
		in.stop(f, site, "`%s` is entered inside itself, or %d calls deep", g.name, maxDepth)
	}
	if in.errs.full() {
		in.stopped = true
	}
	return !in.stopped
}

// addParam registers a parameter of the model.
func (in *interp) addParam(f *frame, n syntax.Node, p *param) {
	if len(in.params) >= maxParams {
		in.stop(f, n, "more than %d parameters", maxParams)
		return
	}
	in.params = append(in.params, p)
}

// note registers an instance of the model.
func (in *interp) note(i *instance) { in.instances = append(in.instances, i) }

// boundary remembers what a module gives, for rules about its borders: a
// tensor, or each one of several values.
func (in *interp) boundary(i *instance, v value) {
	if several, ok := v.(tuple); ok {
		for _, w := range several {
			in.boundary(i, w)
		}
		return
	}
	t, ok := v.(tensor)
	if !ok || in.fb == nil || !in.fb.training {
		return
	}
	for _, o := range in.bounds[i.decl] {
		if o.Equal(t.v.Type) {
			return
		}
	}
	in.bounds[i.decl] = append(in.bounds[i.decl], t.v.Type)
}

// selects is whether a pattern is of any parameter. One that a condition leaves
// out counts: a program says the same of it whatever its config is.
func (in *interp) selects(pattern string) bool {
	for _, p := range slices.Concat(in.params, in.absent) {
		if matchPath(pattern, p.path) {
			return true
		}
	}
	return false
}
