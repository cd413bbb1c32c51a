package eval

import (
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Seen is what a node of a program evaluated to, once: an expression, or the name that
// something is declared by. One of a module that is instantiated several times is seen
// as often.
type Seen struct {
	File  *source.File
	Node  syntax.Node
	Value value.Value
	Scope string // the path of the instance; empty for the model and outside of it
	// Axes are what the node stands for where names of axes are wanted; the value is
	// then nil.
	Axes []string
}

// watch tells Interp.Watch, which ends the evaluation where it returns false: nobody
// waits for its result any more.
func (f *Frame) watch(n syntax.Node, v value.Value, axes []string) {
	in := f.Interp
	if in.Watch == nil || in.Stopped {
		return
	}
	if !in.Watch(Seen{f.file, n, v, f.Scope, axes}) {
		in.Stopped = true
	}
}
