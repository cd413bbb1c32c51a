package tile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/op"
)

// Parse reads the text of a program, as [Program.String] writes it; a line may end in a
// comment after #. Every name means something where it is used, but nothing else is
// known of the program: [Verify] says whether it is well formed.
func Parse(text string) (*Program, error) {
	p := &parser{p: &Program{}, buffers: map[string]*Buffer{}, views: map[string]*View{}}
	for _, line := range strings.Split(text, "\n") {
		p.n++
		if p.words, p.err = tokens(line); len(p.words) > 0 {
			p.line(line)
		}
		if len(p.words) > 0 {
			p.want("the end of the line")
		}
		if p.err != nil {
			return nil, fmt.Errorf("line %d: %w", p.n, p.err)
		}
	}
	if p.state != ended {
		return nil, fmt.Errorf("line %d: found the end of the text; expected end", p.n)
	}
	return p.p, nil
}

// maxDepth bounds how deep blocks are nested, so that whoever walks a program may
// recurse.
const maxDepth = 64

// parser reads line by line. It keeps the first mistake of a line and drops the rest of that line, so that
// whatever reads on finds nothing.
type parser struct {
	p       *Program
	err     error
	n       int      // line
	words   []string // of the line, not yet read
	state   state
	buffers map[string]*Buffer
	views   map[string]*View
	scopes  []*scope
}

type state uint8

const (
	outside   state = iota // before the first line
	declaring              // buffers, views, phases
	inPhase
	ended
)

// scope is an open block.
type scope struct {
	op     *Op // whose block it is; nil for a phase
	block  *Block
	ranges []*Range
	values map[string]*Value
	yields bool // seen its yield
}

// want reports that something else was expected here.
func (p *parser) want(what string) {
	found := "the end of the line"
	if len(p.words) > 0 {
		found = strconv.Quote(p.words[0])
	}
	p.fail(fmt.Errorf("found %s; expected %s", found, what))
}

// fail keeps the first mistake of a line, and drops the rest of the line.
func (p *parser) fail(err error) {
	if p.err == nil {
		p.err, p.words = err, nil
	}
}

// next takes the next word.
func (p *parser) next() string {
	if len(p.words) == 0 {
		return ""
	}
	w := p.words[0]
	p.words = p.words[1:]
	return w
}

func (p *parser) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

// accept takes the next word where it is w.
func (p *parser) accept(w string) bool {
	if p.peek() != w {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(words ...string) {
	for _, w := range words {
		if !p.accept(w) {
			p.want(strconv.Quote(w))
		}
	}
}

func (p *parser) ident(what string) string {
	if !ir.IsIdent(p.peek()) {
		p.want(what)
	}
	return p.next()
}

// int takes an integer, with a sign where it is signed.
func (p *parser) int(what string) int64 {
	minus := p.accept("-")
	n, err := strconv.ParseInt(p.peek(), 10, 64)
	if err != nil {
		p.want(what)
	}
	p.next()
	if minus {
		n = -n
	}
	return n
}

// list reads items between commas.
func (p *parser) list(item func()) {
	for item(); p.accept(","); item() {
	}
}

func (p *parser) line(text string) {
	switch p.state {
	case outside:
		p.expect("tile", "@")
		p.state = declaring
		p.p.Name = p.ident("the name of the program")
	case declaring:
		p.declaration(text)
	case inPhase:
		p.statement()
	default:
		p.want("nothing after the program's end")
	}
}

func (p *parser) declaration(text string) {
	switch w := p.peek(); w {
	case "schedule":
		_, text, _ = strings.Cut(text, "schedule")
		text, _, _ = strings.Cut(text, "#")
		p.p.Schedule, p.err = schedule.Parse(text)
		p.words = nil
	case "arg", "work":
		p.next()
		p.buffer(w == "work")
	case "view":
		p.next()
		p.view()
	case "phase":
		p.next()
		p.phase()
	case "end":
		p.next()
		p.state = ended
	default:
		p.want("schedule, arg, work, view, phase or end")
	}
}

// uses map words to the uses of arguments.
var uses = map[string]Use{"read": Read, "write": Write, "readwrite": ReadWrite}

func (p *parser) buffer(work bool) {
	b := &Buffer{Name: p.ident("the name of a buffer"), Use: Work}
	if p.buffers[b.Name] != nil {
		p.fail(fmt.Errorf("found a second buffer %s; expected another name", b.Name))
	}
	p.expect(":")
	b.DType = p.dtype()
	p.expect("[")
	b.Len = p.int("the number of elements")
	p.expect("]")
	p.buffers[b.Name] = b
	p.p.Buffers = append(p.p.Buffers, b)
	if work {
		return
	}
	var known bool
	if b.Use, known = uses[p.peek()]; !known {
		p.want("read, write or readwrite")
	}
	p.next()
	if p.accept("over") {
		p.list(func() {
			a := p.buffers[p.peek()]
			if a == nil || a == b {
				p.want("an argument declared before")
			}
			p.next()
			b.Over = append(b.Over, a)
		})
	}
}

func (p *parser) dtype() ir.DType {
	d, ok := ir.ParseDType(p.peek())
	if !ok {
		p.want("a dtype")
	}
	p.next()
	return d
}

func (p *parser) view() {
	v := &View{Name: p.ident("the name of a view")}
	if p.views[v.Name] != nil {
		p.fail(fmt.Errorf("found a second view %s; expected another name", v.Name))
	}
	p.expect(":")
	if v.Buffer = p.buffers[p.peek()]; v.Buffer == nil {
		p.want("a buffer declared before")
	}
	p.next()
	if p.accept("+") {
		v.Offset = int(p.int("the number of elements before the first"))
	}
	p.views[v.Name] = v
	p.p.Views = append(p.p.Views, v)
	p.brackets(func() { v.Axes = append(v.Axes, p.axis()) })
}

// brackets reads items in brackets, or none.
func (p *parser) brackets(item func()) {
	if p.expect("["); !p.accept("]") {
		p.list(item)
		p.expect("]")
	}
}

// axis is name=size:stride, or name=size+padding:stride.
func (p *parser) axis() (a op.StridedAxis) {
	a.Name = p.ident("the name of an axis")
	p.expect("=")
	a.Size = int(p.int("the axis' size"))
	if p.accept("+") {
		a.Pad = int(p.int("the padding behind the axis"))
	}
	p.expect(":")
	a.Stride = int(p.int("the axis' stride"))
	return a
}

func (p *parser) phase() {
	ph := &Phase{Body: &Block{}}
	s := &scope{block: ph.Body, values: map[string]*Value{}}
	p.p.Phases = append(p.p.Phases, ph)
	p.scopes = []*scope{s}
	p.state = inPhase
	if len(p.words) > 0 {
		p.list(func() { ph.Grid = append(ph.Grid, p.newRange(s)) })
	}
}

// newRange reads name in axis=extent by size, and adds the range to s.
func (p *parser) newRange(s *scope) *Range {
	r := &Range{Name: p.ident("the name of a range")}
	p.expect("in")
	r.Axis = p.ident("the name of an axis")
	p.expect("=")
	r.Extent = p.int("the axis' extent")
	p.expect("by")
	r.Size = p.int("the size of a block")
	r.Reversed = p.accept("reversed")
	if slices.ContainsFunc(s.ranges, func(x *Range) bool { return x.Name == r.Name }) {
		p.fail(fmt.Errorf("found a second range %s; expected a name that no range around it has", r.Name))
	}
	r.order = len(s.ranges)
	s.ranges = append(slices.Clip(s.ranges), r)
	return r
}
