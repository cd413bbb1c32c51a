package syntax

import "strings"

// Names is `names family { … }`: how another program calls the parameters of the
// model of this file, and how their elements lie there.
type Names struct {
	Span
	Doc    string
	Family *Ident      `parser:"'names' @@"`
	Items  []NamesItem `parser:"'{' ';'* ( @@ ';'* )* '}'"`
}

// NamesItem is a part of [Names]: [TensorRow], [SkipRow], [KeyRows], or an [Entry]
// for what is said once.
type NamesItem interface {
	Node
	namesItem()
}

// TensorRow is `"name" = piece`, or `"name" = concat(piece, piece, over = 0)` of a
// tensor that is several parameters one after the other.
type TensorRow struct {
	Span
	Doc    string
	Tensor Text     `parser:"@String '='"`
	Concat []*Piece `parser:"( 'concat' '(' @@ ( (?= ',' ~'over' ) ',' @@ )* ',' 'over' '='"`
	Over   Expr     `parser:"@@ ')'"`
	Piece  *Piece   `parser:"| @@ )"` // nil where Concat is not
}

// Piece is `blocks.{i}.moe.w1[experts = e] as [ffn, embed]`: a parameter, or what it
// has at positions of an axis, with the order of its axes in the other program.
type Piece struct {
	Span
	Path *OpenPath `parser:"@@"`
	Held []*Place  `parser:"( '[' @@ ( ',' @@ )* ']' )?"`
	Dims Expr      `parser:"( 'as' @@ )?"` // nil: the parameter's own axes
}

// Place is `axis = variable`.
type Place struct {
	Span
	Axis *Ident `parser:"@@ '='"`
	Var  *Ident `parser:"@@"`
}

// OpenPath is the path of a parameter in which numbers are open: `blocks.{i}.w`.
type OpenPath struct {
	Span
	Parts []*PathPart `parser:"@@ ( '.' @@ )*"`
}

// PathPart is a name or number of a path, or an open number.
type PathPart struct {
	Span
	Name string `parser:"( @( Ident | Int )"`
	Var  string `parser:"| '{' @Ident '}' )"` // where Name is empty
}

// SkipRow is `skip "name"`: a tensor that a file may have and nothing reads.
type SkipRow struct {
	Span
	Doc    string
	Tensor Text `parser:"'skip' @String"`
}

// KeyRows is `config { key = expr … }`: what the other program calls the entries of
// the config.
type KeyRows struct {
	Span
	Doc  string
	Rows []*KeyRow `parser:"'config' '{' ';'* ( @@ ';'* )* '}'"`
}

// KeyRow is `key, section.key = expr`.
type KeyRow struct {
	Span
	Doc   string
	Keys  []*DottedKey `parser:"@@ ( ',' @@ )*"`
	Value Expr         `parser:"'=' @@"`
}

// DottedKey is a key inside of objects.
type DottedKey struct {
	Span
	Parts []string `parser:"@Ident ( '.' @Ident )*"`
}

// String is the key with its points.
func (k *DottedKey) String() string { return strings.Join(k.Parts, ".") }

// String is the path as written, without spaces.
func (p *OpenPath) String() string {
	parts := make([]string, len(p.Parts))
	for i, x := range p.Parts {
		if parts[i] = x.Name; x.Name == "" {
			parts[i] = "{" + x.Var + "}"
		}
	}
	return strings.Join(parts, ".")
}

// Pieces are what the tensor consists of, in order.
func (r *TensorRow) Pieces() []*Piece {
	if r.Piece != nil {
		return []*Piece{r.Piece}
	}
	return r.Concat
}

func (*Names) decl() {}

func (*TensorRow) namesItem() {}
func (*SkipRow) namesItem()   {}
func (*KeyRows) namesItem()   {}
func (*Entry) namesItem()     {}
