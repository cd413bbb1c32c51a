package syntax

import "iter"

// File is one source file: its declarations in source order.
type File struct {
	Span
	Name  string // as the user gave it
	Decls []Decl
}

// Decl is a top-level declaration: [Import], [Config], [Module] (which is
// also a model or an optimizer), [Fn], [Train], [Layout], [Names], [Sweep] or [Machine].
type Decl interface {
	Node
	decl()
}

// Decls are the declarations of one type, in order; none of a file without a tree.
func Decls[D Decl](f *File) (out []D) {
	if f == nil {
		return nil
	}
	for _, d := range f.Decls {
		if d, ok := d.(D); ok {
			out = append(out, d)
		}
	}
	return out
}

// Member is a part of a [Module]: [ParamDecl], [SubModule], [Let] or [Fn].
type Member interface {
	Node
	// Declares are the names that it declares.
	Declares() []*Ident
}

// Ident is a name with its place.
type Ident struct {
	Span
	Name string `parser:"@Ident"`
}

// Import is `import std.nn`, `import std.nn as n` or `import "dir/file.ptl" as n`.
type Import struct {
	Span
	Doc   string
	File  Text     `parser:"'import' ( @String"` // the quoted path; empty for a dotted one
	Parts []*Ident `parser:"| @@ ( '.' @@ )* )"` // std, nn; empty for a quoted path
	As    *Ident   `parser:"( 'as' @@ )?"`       // nil: the last part, or the file's base name
}

// Config is `config { name = expr … }`: the sizes and choices of the file.
type Config struct {
	Span
	Doc     string
	Entries []*Entry `parser:"'config' '{' ';'* ( @@ ';'* )* '}'"`
}

// Entry is `key = expr` in a config, a train block, a directive's options, or
// by itself in a layout.
type Entry struct {
	Span
	Doc   string
	Key   *Ident `parser:"@@"`
	Value Expr   `parser:"'=' @@"`
}

// Module is a module, model or optimizer, as Kind says.
type Module struct {
	Span
	Doc     string
	Kind    string   `parser:"@( 'module' | 'model' | 'optimizer' )"`
	Name    *Ident   `parser:"@@"`
	Params  []*Param `parser:"( '(' ( @@ ( (?= ',' ~')' ) ',' @@ )* ','? )? ')' )?"`
	Members []Member `parser:"'{' ';'* ( @@ ';'* )* '}'"`
}

// Param is a parameter of a module or function: `x`, `x: type`, `x = expr` or
// `x: type = expr`. The type of a module's axis parameter is the [NamedType]
// `axis`.
type Param struct {
	Span
	Name    *Ident `parser:"@@"`
	Type    Type   `parser:"( ':' @@ )?"`
	Default Expr   `parser:"( '=' @@ )?"`
}

// ParamDecl is `param a, b : type ~ init no_decay when condition`, or `state a, b :
// type ~ init` in an optimizer. The words after the initial value are words only
// there: a sub-module may be called `when`.
type ParamDecl struct {
	Span
	Doc   string
	Kind  string   `parser:"@( 'param' | 'state' )"`
	Names []*Ident `parser:"@@ ( ',' @@ )*"`
	Type  Type     `parser:"':' @@"`
	Init  Expr     `parser:"( '~' @@ )?"`                                           // nil: none given
	Decay *Ident   `parser:"( (?= ( 'decay' | 'no_decay' ) ~( ':' | ',' ) ) @@ )?"` // decay, no_decay; nil: as its axes have it
	When  Expr     `parser:"( (?= 'when' ~( ':' | ',' ) ) 'when' @@ )?"`            // nil: always
}

// SubModule is `a, b : nn.MLP(act = gelu)` or `blocks : Block[layers]`.
type SubModule struct {
	Span
	Doc   string
	Names []*Ident `parser:"@@ ( ',' @@ )*"`
	Value Expr     `parser:"':' @@"`
}

// Let is `let name = expr`, a constant of a module.
type Let struct {
	Span
	Doc   string
	Name  *Ident `parser:"'let' @@"`
	Value Expr   `parser:"'=' @@"`
}

// Fn is a function, at top level or in a module.
type Fn struct {
	Span
	Doc    string
	Name   *Ident   `parser:"'fn' @@"`
	Params []*Param `parser:"'(' ( @@ ( (?= ',' ~')' ) ',' @@ )* ','? )? ')'"`
	Result Type     `parser:"( '->' @@ )?"` // nil: to be inferred
	Body   *Block   `parser:"@@"`
}

// Train is `train Model { key = expr …  lora { … }  metrics { … }  stop { … } }`.
type Train struct {
	Span
	Doc     string
	Model   *Ident     `parser:"'train' @@"`
	Loras   []*Lora    `parser:"'{' ';'* ( ( (?= 'lora' '{' ) @@"`
	Metrics []*Metrics `parser:"| (?= 'metrics' '{' ) @@"`
	Stops   []*Stop    `parser:"| (?= 'stop' '{' ) @@"`
	Entries []*Entry   `parser:"| @@ ) ';'* )* '}'"`
}

// Metrics is `metrics { accuracy = expr }` of a train block: scalars in addition to the loss.
type Metrics struct {
	Span
	Entries []*Entry `parser:"'metrics' '{' ';'* ( @@ ';'* )* '}'"`
}

// Stop is `stop { patience = 3  on = accuracy }` of a train block: when training ends early.
type Stop struct {
	Span
	Entries []*Entry `parser:"'stop' '{' ';'* ( @@ ';'* )* '}'"`
}

// Lora is `lora { rank = 8  on = blocks.*.attn.wq, blocks.*.attn.wv }` of a train
// block: which parameters get a low-rank adapter.
type Lora struct {
	Span
	On      []*Selected `parser:"'lora' '{' ';'* ( ( (?= 'on' '=' ) @@"`
	Entries []*Entry    `parser:"| @@ ) ';'* )* '}'"`
}

// Selected is `on = path, path`: the parameters that any of the paths selects.
type Selected struct {
	Span
	Paths []*Path `parser:"'on' '=' @@ ( ',' @@ )*"`
}

// Layout is a named list of directives or, with Auto, what a search for one is given.
type Layout struct {
	Span
	Doc        string
	Name       *Ident      `parser:"'layout' @@"`
	Auto       *Auto       `parser:"( @@"` // nil: an ordinary layout
	Directives []Directive `parser:"| '{' ';'* ( @@ ';'* )* '}' )"`
}

// Sweep is `sweep { lr = [1e-3, 3e-3]  seed = 1..3 }`: what `ptc sweep` goes through.
type Sweep struct {
	Span
	Doc  string
	Axes []*SweepAxis `parser:"'sweep' '{' ';'* ( @@ ';'* )* '}'"`
}

// SweepAxis is the values of one config entry: a list, or whole numbers from First to
// Last, which is nil for a list.
type SweepAxis struct {
	Span
	Key   *Ident `parser:"@@ '='"`
	First Expr   `parser:"@@"`
	Last  Expr   `parser:"( '..' @@ )?"`
}

func (*Import) decl() {}
func (*Config) decl() {}
func (*Module) decl() {}
func (*Fn) decl()     {}
func (*Train) decl()  {}
func (*Layout) decl() {}
func (*Sweep) decl()  {}

// Declares are the parameters, or states.
func (d *ParamDecl) Declares() []*Ident { return d.Names }

// Declares are the sub-modules.
func (d *SubModule) Declares() []*Ident { return d.Names }

// Declares is the constant.
func (d *Let) Declares() []*Ident { return []*Ident{d.Name} }

// Declares is the function.
func (d *Fn) Declares() []*Ident { return []*Ident{d.Name} }

// Declared goes through the names that the module declares, with the [Param] or [Member]
// that each is of.
func (m *Module) Declared() iter.Seq2[*Ident, Node] {
	return func(yield func(*Ident, Node) bool) {
		for _, p := range m.Params {
			if !yield(p.Name, p) {
				return
			}
		}
		for _, x := range m.Members {
			for _, id := range x.Declares() {
				if !yield(id, x) {
					return
				}
			}
		}
	}
}

// Fn is the module's function of a name, or nil.
func (m *Module) Fn(name string) *Fn {
	for _, x := range m.Members {
		if f, ok := x.(*Fn); ok && f.Name.Name == name {
			return f
		}
	}
	return nil
}

// Path is the dotted name that an import names, or the quoted path.
func (i *Import) Path() string {
	if i.File != "" {
		return string(i.File)
	}
	s := ""
	for n, p := range i.Parts {
		if n > 0 {
			s += "."
		}
		s += p.Name
	}
	return s
}
