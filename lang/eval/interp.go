package eval

import (
	"slices"

	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Interp is the state of one evaluation: what the program is, what was made of it
// so far, and how much of the bounds is used up.
type Interp struct {
	Prog        *source.Program
	Errs        source.Reporter
	config      []*entry
	configIndex map[string]*entry

	Model     *value.Instance
	Params    []*value.Param    // in the order of declaration
	absent    []*value.Param    // those whose condition is false
	Instances []*value.Instance // of the model, innermost first
	// bounds are the types that cross the borders of each module: arguments
	// and results of apply in @step.
	Bounds map[*syntax.Module][]ir.Type

	Builder *Builder        // the function being built; nil at compile time
	steps   int             // expressions evaluated
	modules int             // instances made
	Stopped bool            // a bound was exceeded
	missing map[string]bool // imports that were reported to be missing
}

// New evaluates p, whose config it reads first.
func New(p *source.Program, set []Override) *Interp {
	in := &Interp{Prog: p, Bounds: map[*syntax.Module][]ir.Type{}, missing: map[string]bool{}}
	in.loadConfig(set)
	return in
}

// NewFrame is a frame of a file.
func (in *Interp) NewFrame(g *source.File) *Frame {
	return &Frame{Interp: in, file: g, Vars: map[string]value.Value{}, Sizes: map[string]int{}}
}

// tick counts an evaluated expression; it is false once there are too many.
func (in *Interp) tick(f *Frame, n syntax.Node) bool {
	if in.Stopped {
		return false
	}
	if in.steps++; in.steps > source.MaxSteps {
		in.stop(f, n, "more than %d expressions to evaluate", source.MaxSteps)
		return false
	}
	return true
}

// stop ends the lowering: the program is beyond a bound.
func (in *Interp) stop(f *Frame, n syntax.Node, format string, args ...any) {
	if !in.Stopped {
		in.Stopped = true
		f.Errorf("E0218", n, format, args...)
	}
}

// enter checks the depth of a call or module that f enters at site.
func (in *Interp) enter(f *Frame, site syntax.Node, g *Frame) bool {
	if g.depth > source.MaxDepth {
		in.stop(f, site, "`%s` is entered inside itself, or %d calls deep", g.name, source.MaxDepth)
	}
	if in.Errs.Full() {
		in.Stopped = true
	}
	return !in.Stopped
}

// addParam registers a parameter of the model.
func (in *Interp) addParam(f *Frame, n syntax.Node, p *value.Param) {
	if len(in.Params) >= source.MaxParams {
		in.stop(f, n, "more than %d parameters", source.MaxParams)
		return
	}
	in.Params = append(in.Params, p)
}

// note registers an instance of the model.
func (in *Interp) note(i *value.Instance) { in.Instances = append(in.Instances, i) }

// boundary remembers what a module gives, for rules about its borders: a
// tensor, or each one of several values.
func (in *Interp) boundary(i *value.Instance, v value.Value) {
	if several, ok := v.(value.Tuple); ok {
		for _, w := range several {
			in.boundary(i, w)
		}
		return
	}
	t, ok := v.(value.Tensor)
	if !ok || in.Builder == nil || !in.Builder.Training {
		return
	}
	for _, o := range in.Bounds[i.Decl] {
		if o.Equal(t.V.Type) {
			return
		}
	}
	in.Bounds[i.Decl] = append(in.Bounds[i.Decl], t.V.Type)
}

// Selects is whether a pattern is of any parameter. One that a condition leaves
// out counts: a program says the same of it whatever its config is.
func (in *Interp) Selects(pattern string) bool {
	for _, p := range slices.Concat(in.Params, in.absent) {
		if value.MatchPath(pattern, p.Path) {
			return true
		}
	}
	return false
}
