package train

import (
	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Block is a train block, resolved.
type Block struct {
	Node    *syntax.Train
	Model   value.ModuleRef
	entries map[string]*syntax.Entry
	Data    *value.Data
	freeze  []string // patterns of parameters that are not trained
	metrics []*syntax.Entry
}

// Lowerer makes the functions of a train block.
type Lowerer struct {
	*eval.Interp
	Mod      *ir.Module
	home     *source.File // of the train block
	Warnings []string
	Remarks  []string
	Built    []*eval.Builder // @step and @eval
}

// Reads is whether a step reads the parameter.
func (l *Lowerer) Reads(p *value.Param) bool { return l.Built[0].Reads(p) }

// Frame is a frame of the file with the train block.
func (l *Lowerer) Frame() *eval.Frame { return l.NewFrame(l.home) }
