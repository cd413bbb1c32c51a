package tile

import (
	"fmt"
	"strconv"
	"strings"
)

func (p *parser) top() *scope { return p.scopes[len(p.scopes)-1] }

// statement is a line inside a phase.
func (p *parser) statement() error {
	s := p.top()
	switch w := p.peek(); {
	case w == "end":
		p.next()
		return p.close()
	case w == "else" && s.op != nil && s.op.Kind == If && s.block == s.op.Then:
		p.next()
		s.block, s.values, s.yields = s.op.Else, map[string]*Value{}, false
		return nil
	case s.yields:
		return p.want("end, or else, after yield")
	case w == "yield":
		p.next()
		s.yields = true
		vs, err := p.values()
		s.block.Yield = vs
		return err
	}
	return p.operation()
}

// close ends the innermost block, and with a phase's the phase.
func (p *parser) close() error {
	p.scopes = p.scopes[:len(p.scopes)-1]
	if len(p.scopes) == 0 {
		p.state = declaring
	}
	return nil
}

// operation is an operation with its results before it.
func (p *parser) operation() error {
	o := &Op{}
	var names []string
	if strings.HasPrefix(p.peek(), "%") {
		if err := p.list(func() error {
			v := &Value{Def: o}
			var err error
			if !strings.HasPrefix(p.peek(), "%") {
				return p.want("the name of a tile, as %1")
			}
			names = append(names, p.next())
			if err = p.expect(":"); err == nil {
				v.Type, err = p.typ()
			}
			o.Results = append(o.Results, v)
			return err
		}); err != nil {
			return err
		}
		if err := p.expect("="); err != nil {
			return err
		}
	}
	kind, err := p.ident("an operation")
	if err != nil {
		return err
	}
	o.Kind = Kind(kind)
	if !o.Kind.known() {
		return fmt.Errorf("found %q; expected an operation", kind)
	}
	outer := p.top()
	outer.block.Ops = append(outer.block.Ops, o)
	switch o.Kind {
	case For:
		err = p.loop(o)
	case If:
		err = p.branch(o)
	default:
		err = p.operands(o)
	}
	if err != nil {
		return err
	}
	for i, n := range names {
		if p.lookup(n) != nil || outer.values[n] != nil {
			return fmt.Errorf("found a second %s; expected a name of its own", n)
		}
		outer.values[n] = o.Results[i]
	}
	return nil
}

// lookup is the tile called name, or nil.
func (p *parser) lookup(name string) *Value {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if v := p.scopes[i].values[name]; v != nil {
			return v
		}
	}
	return nil
}

func (p *parser) value() (*Value, error) {
	v := p.lookup(p.peek())
	if v == nil {
		return nil, p.want("a tile defined before, in this block or around it")
	}
	p.next()
	return v, nil
}

func (p *parser) values() (vs []*Value, err error) {
	err = p.list(func() error {
		v, err := p.value()
		vs = append(vs, v)
		return err
	})
	return vs, err
}

func (p *parser) rangeHere() (*Range, error) {
	for _, r := range p.top().ranges {
		if r.Name == p.peek() {
			p.next()
			return r, nil
		}
	}
	return nil, p.want("a range of the phase or of a loop around it")
}

// typ is a tile's type: shared f32[i, d] panels(i by 6).
func (p *parser) typ() (t Type, err error) {
	if p.accept("shared") {
		t.Space = Shared
	}
	if t.DType, err = p.dtype(); err != nil {
		return t, err
	}
	if err := p.expect("["); err != nil {
		return t, err
	}
	if !p.accept("]") {
		if err := p.list(func() error {
			r, err := p.rangeHere()
			t.Dims = append(t.Dims, r)
			return err
		}); err != nil {
			return t, err
		}
		if err := p.expect("]"); err != nil {
			return t, err
		}
	}
	for k, name := range layoutNames {
		if !p.accept(name) {
			continue
		}
		t.Layout.Kind = LayoutKind(k)
		if err := p.expect("("); err != nil {
			return t, err
		}
		if t.Layout.Along, err = p.rangeHere(); err != nil {
			return t, err
		}
		if err := p.expect("by"); err != nil {
			return t, err
		}
		if t.Layout.N, err = p.int("the size of the layout"); err != nil {
			return t, err
		}
		return t, p.expect(")")
	}
	return t, nil
}

// operands is what follows the name of an operation without blocks.
func (p *parser) operands(o *Op) (err error) {
	switch o.Kind {
	case Load, Copy:
		return p.place(o)
	case Store, Scatter:
		if err := p.place(o); err != nil {
			return err
		}
		if err := p.expect(","); err != nil {
			return err
		}
	case Const:
		o.Const, err = p.number()
		return err
	case Index, First, Last:
		o.Range, err = p.rangeHere()
		return err
	}
	if o.Args, err = p.values(); err != nil {
		return err
	}
	switch {
	case o.Kind == Random:
		return p.random(o)
	case o.Kind == Repeat:
		if err := p.expect("over"); err != nil {
			return err
		}
		o.Range, err = p.rangeHere()
		return err
	case o.Kind != Dot && !o.Kind.reduces():
		return nil
	}
	if p.accept("over") {
		if err := p.list(func() error {
			r, err := p.rangeHere()
			o.Over = append(o.Over, r)
			return err
		}); err != nil {
			return err
		}
	}
	if o.Kind == Dot && p.accept("init") {
		v, err := p.value()
		o.Args = append(o.Args, v)
		return err
	}
	return nil
}

func (p *parser) random(o *Op) error {
	switch {
	case p.accept("normal"):
		o.Normal = true
	case !p.accept("uniform"):
		return p.want("uniform or normal")
	}
	if err := p.expect("at"); err != nil {
		return err
	}
	at, err := p.affine()
	o.At = []Affine{at}
	return err
}

// place is a view with an index for each axis.
func (p *parser) place(o *Op) error {
	if o.View = p.views[p.peek()]; o.View == nil {
		return p.want("a view")
	}
	p.next()
	if err := p.expect("["); err != nil {
		return err
	}
	if p.accept("]") {
		return nil
	}
	if err := p.list(func() error {
		x, err := p.affine()
		o.At = append(o.At, x)
		return err
	}); err != nil {
		return err
	}
	return p.expect("]")
}

// affine is a sum of constants, ranges and tiles, each with a factor or none.
func (p *parser) affine() (x Affine, err error) {
	for first := true; ; first = false {
		sign := int64(1)
		switch {
		case p.accept("-"):
			sign = -1
		case !first && !p.accept("+"):
			return x, nil
		}
		if err := p.term(&x, sign); err != nil {
			return x, err
		}
	}
}

func (p *parser) term(x *Affine, sign int64) error {
	t := Term{Coef: sign}
	if n, err := strconv.ParseInt(p.peek(), 10, 64); err == nil {
		p.next()
		if !p.accept("*") {
			x.Const += sign * n
			return nil
		}
		t.Coef = sign * n
	}
	var err error
	if strings.HasPrefix(p.peek(), "%") {
		t.Value, err = p.value()
	} else {
		t.Range, err = p.rangeHere()
	}
	x.Terms = append(x.Terms, t)
	return err
}

// number is a floating-point number, with a sign or without.
func (p *parser) number() (float64, error) {
	sign := ""
	if p.accept("-") {
		sign = "-"
	}
	x, err := strconv.ParseFloat(sign+p.peek(), 64)
	if err != nil {
		return 0, p.want("a number")
	}
	p.next()
	return x, nil
}

func (p *parser) loop(o *Op) (err error) {
	outer := p.top()
	if o.Range, err = p.newRange(); err != nil {
		return err
	}
	l := &Loop{Stages: 1, Body: &Block{}}
	o.Loop = l
	if p.accept("from") {
		if l.From, err = p.value(); err != nil {
			return err
		}
	}
	if p.accept("to") {
		if l.To, err = p.value(); err != nil {
			return err
		}
	}
	if p.accept("stages") {
		n, err := p.int("the number of stages")
		if err != nil {
			return err
		}
		l.Stages = int(n)
	}
	s := &scope{op: o, block: l.Body, ranges: outer.ranges, values: map[string]*Value{}}
	if err := s.introduce(o.Range); err != nil {
		return err
	}
	if p.accept("carry") {
		if err := p.list(func() error { return p.carried(o, s) }); err != nil {
			return err
		}
	}
	return p.push(s)
}

// carried is %inside : type = %first.
func (p *parser) carried(o *Op, s *scope) error {
	name := p.next()
	if !strings.HasPrefix(name, "%") || p.lookup(name) != nil || s.values[name] != nil {
		return fmt.Errorf("found %q; expected a name of its own for what is carried, as %%1", name)
	}
	if err := p.expect(":"); err != nil {
		return err
	}
	t, err := p.typ()
	if err != nil {
		return err
	}
	if err := p.expect("="); err != nil {
		return err
	}
	first, err := p.value()
	if err != nil {
		return err
	}
	v := &Value{Type: t, Def: o}
	o.Args = append(o.Args, first)
	o.Loop.Carry = append(o.Loop.Carry, v)
	s.values[name] = v
	return nil
}

func (p *parser) branch(o *Op) error {
	cond, err := p.value()
	if err != nil {
		return err
	}
	o.Args, o.Then, o.Else = []*Value{cond}, &Block{}, &Block{}
	return p.push(&scope{op: o, block: o.Then, ranges: p.top().ranges, values: map[string]*Value{}})
}

func (p *parser) push(s *scope) error {
	if len(p.scopes) >= maxDepth {
		return fmt.Errorf("found blocks nested deeper than %d; expected fewer", maxDepth)
	}
	p.scopes = append(p.scopes, s)
	return nil
}
