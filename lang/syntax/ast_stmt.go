package syntax

// Stmt is a statement of a function: [Assign], [Return], [For] or [If].
type Stmt interface {
	Node
	stmt()
}

// Block is `{ statements }`.
type Block struct {
	Span
	Stmts []Stmt `parser:"'{' ';'* ( @@ ';'* )* '}'"`
}

// Assign is `a = expr`, or `a, b = expr` for an expression of several values.
// `a : type = expr` says what type the value has; Type is nil where nothing does.
type Assign struct {
	Span
	Names []*Ident `parser:"@@ ( ',' @@ )*"`
	Type  Type     `parser:"( ':' @@ )?"`
	Value Expr     `parser:"'=' @@"`
}

// Return is `return expr {, expr}`.
type Return struct {
	Span
	Values []Expr `parser:"'return' @@ ( ',' @@ )*"`
}

// For is `for name in expr { … }`, unrolled at compile time or a repeated
// block.
type For struct {
	Span
	Var  *Ident `parser:"'for' @@"`
	Over Expr   `parser:"'in' @@"`
	Body *Block `parser:"@@"`
}

// If is `if cond { … } else if cond { … } else { … }`; the conditions are
// known at compile time. Only the last of Else has no condition.
type If struct {
	Span
	Cond Expr    `parser:"'if' @@"`
	Then *Block  `parser:"@@"`
	Else []*Else `parser:"@@*"`
}

// Else is one `else` branch; Cond is nil for the last one.
type Else struct {
	Span
	Cond Expr   `parser:"'else' ( 'if' @@ )?"`
	Body *Block `parser:"@@"`
}

func (*Assign) stmt() {}
func (*Return) stmt() {}
func (*For) stmt()    {}
func (*If) stmt()     {}
