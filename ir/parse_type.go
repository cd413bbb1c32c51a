package ir

import (
	"fmt"
	"strconv"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/diag"
	"ptc/internal/dtype"
)

// size is a number of elements or devices, at least 1.
func (p *scanner) size() int {
	p.space()
	at := p.at
	s := p.word()
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case p.bad:
	case s == "" || !isDigit(s[0]):
		p.at = at
		p.fail(codeSyntax, "unexpected "+p.found(), "a size")
	case err != nil && strings.Trim(s, "0123456789") != "":
		p.failAt(at, codeLiteral, "`"+clip(s)+"` is not a size", "a whole number", "")
	case err != nil || n > MaxElems:
		p.failAt(at, codeSize, "size "+clip(s)+" is too large", fmt.Sprintf("at most %d", int64(MaxElems)), "")
	case n < 1:
		p.failAt(at, codeSize, "size "+clip(s)+" is too small", "at least 1", "")
	}
	if p.bad {
		return 1
	}
	return int(n)
}

// typ is: f32[batch=8@dp, embed=384] partial(tp, max dp).
func (p *scanner) typ() Type {
	p.space()
	at := p.at
	name := p.word()
	d, ok := ParseDType(name)
	if !ok && !p.bad {
		names := dtype.Names(dtype.Tensors())
		if name == "" {
			p.fail(codeSyntax, "unexpected "+p.found(), "a type such as f32[batch=8]")
		} else {
			p.failAt(at, codeDType, "unknown dtype `"+clip(name)+"`", diag.OneOf(names), diag.DidYouMean(name, names))
		}
	}
	t := Type{DType: d}
	p.expect('[')
	if p.accept(']') {
		t.Partial = p.partial()
		return t
	}
	total := 1
	t.Axes = make([]Axis, 0, 4)
	for !p.bad {
		p.space()
		at := p.at
		a := Axis{Name: p.ident("the name of an axis")}
		if t.Has(a.Name) {
			p.failAt(at, codeDuplicate, "axis `"+clip(a.Name)+"` appears twice in a type", "axis names unique in their tensor", "")
		}
		p.expect('=')
		a.Size = p.size()
		if t.Pad > 0 {
			p.failAt(at, codeSize, "an axis behind one with padding", "padding of the last axis alone: vocab=50257+7", "")
		}
		if p.accept('+') {
			t.Pad = p.size()
		}
		p.grow(&total, a.Size+t.Pad, len(t.Axes), at)
		for p.accept('@') {
			if len(a.Mesh) == MaxRank {
				p.failAt(at, codeSize, "axis `"+clip(a.Name)+"` is sharded over too many mesh axes", "", "")
			}
			a.Mesh = append(a.Mesh, p.ident("the name of a mesh axis"))
		}
		t.Axes = append(t.Axes, a)
		if !p.accept(',') {
			break
		}
	}
	p.expect(']')
	t.Partial = p.partial()
	return t
}

// grow multiplies total by the size of a further axis within the limits.
func (p *scanner) grow(total *int, size, rank, at int) {
	switch {
	case p.bad:
	case rank >= MaxRank:
		p.failAt(at, codeSize, "too many axes", fmt.Sprintf("at most %d", MaxRank), "")
	case size > MaxElems / *total:
		p.failAt(at, codeSize, "the product of the sizes is too large", fmt.Sprintf("at most %d elements", int64(MaxElems)), "")
	default:
		*total *= size
	}
}

// partial is what follows a partial type, or nothing.
func (p *scanner) partial() []Partial {
	p.space()
	if p.bad || !strings.HasPrefix(p.line[p.at:], "partial(") {
		return nil
	}
	p.at += len("partial(")
	var out []Partial
	for !p.bad {
		p.space()
		at := p.at
		r := Partial{Mesh: p.ident("a mesh axis or a reduction"), Reduce: collective.Sum}
		p.space()
		if startsIdent(p.line[p.at:]) {
			r.Reduce = r.Mesh
			r.Mesh = p.ident("the name of a mesh axis")
		}
		if !collective.Reduction(r.Reduce).Known() {
			p.failAt(at, codeSyntax, "unknown reduction `"+clip(r.Reduce)+"`", diag.OneOf(reductions), diag.DidYouMean(r.Reduce, reductions))
		}
		if len(out) == MaxRank {
			p.failAt(at, codeSize, "too many reductions", fmt.Sprintf("at most %d", MaxRank), "")
		}
		out = append(out, r)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return out
}

// id is %12.
func (p *scanner) id() int {
	p.space()
	at := p.at
	p.expect('%')
	start := p.at
	for p.at < len(p.line) && isDigit(p.line[p.at]) {
		p.at++
	}
	if p.bad {
		return 0
	}
	n, err := strconv.Atoi(p.line[start:p.at])
	if err != nil || n > MaxID {
		p.failAt(at, codeSyntax, "`%` without a value's number", fmt.Sprintf("a number from 0 to %d, as in %%12", MaxID), "")
		return 0
	}
	return n
}

var reductions = []string{collective.Max, collective.Sum}
