package syntax

import (
	"math"

	"github.com/alecthomas/participle/v2/lexer"
)

// Machine is `machine name { … }`, the one declaration of a .ptm file: what devices,
// hosts and links can do, and where each number is from.
type Machine struct {
	Span
	Doc   string
	Name  *Ident        `parser:"'machine' @@"`
	Items []MachineItem `parser:"'{' ';'* ( @@ ';'* )* '}'"`
}

// MachineItem is a part of a [Machine]: [Section] or [Fact].
type MachineItem interface {
	Node
	machineItem()
}

// Section is `device { … }`, `host { … }`, `level name { … }` or `kernels { … }`.
type Section struct {
	Span
	Doc   string
	Kind  string  `parser:"@( 'device' | 'host' | 'kernels' | 'level' )"`
	Name  *Ident  `parser:"@@?"`
	Facts []*Fact `parser:"'{' ';'* ( @@ ';'* )* '}'"`
}

// Fact is `key = value from "source"`, `key of = value from "source"`, or, in a table
// of kernels, `"key" = value from "source"`.
type Fact struct {
	Span
	Doc    string
	Kernel *Quoted `parser:"( @@"`
	Key    *Ident  `parser:"| @@"`
	Of     *Ident  `parser:"@@? )"`
	Value  Datum   `parser:"'=' @@"`
	Source *Source `parser:"@@?"` // nil: none given
}

// Quoted is a string with its place.
type Quoted struct {
	Span
	Text Text `parser:"@String"`
}

// Source is `from "where a number is from"`.
type Source struct {
	Span
	Text Text `parser:"'from' @String"`
}

// Datum is the value of a [Fact]: [String], [Bool] or [Measure].
type Datum interface {
	Node
	datum()
}

// Measure is a number with its unit: `989.5 TFLOP/s`.
type Measure struct {
	Span
	Number float64 // as written, before its unit
	Unit   *Unit   // nil: none
}

// Unit is `us` or `TFLOP/s`.
type Unit struct {
	Span
	Of, Per string // Per is empty without a `/`
}

// String is the unit as written.
func (u *Unit) String() string {
	if u.Per == "" {
		return u.Of
	}
	return u.Of + "/" + u.Per
}

func (*Machine) decl() {}

func (*Section) machineItem() {}
func (*Fact) machineItem()    {}

func (*String) datum()  {}
func (*Bool) datum()    {}
func (*Measure) datum() {}

// parseDatum is the production Datum of the grammar.
func parseDatum(lex *lexer.PeekingLexer) (Datum, error) {
	p := &exprParser{lex: lex}
	t := *p.peek()
	switch {
	case t.Type == tokString, is(t, "true"), is(t, "false"):
		x, err := p.operand()
		if err != nil {
			return nil, err
		}
		return x.(Datum), nil
	case is(t, "-"), is(t, "inf"), t.Type == tokInt, t.Type == tokFloat:
		return p.measure()
	}
	e := unexpected(t, "a number, a string, `true` or `false`")
	if t.Type == tokWord {
		e.Hint = apart(t.Value)
	}
	return nil, e
}

// measure parses a number, which may have a sign, and its unit. What a sign or `inf` may
// not stand in is for the reader of the tree to say.
func (p *exprParser) measure() (Datum, error) {
	from, sign := Pos(p.peek().Pos), 1.0
	if p.accept("-") {
		sign = -1
	}
	t := *p.next()
	x, err := literal(t)
	if err != nil {
		return nil, err
	}
	m := &Measure{Number: sign * x}
	if p.atUnit(t) {
		if m.Unit, err = p.unit(); err != nil {
			return nil, err
		}
	}
	m.Span = p.span(from)
	return m, nil
}

// literal is the number that a token stands for.
func literal(t lexer.Token) (float64, error) {
	switch t.Type {
	case tokInt:
		if n, err := parseInt(t.Value); err == nil {
			return float64(n), nil
		}
	case tokFloat:
		if x, err := parseFloat(t.Value); err == nil {
			return x, nil
		}
	case tokKeyword:
		if is(t, "inf") {
			return math.Inf(1), nil
		}
	}
	return 0, unexpected(t, "a number") // or the lexer has reported it
}

// atUnit reports whether a unit follows the number: a word that is one, or any other on
// the number's line that begins nothing else.
func (p *exprParser) atUnit(number lexer.Token) bool {
	t := *p.peek()
	if t.Type != tokIdent || is(t, "from") || t.Pos.Line != number.Pos.Line {
		return false
	}
	m := p.mark()
	p.next()
	after := *p.peek()
	p.back(m)
	if is(after, "=") || is(after, "{") {
		return false
	}
	_, known := measures[t.Value]
	return known || is(after, "/") || after.Type != tokIdent || is(after, "from")
}

// unit parses `us` or `TFLOP/s`.
func (p *exprParser) unit() (*Unit, error) {
	from := Pos(p.peek().Pos)
	of := *p.next()
	u := &Unit{Of: of.Value}
	per := of
	if p.accept("/") {
		if per = *p.peek(); per.Type != tokIdent || is(per, "from") {
			return nil, unexpected(per, "a unit of time, such as `s`")
		}
		p.next()
		u.Per = per.Value
	}
	u.Span = p.span(from)
	for _, t := range []lexer.Token{of, per} {
		if _, known := measures[t.Value]; !known {
			return nil, unknownMeasure(t)
		}
	}
	return u, nil
}
