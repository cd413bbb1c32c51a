package ir

import (
	"strings"
)

// stackLine is: stack blocks count=4.
func (p *body) stackLine() {
	p.space()
	at := p.at
	s := &Stack{Name: p.ident("the name of a stack")}
	as := p.attrs()
	p.endLine()
	count, ok := as.Get("count").(Int)
	switch {
	case p.bad:
		return
	case p.ordinal > 0 || len(p.f.Args) > 0:
		p.failAt(at, codeSyntax, "stacks come before arguments", "", "")
	case p.f.Stack(s.Name) != nil:
		p.failAt(at, codeDuplicate, "stack `"+clip(s.Name)+"` is given twice", "", "")
	case !ok || len(as) != 1 || count < 1 || count > MaxCount:
		p.failAt(at, codeSyntax, "stack `"+clip(s.Name)+"` does not say how many instances it has", "`count=4`", "")
	default:
		s.Count = int(count)
		p.f.Stacks = append(p.f.Stacks, s)
	}
}

// stack is the name of one.
func (p *body) stack() *Stack {
	p.space()
	at := p.at
	name := p.ident("the name of a stack")
	s := p.f.Stack(name)
	if s == nil && !p.bad {
		p.failAt(at, codeUndefined, "unknown stack `"+clip(name)+"`", "", "")
	}
	return s
}

// forLine is: for blocks down.
func (p *body) forLine() {
	if p.run != nil {
		p.fail(codeSyntax, "a `for` inside another", "a line `end for` first")
		return
	}
	r := &Run{Stack: p.stack()}
	if r.Stack == nil { // its `end for` is no further mistake
		p.run = &Run{Stack: &Stack{}}
	}
	p.space()
	if strings.HasPrefix(p.line[p.at:], "down") {
		r.Down = true
		p.at += len("down")
	}
	if p.endLine(); !p.bad {
		p.run = r
	}
}

func (p *body) endFor() {
	if p.run == nil {
		p.fail(codeSyntax, "`end for` without a `for`", "")
		return
	}
	p.at += len("for")
	p.endLine()
	p.run = nil
}

// each is what follows the type of a value that every instance of a stack has, or
// every microbatch.
func (p *body) each() (of *Stack, micro bool) {
	p.space()
	if p.bad || !strings.HasPrefix(p.line[p.at:], "each ") {
		return nil, false
	}
	p.at += len("each ")
	if strings.HasPrefix(p.line[p.at:], microbatch+" ") && p.f.Stack(microbatch) == nil {
		p.at += len(microbatch)
		return nil, true
	}
	return p.stack(), false
}
