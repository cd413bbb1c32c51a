package syntax

import (
	"math"
	"regexp"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

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
	if u := *p.peek(); u.Type == tokIdent && unitLike.MatchString(u.Value) {
		m := p.mark()
		p.next()
		switch {
		case units[u.Value] != 0 && !p.at("="): // `a = 1 MB = 2` is two entries
			return &Quantity{Span: p.span(from), Number: value, Unit: u.Value}, nil
		case units[u.Value] == 0 && !p.at("=") && !p.at(":") && !p.at(","): // else it is the name of what follows
			return nil, unknownUnit(u)
		}
		p.back(m)
	}
	return x, nil
}

// unitLike is what a unit of bytes looks like, in any case and spelling.
var unitLike = regexp.MustCompile(`(?i)^([kmgt]i?)?b$|^[kmgt]i?$`)

func unknownUnit(t lexer.Token) error {
	e := unexpectedAt(t, "unknown unit "+show(t), "one of KiB, MiB, GiB, TiB, KB, MB, GB, TB")
	prefix := strings.ToUpper(t.Value[:1])
	for _, unit := range []string{prefix + "iB", prefix + "B"} {
		if units[unit] != 0 && strings.HasPrefix(strings.ToLower(unit), strings.ToLower(t.Value)) {
			e.Hint = "did you mean `" + unit + "`?"
			break
		}
	}
	return e
}

func infinity(s Span) Expr { return &Float{Span: s, Value: math.Inf(1)} }
