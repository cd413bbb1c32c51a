package eval

import (
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Frame is one running function or module body: what its names are bound to.
type Frame struct {
	*Trace
	Interp *Interp
	inst   *value.Instance // whose members are seen; may be nil
	Vars   map[string]value.Value
	// Sizes has, for each axis of the tensors seen in this frame, its size, or
	// -1 where they differ.
	Sizes map[string]int
	Scope string // of emitted operations
	// Common are the names of further arguments that someone else takes from the
	// call that the frame makes.
	Common []string
}

// NewFrame is a frame of a file.
func (in *Interp) NewFrame(g *source.File) *Frame {
	return &Frame{Trace: &Trace{errs: &in.Errs, file: g}, Interp: in, Vars: map[string]value.Value{}, Sizes: map[string]int{}}
}

// Child is a frame for something that f calls at site.
func (f *Frame) Child(site syntax.Node, name string, file *source.File, inst *value.Instance) *Frame {
	c := &Frame{Trace: f.callee(site, name, file), Interp: f.Interp, inst: inst, Vars: map[string]value.Value{}, Sizes: map[string]int{}, Scope: f.Scope}
	if inst != nil && inst.Path != "" {
		c.Scope = inst.Path
	}
	return c
}
