package names

import (
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Kind is what a symbol is.
type Kind uint8

const (
	Axis      Kind = iota // of tensors; also an entry of the config, which has its size
	Module                // or model, or optimizer
	Function              // at top level, or in a module
	Formal                // a parameter of a function or module
	Parameter             // that is trained, or an optimizer's state
	SubModule
	Constant // of `let`
	Local
	Import
	Layout
	MeshAxis
	Builtin
	Field // of a batch
)

var kinds = [...]string{"axis", "module", "function", "parameter", "trained parameter", "sub-module", "constant",
	"variable", "import", "layout", "mesh axis", "built-in function", "field of the batch"}

func (k Kind) String() string { return kinds[k] }

// Symbol is what a name stands for.
type Symbol struct {
	Kind Kind
	Name string
	// File and At are where it is declared; nil for what the language declares, and for
	// an axis without an entry in the config.
	File *source.File
	At   *syntax.Ident
	Decl syntax.Node // the declaration as a whole
	// Owner is the function, module or layout within which it is known; nil for what is
	// known in the file.
	Owner syntax.Node
	// Target is the file of an import.
	Target *source.File
	// Named is whether a name of kind Axis stands where an axis is wanted; one that does
	// not, and has no entry, is a plain word such as `bytes`.
	Named bool
	// Own is Named in a file of the user's.
	Own bool
	// OfAxis is whether a parameter takes the name of an axis.
	OfAxis bool
}

// Doc is the comment above its declaration.
func (s *Symbol) Doc() string { return syntax.Doc(s.Decl) }
