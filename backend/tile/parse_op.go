package tile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (p *parser) top() *scope { return p.scopes[len(p.scopes)-1] }

// statement is a line inside a phase.
func (p *parser) statement() {
	s := p.top()
	switch w := p.peek(); {
	case w == "end":
		p.next()
		p.close()
	case w == "else" && s.op != nil && s.op.Kind == If && s.block == s.op.Then:
		p.next()
		s.block, s.values, s.yields = s.op.Else, map[string]*Value{}, false
	case s.yields:
		p.want("end, or else, after yield")
	case w == "yield":
		p.next()
		s.yields = true
		s.block.Yield = p.values()
	default:
		p.operation()
	}
}

// close ends the innermost block, and with a phase's the phase.
func (p *parser) close() {
	p.scopes = p.scopes[:len(p.scopes)-1]
	if len(p.scopes) == 0 {
		p.state = declaring
	}
}

// operation is an operation with its results before it.
func (p *parser) operation() {
	o := &Op{}
	var names []string
	if strings.HasPrefix(p.peek(), "%") {
		p.list(func() {
			if !strings.HasPrefix(p.peek(), "%") {
				p.want("the name of a tile, as %1")
			}
			names = append(names, p.next())
			p.expect(":")
			o.Results = append(o.Results, &Value{Type: p.typ(), Def: o})
		})
		p.expect("=")
	}
	kind := p.ident("an operation")
	if o.Kind = Kind(kind); !o.Kind.known() {
		p.fail(fmt.Errorf("found %q; expected an operation", kind))
	}
	outer := p.top()
	outer.block.Ops = append(outer.block.Ops, o)
	switch o.Kind {
	case For:
		p.loop(o)
	case If:
		p.branch(o)
	default:
		p.operands(o)
	}
	for i, n := range names {
		if p.lookup(n) != nil || outer.values[n] != nil {
			p.fail(fmt.Errorf("found a second %s; expected a name of its own", n))
		}
		outer.values[n] = o.Results[i]
	}
}

// lookup is the tile called name, or nil.
func (p *parser) lookup(name string) *Value {
	for _, s := range slices.Backward(p.scopes) {
		if v := s.values[name]; v != nil {
			return v
		}
	}
	return nil
}

func (p *parser) value() *Value {
	v := p.lookup(p.peek())
	if v == nil {
		p.want("a tile defined before, in this block or around it")
	}
	p.next()
	return v
}

func (p *parser) values() (vs []*Value) {
	p.list(func() { vs = append(vs, p.value()) })
	return vs
}

func (p *parser) rangeHere() *Range {
	for _, r := range p.top().ranges {
		if r.Name == p.peek() {
			p.next()
			return r
		}
	}
	p.want("a range of the phase or of a loop around it")
	return nil
}

// typ is a tile's type: shared f32[i, d] panels(i by 6).
func (p *parser) typ() (t Type) {
	if p.accept("shared") {
		t.Space = Shared
	}
	t.DType = p.dtype()
	p.brackets(func() { t.Dims = append(t.Dims, p.rangeHere()) })
	for k, name := range layoutNames {
		if !p.accept(name) {
			continue
		}
		t.Layout.Kind = LayoutKind(k)
		p.expect("(")
		t.Layout.Along = p.rangeHere()
		p.expect("by")
		t.Layout.N = p.int("the size of the layout")
		p.expect(")")
		break
	}
	return t
}

// operands is what follows the name of an operation without blocks.
func (p *parser) operands(o *Op) {
	switch o.Kind {
	case Load, Copy:
		p.place(o)
		return
	case Store, Scatter:
		p.place(o)
		p.expect(",")
	case Const:
		o.Const = p.number()
		return
	case Index, First, Last:
		o.Range = p.rangeHere()
		return
	}
	o.Args = p.values()
	switch {
	case o.Kind == Random:
		p.random(o)
	case o.Kind == Repeat:
		p.expect("over")
		o.Range = p.rangeHere()
	case o.Kind == Dot || o.Kind.reduces():
		if p.accept("over") {
			p.list(func() { o.Over = append(o.Over, p.rangeHere()) })
		}
		if o.Kind == Dot && p.accept("init") {
			o.Args = append(o.Args, p.value())
		}
	}
}

func (p *parser) random(o *Op) {
	o.Normal = p.accept("normal")
	if !o.Normal && !p.accept("uniform") {
		p.want("uniform or normal")
	}
	p.expect("at")
	o.At = []Affine{p.affine()}
}

// place is a view with an index for each axis.
func (p *parser) place(o *Op) {
	if o.View = p.views[p.peek()]; o.View == nil {
		p.want("a view")
	}
	p.next()
	p.brackets(func() { o.At = append(o.At, p.affine()) })
}

// affine is a sum of constants, ranges and tiles, each with a factor or none.
func (p *parser) affine() (x Affine) {
	for first := true; ; first = false {
		sign := int64(1)
		switch {
		case p.accept("-"):
			sign = -1
		case !first && !p.accept("+"):
			return x
		}
		p.term(&x, sign)
	}
}

func (p *parser) term(x *Affine, sign int64) {
	t := Term{Coef: sign}
	if n, err := strconv.ParseInt(p.peek(), 10, 64); err == nil {
		p.next()
		if !p.accept("*") {
			x.Const += sign * n
			return
		}
		t.Coef = sign * n
	}
	if strings.HasPrefix(p.peek(), "%") {
		t.Value = p.value()
	} else {
		t.Range = p.rangeHere()
	}
	x.Terms = append(x.Terms, t)
}

// number is a floating-point number, with a sign or without.
func (p *parser) number() float64 {
	sign := ""
	if p.accept("-") {
		sign = "-"
	}
	x, err := strconv.ParseFloat(sign+p.peek(), 64)
	if err != nil {
		p.want("a number")
	}
	p.next()
	return x
}

func (p *parser) loop(o *Op) {
	l := &Loop{Stages: 1, Body: &Block{}}
	s := &scope{op: o, block: l.Body, ranges: p.top().ranges, values: map[string]*Value{}}
	o.Range, o.Loop = p.newRange(s), l
	if p.accept("from") {
		l.From = p.value()
	}
	if p.accept("to") {
		l.To = p.value()
	}
	if p.accept("stages") {
		l.Stages = int(p.int("the number of stages"))
	}
	if p.accept("carry") {
		p.list(func() { p.carried(o, s) })
	}
	p.push(s)
}

// carried is %inside : type = %first.
func (p *parser) carried(o *Op, s *scope) {
	name := p.next()
	if !strings.HasPrefix(name, "%") || p.lookup(name) != nil || s.values[name] != nil {
		p.fail(fmt.Errorf("found %q; expected a name of its own for what is carried, as %%1", name))
	}
	p.expect(":")
	v := &Value{Type: p.typ(), Def: o}
	p.expect("=")
	o.Args = append(o.Args, p.value())
	o.Loop.Carry = append(o.Loop.Carry, v)
	s.values[name] = v
}

func (p *parser) branch(o *Op) {
	o.Args, o.Then, o.Else = []*Value{p.value()}, &Block{}, &Block{}
	p.push(&scope{op: o, block: o.Then, ranges: p.top().ranges, values: map[string]*Value{}})
}

func (p *parser) push(s *scope) {
	if len(p.scopes) >= maxDepth {
		p.fail(fmt.Errorf("found blocks nested deeper than %d; expected fewer", maxDepth))
	}
	p.scopes = append(p.scopes, s)
}
