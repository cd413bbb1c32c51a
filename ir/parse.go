package ir

import (
	"fmt"
	"strconv"
	"strings"

	"ptc/internal/diag"
	"ptc/internal/dtype"
)

// Limits of the text. What exceeds them is a mistake in the text, not a large
// model: they keep arithmetic on sizes free of overflow and parsing linear.
const (
	MaxText    = 64 << 20  // bytes of a module's text
	MaxRank    = 64        // axes of a type, names or sizes of one list of axes
	MaxElems   = 1 << 52   // elements of a tensor: exact in float64, and ×8 bytes fits int64
	MaxDevices = 1 << 24   // devices of a mesh
	MaxID      = 1<<31 - 1 // a value's number
	MaxCount   = 1 << 20   // instances of a stack
	MaxNesting = 32        // terms inside terms
	maxErrors  = 50        // diagnostics of one parse
)

// Codes of the diagnostics of [Parse].
const (
	codeHeader    = "E0301" // not IR text, an unknown version or level, too large
	codeSyntax    = "E0302" // something else was expected here
	codeLiteral   = "E0303" // a number or string that is not one
	codeDType     = "E0304" // unknown dtype
	codeSize      = "E0305" // a size below 1 or beyond the limits
	codeDuplicate = "E0306" // a name given twice
	codeUndefined = "E0307" // a value read before its definition, or a function that there is not
	codeRedefined = "E0308" // a value defined twice
	codeNesting   = "E0309" // terms nested too deeply
)

// Parse reads the text that [Print] writes. Blank lines and lines that start
// with // are skipped. The source is not trusted: it is bounded by [MaxText],
// and any text gives either a module or diagnostics (codes E0301 to E0309)
// with positions in file. A bad line does not hide mistakes in later ones.
//
// Parse knows the structure of the text alone: whether operations and types
// mean something is for ir/verify to say. A module is nil if there are
// diagnostics.
func Parse(file string, src []byte) (*Module, diag.List) {
	p := &parser{file: file, m: &Module{}, funcs: map[string]int{}}
	if len(src) > MaxText {
		p.report(&diag.Error{Code: codeHeader, Pos: diag.Pos{File: file, Line: 1, Col: 1},
			Msg: fmt.Sprintf("IR text of %d bytes is too large", len(src)), Want: fmt.Sprintf("at most %d bytes", MaxText)})
		return nil, p.errs
	}
	p.rest = string(src)
	p.module()
	p.link()
	if len(p.errs) > 0 {
		return nil, p.errs.Sort()
	}
	return p.m, nil
}

// parser reads line by line. A mistake marks the line bad: every method then
// returns at once, and the next line starts afresh.
type parser struct {
	file string
	rest string // text after the current line
	line string // current line without its end
	num  int    // number of the current line, from 1
	at   int    // next byte of line
	bad  bool   // the current line has a mistake
	errs diag.List

	m     *Module
	funcs map[string]int // line of each function
	calls []call
	f     *Func // the open function, or nil
	run   *Run  // the open run of it, or nil
	task  *Task
	// values of f; nil for one whose defining line is bad, so that its
	// readers are not reported as well.
	values  map[int]*Value
	ordinal int // how far inside f: 0 arguments, 1 operations, 2 results
}

// next goes to the next line that is not blank or a comment.
func (p *parser) next() bool {
	for p.rest != "" && len(p.errs) < maxErrors {
		p.line, p.rest, _ = strings.Cut(p.rest, "\n")
		p.line = strings.TrimSuffix(p.line, "\r")
		p.num++
		p.at, p.bad = 0, false
		p.space()
		if p.at < len(p.line) && !strings.HasPrefix(p.line[p.at:], "//") {
			return true
		}
	}
	return false
}

func (p *parser) module() {
	if !p.next() {
		p.num, p.line, p.at, p.bad = 1, "", 0, false
		p.fail(codeHeader, "the IR text is empty", "a first line such as ptir 1 global \"Name\"")
		return
	}
	p.header()
	if p.bad {
		return
	}
	for p.next() {
		at := p.at
		word := p.word()
		switch {
		case p.f == nil && word == "func":
			p.funcLine()
		case p.f == nil && word == "mesh":
			p.meshLine()
		case p.f == nil && word == "meta":
			p.metaLine()
		case p.f == nil:
			p.at = at
			p.fail(codeSyntax, "unexpected "+p.found()+" outside a function", "`mesh`, `meta` or `func`")
		default:
			p.at = at
			p.bodyLine(word)
		}
	}
	if p.f != nil && len(p.errs) < maxErrors {
		p.bad = false
		p.fail(codeSyntax, "function @"+p.f.Name+" is not closed", "a line `end`")
	}
}

// header is: ptir 1 global "Name".
func (p *parser) header() {
	if p.word() != "ptir" {
		p.at = 0
		p.fail(codeHeader, "this is not IR text", "a first line such as ptir 1 global \"Name\"")
		return
	}
	p.space()
	at := p.at
	if v := p.word(); v != strconv.Itoa(textVersion) {
		p.failAt(at, codeHeader, "unknown version `"+v+"` of the IR text", "`"+strconv.Itoa(textVersion)+"`",
			"the ptc that wrote it reads it; or compile the source again with --dump-ir")
		return
	}
	p.space()
	at = p.at
	name := p.word()
	level, ok := ParseLevel(name)
	if !ok {
		p.failAt(at, codeHeader, "unknown level `"+name+"`", diag.OneOf(levelNames[:]), diag.DidYouMean(name, levelNames[:]))
		return
	}
	p.m.Level = level
	p.m.Name = p.quoted()
	p.endLine()
}

// meshLine is: mesh dp=2, tp=2.
func (p *parser) meshLine() {
	for !p.bad {
		p.space()
		at := p.at
		name := p.ident("the name of a mesh axis")
		if p.m.MeshSize(name) > 0 {
			p.failAt(at, codeDuplicate, "mesh axis `"+name+"` is given twice", "", "")
		}
		p.expect('=')
		p.space()
		at = p.at
		n := p.size()
		if !p.bad && (len(p.m.Mesh) == MaxRank || n > MaxDevices/p.m.Devices()) {
			p.failAt(at, codeSize, "the mesh is too large", fmt.Sprintf("at most %d devices", MaxDevices), "")
		}
		if p.bad {
			return
		}
		p.m.Mesh = append(p.m.Mesh, MeshAxis{Name: name, Size: n})
		if !p.accept(',') {
			break
		}
	}
	p.endLine()
}

func (p *parser) metaLine() {
	t := p.term(0)
	p.endLine()
	if !p.bad {
		p.m.Meta = append(p.m.Meta, t)
	}
}

// size is a number of elements or devices, at least 1.
func (p *parser) size() int {
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
func (p *parser) typ() Type {
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
func (p *parser) grow(total *int, size, rank, at int) {
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
func (p *parser) partial() []Partial {
	p.space()
	if p.bad || !strings.HasPrefix(p.line[p.at:], "partial(") {
		return nil
	}
	p.at += len("partial(")
	var out []Partial
	for !p.bad {
		p.space()
		at := p.at
		r := Partial{Mesh: p.ident("a mesh axis or a reduction"), Reduce: "sum"}
		p.space()
		if startsIdent(p.line[p.at:]) {
			r.Reduce = r.Mesh
			r.Mesh = p.ident("the name of a mesh axis")
		}
		if r.Reduce != "sum" && r.Reduce != "max" {
			p.failAt(at, codeSyntax, "unknown reduction `"+clip(r.Reduce)+"`", diag.OneOf([]string{"max", "sum"}), diag.DidYouMean(r.Reduce, []string{"max", "sum"}))
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
func (p *parser) id() int {
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
