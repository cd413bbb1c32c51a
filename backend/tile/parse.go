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
		words, err := tokens(line)
		if err == nil && len(words) > 0 {
			p.words = words
			err = p.line(line)
			if err == nil && len(p.words) > 0 {
				err = p.want("the end of the line")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", p.n, err)
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

type parser struct {
	p       *Program
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

func (p *parser) want(what string) error {
	found := "the end of the line"
	if len(p.words) > 0 {
		found = strconv.Quote(p.words[0])
	}
	return fmt.Errorf("found %s; expected %s", found, what)
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

func (p *parser) expect(words ...string) error {
	for _, w := range words {
		if !p.accept(w) {
			return p.want(strconv.Quote(w))
		}
	}
	return nil
}

func (p *parser) ident(what string) (string, error) {
	if !ir.IsIdent(p.peek()) {
		return "", p.want(what)
	}
	return p.next(), nil
}

// int takes an integer, with a sign where it is signed.
func (p *parser) int(what string) (int64, error) {
	minus := p.accept("-")
	n, err := strconv.ParseInt(p.peek(), 10, 64)
	if err != nil {
		return 0, p.want(what)
	}
	p.next()
	if minus {
		n = -n
	}
	return n, nil
}

// list reads items between commas.
func (p *parser) list(item func() error) error {
	for {
		if err := item(); err != nil {
			return err
		}
		if !p.accept(",") {
			return nil
		}
	}
}

func (p *parser) line(text string) error {
	switch p.state {
	case outside:
		if err := p.expect("tile", "@"); err != nil {
			return err
		}
		p.state = declaring
		name, err := p.ident("the name of the program")
		p.p.Name = name
		return err
	case declaring:
		return p.declaration(text)
	case inPhase:
		return p.statement()
	}
	return p.want("nothing after the program's end")
}

func (p *parser) declaration(text string) error {
	switch p.peek() {
	case "schedule":
		_, text, _ = strings.Cut(text, "schedule")
		text, _, _ = strings.Cut(text, "#")
		p.words = nil
		s, err := schedule.Parse(text)
		p.p.Schedule = s
		return err
	case "arg", "work":
		return p.buffer(p.next() == "work")
	case "view":
		p.next()
		return p.view()
	case "phase":
		p.next()
		return p.phase()
	case "end":
		p.next()
		p.state = ended
		return nil
	}
	return p.want("schedule, arg, work, view, phase or end")
}

func (p *parser) buffer(work bool) error {
	b := &Buffer{Use: Work}
	var err error
	if b.Name, err = p.ident("the name of a buffer"); err != nil {
		return err
	}
	if p.buffers[b.Name] != nil {
		return fmt.Errorf("found a second buffer %s; expected another name", b.Name)
	}
	if err := p.expect(":"); err != nil {
		return err
	}
	if b.DType, err = p.dtype(); err != nil {
		return err
	}
	if err := p.expect("["); err != nil {
		return err
	}
	if b.Len, err = p.int("the number of elements"); err != nil {
		return err
	}
	if err := p.expect("]"); err != nil {
		return err
	}
	p.buffers[b.Name] = b
	p.p.Buffers = append(p.p.Buffers, b)
	if work {
		return nil
	}
	switch p.peek() {
	case "read":
		b.Use = Read
	case "write":
		b.Use = Write
	case "readwrite":
		b.Use = ReadWrite
	default:
		return p.want("read, write or readwrite")
	}
	p.next()
	if !p.accept("over") {
		return nil
	}
	return p.list(func() error {
		a := p.buffers[p.peek()]
		if a == nil || a == b {
			return p.want("an argument declared before")
		}
		p.next()
		b.Over = append(b.Over, a)
		return nil
	})
}

func (p *parser) dtype() (ir.DType, error) {
	d, ok := ir.ParseDType(p.peek())
	if !ok {
		return d, p.want("a dtype")
	}
	p.next()
	return d, nil
}

func (p *parser) view() error {
	v := &View{}
	var err error
	if v.Name, err = p.ident("the name of a view"); err != nil {
		return err
	}
	if p.views[v.Name] != nil {
		return fmt.Errorf("found a second view %s; expected another name", v.Name)
	}
	if err := p.expect(":"); err != nil {
		return err
	}
	if v.Buffer = p.buffers[p.peek()]; v.Buffer == nil {
		return p.want("a buffer declared before")
	}
	p.next()
	if p.accept("+") {
		n, err := p.int("the number of elements before the first")
		if err != nil {
			return err
		}
		v.Offset = int(n)
	}
	if err := p.expect("["); err != nil {
		return err
	}
	p.views[v.Name] = v
	p.p.Views = append(p.p.Views, v)
	if p.accept("]") {
		return nil
	}
	if err := p.list(func() error {
		a, err := p.axis()
		v.Axes = append(v.Axes, a)
		return err
	}); err != nil {
		return err
	}
	return p.expect("]")
}

// axis is name=size:stride, or name=size+padding:stride.
func (p *parser) axis() (a op.StridedAxis, err error) {
	if a.Name, err = p.ident("the name of an axis"); err != nil {
		return a, err
	}
	if err := p.expect("="); err != nil {
		return a, err
	}
	size, err := p.int("the axis' size")
	if err != nil {
		return a, err
	}
	if p.accept("+") {
		pad, err := p.int("the padding behind the axis")
		if a.Pad = int(pad); err != nil {
			return a, err
		}
	}
	if err := p.expect(":"); err != nil {
		return a, err
	}
	stride, err := p.int("the axis' stride")
	a.Size, a.Stride = int(size), int(stride)
	return a, err
}

func (p *parser) phase() error {
	ph := &Phase{Body: &Block{}}
	s := &scope{block: ph.Body, values: map[string]*Value{}}
	p.p.Phases = append(p.p.Phases, ph)
	p.scopes = []*scope{s}
	p.state = inPhase
	if len(p.words) == 0 {
		return nil
	}
	return p.list(func() error {
		r, err := p.newRange()
		if err != nil {
			return err
		}
		ph.Grid = append(ph.Grid, r)
		return s.introduce(r)
	})
}

// newRange is name in axis=extent by size.
func (p *parser) newRange() (*Range, error) {
	r := &Range{}
	var err error
	if r.Name, err = p.ident("the name of a range"); err != nil {
		return nil, err
	}
	if err := p.expect("in"); err != nil {
		return nil, err
	}
	if r.Axis, err = p.ident("the name of an axis"); err != nil {
		return nil, err
	}
	if err := p.expect("="); err != nil {
		return nil, err
	}
	if r.Extent, err = p.int("the axis' extent"); err != nil {
		return nil, err
	}
	if err := p.expect("by"); err != nil {
		return nil, err
	}
	if r.Size, err = p.int("the size of a block"); err != nil {
		return nil, err
	}
	r.Reversed = p.accept("reversed")
	return r, nil
}

func (s *scope) introduce(r *Range) error {
	if slices.ContainsFunc(s.ranges, func(x *Range) bool { return x.Name == r.Name }) {
		return fmt.Errorf("found a second range %s; expected a name that no range around it has", r.Name)
	}
	r.order = len(s.ranges)
	s.ranges = append(slices.Clip(s.ranges), r)
	return nil
}
