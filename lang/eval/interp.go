package eval

import (
	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Interp is one evaluation: the program, what was made of it so far, and how much of the
// bounds is used up.
type Interp struct {
	Prog   *source.Program
	Errs   source.Reporter
	Config *Config
	Model  *Model

	Builder *Builder // the function being built; nil at compile time
	work    Work     // what was evaluated: expressions and instances
	Stopped bool     // a bound was exceeded, or a list is irregular

	// Lora is the adapters that the train block asks for.
	Lora Lora
	// Omits is whether instances of a list may be omitted; where it is nil, all are
	// written. Irregular is then a list that must be written, or empty.
	Omits     func(list string) bool
	Irregular string

	// Watch, where it is not nil, sees what expressions and names evaluate to.
	Watch func(Seen) bool
}

// New evaluates p, whose config it reads first.
func New(p *source.Program, set []Override) *Interp { return NewWatched(p, set, nil, nil) }

// NewWatched is New with entries of the config that are to be ports, nil for none, and
// with what sees the values, those of the config among them.
func NewWatched(p *source.Program, set []Override, ports *Ports, watch func(Seen) bool) *Interp {
	in := &Interp{Prog: p, Model: &Model{Bounds: map[*syntax.Module][]ir.Type{}}, Watch: watch}
	ports.begin()
	in.Config = &Config{in: in, ports: ports, index: map[string]*entry{}}
	in.Config.load(set)
	return in
}

// tick counts an evaluated expression; it is false once there are too many.
func (in *Interp) tick(f *Frame, n syntax.Node) bool {
	if in.Stopped {
		return false
	}
	if in.work.Steps++; in.work.Steps > source.MaxSteps {
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
