package syntax

import "math"

// number parses a numeric literal, and the unit that may follow it.
func (p *exprParser) number() (Expr, error) {
	t := *p.next()
	from := Pos(t.Pos)
	var value float64
	var x Expr
	if t.Type == tokInt {
		n, err := parseInt(t.Value)
		if err != nil { // the lexer has reported it
			return nil, unexpected(t, "a number")
		}
		value, x = float64(n), &Int{Span: p.span(from), Value: n}
	} else {
		f, err := parseFloat(t.Value)
		if err != nil {
			return nil, unexpected(t, "a number")
		}
		value, x = f, &Float{Span: p.span(from), Value: f}
	}
	if u := p.peek(); u.Type == tokIdent && units[u.Value] != 0 {
		m := p.mark()
		unit := p.next().Value
		if !p.at("=") { // `a = 1 MB = 2` is two entries
			return &Quantity{Span: p.span(from), Number: value, Unit: unit}, nil
		}
		p.back(m)
	}
	return x, nil
}

func infinity(s Span) Expr { return &Float{Span: s, Value: math.Inf(1)} }
