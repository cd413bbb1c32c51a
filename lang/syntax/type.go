package syntax

import (
	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// typ parses `[axes]`, `dtype[axes]`, `like x`, `dtype like x`, `dtype`, or a
// tuple of types.
func (p *exprParser) typ() (Type, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := *p.peek()
	from := Pos(t.Pos)
	if is(t, "(") {
		return p.tupleType()
	}
	var dtype *Ident
	if t.Type == tokIdent {
		dtype, _ = p.ident("")
	}
	switch {
	case p.accept("["):
		axes, err := p.axes()
		if err != nil {
			return nil, err
		}
		return &TensorType{Span: p.span(from), DType: dtype, Axes: axes}, nil
	case p.accept("like"):
		of, err := p.ident("a name after `like`, such as `param`")
		if err != nil {
			return nil, err
		}
		return &LikeType{Span: p.span(from), DType: dtype, Of: of}, nil
	case dtype != nil:
		return &NamedType{Span: p.span(from), Name: dtype.Name}, nil
	}
	return nil, unexpected(t, "a type, such as `[batch, embed]` or `i32[batch]`")
}

func (p *exprParser) tupleType() (Type, error) {
	from := Pos(p.next().Pos)
	var elems []Type
	for !p.accept(")") {
		e, err := p.typ()
		if err != nil {
			return nil, err
		}
		elems = append(elems, e)
		if !p.accept(",") && !p.at(")") {
			return nil, unexpected(*p.peek(), "`,` or `)`")
		}
	}
	if len(elems) == 1 {
		return elems[0], nil
	}
	return &TupleType{Span: p.span(from), Elems: elems}, nil
}

// axes parses `name, name = size` up to the closing bracket.
func (p *exprParser) axes() (axes []*Axis, err error) {
	for !p.accept("]") {
		t := *p.peek()
		name, err := p.axisName()
		if err != nil {
			return nil, err
		}
		axis := &Axis{Name: name}
		if p.accept("=") {
			if axis.Size, err = p.expr(); err != nil {
				return nil, err
			}
		}
		axis.Span = p.span(Pos(t.Pos))
		axes = append(axes, axis)
		if !p.accept(",") && !p.at("]") {
			return nil, p.afterAxis(name)
		}
	}
	return axes, nil
}

func (p *exprParser) axisName() (*Ident, error) {
	t := *p.peek()
	if t.Type == tokInt || t.Type == tokFloat || t.Type == tokWord {
		p.next()
		text := clip(t.Value)
		if !p.at(",") && !p.at("]") {
			text += " …"
		}
		return nil, axisNeedsName(t, text)
	}
	return p.ident("the name of an axis")
}

// afterAxis is the error for what follows a name in a list of axes.
func (p *exprParser) afterAxis(name *Ident) error {
	t := *p.peek()
	if binding[t.Value] != 0 && t.Type == tokOp {
		return axisNeedsName(t, name.Name+" "+t.Value+" …")
	}
	err := unexpected(t, "`,`, `=` or `]`")
	if is(t, ":") {
		err.Hint = "the size of an axis follows `=`: `[" + name.Name + " = 3 * embed]`"
	}
	return err
}

func axisNeedsName(t lexer.Token, text string) error {
	return &diag.Error{Code: "E0115", Pos: Pos(t.Pos).Diag(), Len: len(t.Value),
		Msg: "an axis has a name, not only a size", Hint: "write `[name = " + text + "]`"}
}
