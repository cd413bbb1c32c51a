package eval

import (
	"slices"
	"strings"

	"ptc/internal/diag"
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
	// Bounds are the types that cross the borders of each module: arguments
	// and results of apply in @step.
	Bounds map[*syntax.Module][]ir.Type

	Builder *Builder        // the function being built; nil at compile time
	steps   int             // expressions evaluated
	modules int             // instances made
	Stopped bool            // a bound was exceeded, or a list is irregular
	missing map[string]bool // imports that were reported to be missing

	// Adapters are those that the train block asks for. An evaluation with Products sees
	// how products read such parameters, and one with Contractions, which is that, makes
	// them.
	Adapters     []*Adapters
	Products     map[string]Contraction
	Contractions map[string]Contraction

	// Omits is whether instances of a list may be omitted; where it is nil, all are
	// written. Irregular is then a list that must be written, or empty.
	Omits     func(list string) bool
	Irregular string

	ports *Ports // nil: every number of the config is a constant

	// Watch, where it is not nil, sees what expressions and names evaluate to.
	Watch func(Seen) bool
}

// Override sets a config entry, as --set key=value does.
type Override struct{ Key, Value string }

// entry is one value of the config, evaluated on demand, so that entries may
// refer to later ones.
type entry struct {
	name  string
	node  *syntax.Entry
	file  *source.File
	set   *Override
	state entryState
	val   value.Value
}

type entryState uint8

const (
	pending entryState = iota
	running
	evaluated
)

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

// Absent are the parameters whose condition is false.
func (in *Interp) Absent() []*value.Param { return in.absent }

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

// Frame is one running function, module body or block: where names are looked
// up and mistakes are reported.
type Frame struct {
	Interp *Interp
	file   *source.File    // whose top-level names are seen
	inst   *value.Instance // whose members are seen; may be nil
	Vars   map[string]value.Value
	// Sizes has, for each axis of the tensors seen in this frame, its size, or
	// -1 where they differ.
	Sizes map[string]int
	Scope string // of emitted operations

	up   *Frame      // caller
	site syntax.Node // the call, in the caller's code
	// Common are the names of further arguments that someone else takes from the
	// call that the frame makes.
	Common []string
	name   string // of the function
	depth  int

	result value.Value // set by return
	done   bool
}

// Child is a frame for something that f calls at site.
func (f *Frame) Child(site syntax.Node, name string, file *source.File, inst *value.Instance) *Frame {
	c := &Frame{Interp: f.Interp, file: file, inst: inst, Vars: map[string]value.Value{}, Sizes: map[string]int{},
		Scope: f.Scope, up: f, site: site, name: name, depth: f.depth + 1}
	if inst != nil && inst.Path != "" {
		c.Scope = inst.Path
	}
	return c
}

// Report adds an error found while the frame runs. One in a file of the standard
// library is moved to where the user's code called, and the place in the
// library becomes a note; what the user's code gave it, such as a word that names
// nothing, is shown where it is written. Then come the calls that led there, but for that of
// the train block. name, where not empty, is the axis or word at fault: the place
// is where the user's call has it, if it does.
func (f *Frame) Report(e *diag.Error) { f.ReportNamed(e, "") }

func (f *Frame) ReportNamed(e *diag.Error, name string) {
	inner := f
	if f.file.Std {
		for f.up != nil && f.file.Std {
			f = f.up
		}
		if inLibrary := strings.HasPrefix(e.Pos.File, source.StdPrefix); inLibrary && !f.file.Std && inner.outer() != nil {
			site := inner.outer()
			e.Note = append(e.Note, diag.Note{Pos: e.Pos, Msg: "found in `" + inner.name + "`"})
			if n := naming(site, name); n != nil {
				site = n
			}
			e.Pos, e.Len = site.At(), site.Len()
		}
	}
	for n := 0; f.up != nil && f.up.up != nil && !f.up.file.Std && n < 3; n++ {
		e.Note = append(e.Note, diag.Note{Pos: f.site.At(), Msg: "in a call of `" + f.name + "`"})
		f = f.up
	}
	f.Interp.Errs.Add(e)
}

// outer is the call in the user's code that led into the standard library.
func (f *Frame) outer() syntax.Node {
	var site syntax.Node
	for ; f != nil && f.file.Std; f = f.up {
		site = f.site
	}
	if f == nil {
		return nil
	}
	return site
}

// Errorf reports an error at a node and gives the unknown value.
func (f *Frame) Errorf(code string, n syntax.Node, format string, args ...any) value.Value {
	f.Report(source.ErrorAt(code, n, format, args...))
	return value.Unknown{}
}

// Wants is Errorf with what was expected and a hint.
func (f *Frame) Wants(code string, n syntax.Node, want, hint, format string, args ...any) value.Value {
	e := source.ErrorAt(code, n, format, args...)
	e.Want, e.Hint = want, hint
	f.Report(e)
	return value.Unknown{}
}

// naming is where the arguments of a call name an axis, or nil.
func naming(n syntax.Node, axis string) (found syntax.Node) {
	var args []*syntax.Arg
	switch x := n.(type) {
	case *syntax.Call:
		args = x.Args
	case *syntax.Index:
		args = x.Args
	default:
		return nil
	}
	if axis == "" {
		return nil
	}
	for _, a := range args {
		if a.Name != nil && a.Name.Name == axis {
			return a.Name
		}
		if a.Name == nil {
			continue
		}
		syntax.Inspect(a.Value, func(n syntax.Node) bool {
			if id, ok := n.(*syntax.Name); ok && id.Name == axis && found == nil {
				found = id
			}
			return found == nil
		})
		if found != nil {
			return found
		}
	}
	return nil
}
