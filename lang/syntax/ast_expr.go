package syntax

import "strings"

// Expr is an expression: [Name], [Int], [Float], [String], [Bool],
// [Quantity], [Dot], [Call], [Index], [Range], [Tuple], [List], [Unary],
// [Binary] or [Cond]. Parentheses that only group are not kept.
type Expr interface {
	Node
	expr()
}

// Name is a plain name; also a word that begins with a digit, such as `1f1b`.
type Name struct {
	Span
	Name string
}

// Int is an integer literal.
type Int struct {
	Span
	Value int64
}

// Float is a literal with a fraction or an exponent, or `inf`.
type Float struct {
	Span
	Value float64
}

// String is a string literal; Value has its escapes resolved.
type String struct {
	Span
	Value string
}

// Bool is `true` or `false`.
type Bool struct {
	Span
	Value bool
}

// Quantity is a number with a unit, `80 GiB`.
type Quantity struct {
	Span
	Number float64
	Unit   string
}

// units are the words that make a number a [Quantity], in bytes.
var units = map[string]float64{
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
}

// Bytes is the quantity in bytes.
func (q *Quantity) Bytes() float64 { return q.Number * units[q.Unit] }

// Dot is `x.name`: a name of an imported module, or a method.
type Dot struct {
	Span
	X   Expr
	Sel *Ident
}

// Call is `fun(args)`.
type Call struct {
	Span
	Fun  Expr
	Args []*Arg
}

// Index is `x[args]`: `wte[vocab = tokens]`, `Block[layers]`.
type Index struct {
	Span
	X    Expr
	Args []*Arg
}

// Arg is an argument, with Name nil where it is positional.
type Arg struct {
	Span
	Name  *Ident
	Value Expr
}

// Range is `lo..hi` in an index, hi excluded; either end may be nil.
type Range struct {
	Span
	Lo, Hi Expr
}

// Tuple is `(a, b)`, or `(a,)`.
type Tuple struct {
	Span
	Elems []Expr
}

// List is `[a, b]`.
type List struct {
	Span
	Elems []Expr
}

// Unary is `-x` or `not x`.
type Unary struct {
	Span
	Op string
	X  Expr
}

// Binary is `x op y`; Op is one of `or and == != < <= > >= + - * / % **`.
type Binary struct {
	Span
	Op    string
	OpPos Pos
	X, Y  Expr
}

// Cond is `then if cond else els`.
type Cond struct {
	Span
	Then, Cond, Else Expr
}

func (*Name) expr()     {}
func (*Int) expr()      {}
func (*Float) expr()    {}
func (*String) expr()   {}
func (*Bool) expr()     {}
func (*Quantity) expr() {}
func (*Dot) expr()      {}
func (*Call) expr()     {}
func (*Index) expr()    {}
func (*Range) expr()    {}
func (*Tuple) expr()    {}
func (*List) expr()     {}
func (*Unary) expr()    {}
func (*Binary) expr()   {}
func (*Cond) expr()     {}

// Type is the type of a parameter or result: [TensorType], [NamedType],
// [LikeType] or [TupleType].
type Type interface {
	Node
	typ()
}

// TensorType is `[batch, seq]` or `i32[batch, seq]`; DType is nil where none
// is given.
type TensorType struct {
	Span
	DType *Ident
	Axes  []*Axis
}

// Axis is `name`, or `name = size` to give the size where the axis is made.
type Axis struct {
	Span
	Name *Ident
	Size Expr
}

// NamedType is a bare word: a scalar dtype (`f32`), or `axis` for a module's
// axis parameter.
type NamedType struct {
	Span
	Name string
}

// LikeType is `like param` or `f32 like param`: the axes of something else.
type LikeType struct {
	Span
	DType *Ident
	Of    *Ident
}

// TupleType is `(type, type)`, the result of a function of several values.
type TupleType struct {
	Span
	Elems []Type
}

func (*TensorType) typ() {}
func (*NamedType) typ()  {}
func (*LikeType) typ()   {}
func (*TupleType) typ()  {}

// Text is a string literal that the grammar captures without its quotes.
type Text string

// Capture resolves the escapes; the lexer has checked them.
func (t *Text) Capture(values []string) error {
	s, err := unquote(strings.Join(values, ""))
	*t = Text(s)
	return err
}
