package ir

import (
	"errors"
	"math"
	"sort"
	"strconv"
	"strings"
)

// attrs are key=value up to the end of the statement.
func (p *scanner) attrs() Attrs {
	var as Attrs
	for !p.bad {
		p.space()
		if p.at == len(p.line) || p.line[p.at] == '/' {
			break
		}
		as = append(as, p.attr(0))
	}
	return p.sorted(as)
}

func (p *scanner) attr(depth int) Attr {
	key := p.ident("an attribute such as over=(embed)")
	p.expect('=')
	return Attr{Key: key, Val: p.attrVal(depth)}
}

// sorted puts attributes in the order of their keys, which must differ.
func (p *scanner) sorted(as Attrs) Attrs {
	less := func(i, j int) bool { return as[i].Key < as[j].Key }
	if !sort.SliceIsSorted(as, less) {
		sort.SliceStable(as, less)
	}
	for i := 1; i < len(as) && !p.bad; i++ {
		if as[i].Key == as[i-1].Key {
			p.fail(codeDuplicate, "attribute `"+clip(as[i].Key)+"` is given twice", "")
		}
	}
	return as
}

// attrVal is a value of one of the forms that attr.go documents.
func (p *scanner) attrVal(depth int) AttrVal {
	p.space()
	if p.bad || p.at == len(p.line) {
		p.fail(codeSyntax, "unexpected "+p.found(), "a value")
		return Name("")
	}
	switch c := p.line[p.at]; {
	case c == '"':
		return Str(p.quoted())
	case c == '@':
		p.at++
		return Sym(p.ident("the name of a function"))
	case c == '(':
		return p.names()
	case c == '[':
		return p.list(depth)
	case c == '{':
		return p.braces()
	case c == '-' || isDigit(c):
		return p.number()
	case startsIdent(p.line[p.at:]):
		at := p.at
		s := p.word()
		if p.at < len(p.line) && p.line[p.at] == '(' {
			p.at = at
			return p.term(depth)
		}
		return wordVal(s)
	}
	p.fail(codeSyntax, "unexpected "+p.found(), "a value")
	return Name("")
}

// wordVal is what a word that starts with a letter stands for.
func wordVal(s string) AttrVal {
	switch s {
	case "true", "false":
		return BoolVal(s == "true")
	case "inf":
		return Float(math.Inf(1))
	case "nan":
		return Float(math.NaN())
	}
	return Name(s)
}

// number is 12, -3, 0.5, 1e-05 or -inf; a word such as 1f1b, which starts
// with a digit and is no number, is a name.
func (p *scanner) number() AttrVal {
	at := p.at
	if p.line[p.at] == '-' {
		p.at++
	}
	s := p.word()
	if p.at+1 < len(p.line) && strings.HasSuffix(s, "e") && (p.line[p.at] == '-' || p.line[p.at] == '+') && isDigit(s[0]) {
		p.at++
		p.word()
	}
	s = p.line[at:p.at]
	if s == "-inf" {
		return Float(math.Inf(-1))
	}
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || !isDigit(digits[0]) {
		p.failAt(at, codeLiteral, "`"+clip(s)+"` is not a number", "", "")
		return Int(0)
	}
	if strings.Trim(digits, "0123456789") == "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			p.failAt(at, codeLiteral, "integer "+clip(s)+" does not fit 64 bits", "", "")
		}
		return Int(n)
	}
	if strings.Trim(digits, "0123456789.e+-") == "" {
		x, err := strconv.ParseFloat(s, 64)
		if err == nil {
			return Float(x)
		}
		if errors.Is(err, strconv.ErrRange) {
			p.failAt(at, codeLiteral, "`"+clip(s)+"` is beyond what float64 holds", "", "")
			return Int(0)
		}
	}
	if isWord(s) {
		return Name(s)
	}
	p.failAt(at, codeLiteral, "`"+clip(s)+"` is not a number", "", "")
	return Int(0)
}

// names is (a, b).
func (p *scanner) names() Names {
	p.expect('(')
	out := Names{}
	if p.accept(')') {
		return out
	}
	for !p.bad {
		out = append(out, p.ident("a name"))
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return out
}

// list is [1, 2], [head(k=v), ...] or [()].
func (p *scanner) list(depth int) AttrVal {
	p.expect('[')
	p.space()
	switch {
	case p.accept(']'):
		return Ints{}
	case p.accept('('):
		p.expect(')')
		p.expect(']')
		return Terms{}
	case startsIdent(p.line[p.at:]):
		var out Terms
		for !p.bad {
			out = append(out, p.term(depth+1))
			if !p.accept(',') {
				break
			}
		}
		p.expect(']')
		return out
	}
	var out Ints
	for !p.bad {
		p.space()
		at := p.at
		if p.at == len(p.line) || p.line[p.at] != '-' && !isDigit(p.line[p.at]) {
			p.fail(codeSyntax, "unexpected "+p.found(), "an integer or a term")
			break
		}
		n, ok := p.number().(Int)
		if !ok {
			p.failAt(at, codeLiteral, "`"+clip(p.line[at:p.at])+"` is not an integer", "", "")
		}
		out = append(out, int64(n))
		if !p.accept(',') {
			break
		}
	}
	p.expect(']')
	return out
}

// braces is {seq=4, embed=8} or {seq:kseq}; {} has no sizes, {:} no pairs.
func (p *scanner) braces() AttrVal {
	p.expect('{')
	switch {
	case p.accept('}'):
		return Sizes{}
	case p.accept(':'):
		p.expect('}')
		return Pairs{}
	}
	at := p.at
	p.ident("the name of an axis")
	isPair := p.accept(':')
	p.at = at
	if isPair {
		return p.pairs()
	}
	return p.sizes()
}

func (p *scanner) pairs() Pairs {
	var out Pairs
	for !p.bad {
		from := p.ident("the name of an axis")
		p.expect(':')
		out = append(out, Pair{From: from, To: p.ident("the name of an axis")})
		if len(out) > MaxRank {
			p.fail(codeSize, "too many axes", "at most "+strconv.Itoa(MaxRank))
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect('}')
	return out
}

func (p *scanner) sizes() Sizes {
	var out Sizes
	total := 1
	for !p.bad {
		p.space()
		at := p.at
		name := p.ident("the name of an axis")
		for _, s := range out {
			if s.Name == name {
				p.failAt(at, codeDuplicate, "axis `"+clip(name)+"` is given twice", "", "")
			}
		}
		p.expect('=')
		n := p.size()
		p.grow(&total, n, len(out), at)
		out = append(out, SizeOf{Name: name, N: n})
		if !p.accept(',') {
			break
		}
	}
	p.expect('}')
	return out
}

// term is head(k=v, k=v).
func (p *scanner) term(depth int) Term {
	if depth >= MaxNesting {
		p.fail(codeNesting, "terms are nested too deeply", "at most "+strconv.Itoa(MaxNesting)+" levels")
	}
	t := Term{Head: p.ident("a term such as normal(std=0.02)")}
	p.expect('(')
	if p.accept(')') {
		return t
	}
	for !p.bad {
		t.Args = append(t.Args, p.attr(depth+1))
		if !p.accept(',') {
			break
		}
	}
	t.Args = p.sorted(t.Args)
	p.expect(')')
	return t
}
