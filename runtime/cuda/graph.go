package cuda

import (
	"fmt"

	"ptc/internal/collective"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// span is a range of instructions as graphs, with what the host does between them.
type span struct{ parts []part }

// part is a graph, or what the host does.
type part struct {
	exec   uintptr
	launch ready
	op     func() error
	mixed  *mixed // exchanges that the graph has; nil: it is not to have any
}

// maxSpans bounds the ranges of a program that are graphs, or will be when they recur: a search
// through all instructions makes none.
const maxSpans = 64

// known is a range of instructions as graphs, or nil where it is run for the first time.
func (p *captured) known(from, to int) (*span, error) {
	_, seen := p.spans[[2]int{from, to}]
	if !seen {
		if len(p.spans) < maxSpans {
			p.spans[[2]int{from, to}] = nil
		}
		return nil, nil
	}
	return p.span(from, to)
}

// span is a range of instructions as graphs.
func (p *captured) span(from, to int) (*span, error) {
	if s := p.spans[[2]int{from, to}]; s != nil {
		return s, nil
	}
	s, err := p.newSpan(from, to, nil)
	if err == nil {
		p.spans[[2]int{from, to}] = s
	}
	return s, err
}

// newSpan makes the graphs of a range. Where exchanges are captured, that is one.
func (p *captured) newSpan(from, to int, capturer device.Capturer) (*span, error) {
	s := &span{}
	at := from
	for i := from; i <= to; i++ {
		if i < to && (p.acts[i].op == nil || capturer != nil) {
			continue
		}
		x, err := p.newPart(at, i, at == 0 && from == 0, i == to, capturer)
		if err != nil {
			p.freeSpan(s)
			return nil, err
		}
		s.parts = append(s.parts, x...)
		if i < to {
			s.parts = append(s.parts, part{op: p.acts[i].op})
		}
		at = i + 1
	}
	return s, nil
}

// newPart makes the graph of instructions, if there is something to do.
func (p *captured) newPart(from, to int, ins, outs bool, capturer device.Capturer) ([]part, error) {
	m, err := p.mix(from, to, capturer)
	if err != nil {
		return nil, err
	}
	defer m.free(p.e.drv)
	exec, err := p.graph(from, to, ins, outs, m)
	switch {
	case err != nil:
		return nil, p.failed(p.noGraph(to-from, err))
	case exec == 0:
		return nil, nil
	}
	return []part{{exec: exec, launch: ready{"cuGraphLaunch", p.e.drv.graphLaunch, []uintptr{exec, p.e.stream}}, mixed: m}}, nil
}

// noGraph is the error of a graph of so many instructions that could not be made.
func (p *captured) noGraph(instrs int, err error) error {
	if code(err) != outOfMemory {
		return err
	}
	return &device.MemoryError{Msg: fmt.Sprintf("there is no room for a graph of %d instructions", instrs), Err: err}
}

// run launches graphs, one behind the other, and has the host do its part between them.
func (p *captured) run(s *span) error {
	for i := range s.parts {
		x := &s.parts[i]
		if x.op != nil {
			if err := x.op(); err != nil {
				return err
			}
			continue
		}
		if err := x.mixed.replay(p.e.stream); err != nil {
			return err
		}
		if err := p.e.drv.do(&x.launch); err != nil {
			return p.failed(err)
		}
	}
	return nil
}

func (p *captured) free() {
	for _, s := range p.spans {
		p.freeSpan(s)
	}
	for _, s := range p.joints {
		p.freeSpan(s)
	}
	p.spans, p.joints = nil, nil
}

func (p *captured) freeSpan(s *span) {
	if s == nil {
		return
	}
	for i := range s.parts {
		if x := s.parts[i].exec; x != 0 {
			_ = p.e.drv.freeExec(x)
		}
	}
}

// builder makes the nodes of a graph.
//
//	before   what all nodes of the group depend on
//	group    an instruction that waits, and those behind it that need not
//
// A copy that is only started is in no group: nothing but its done depends on it. Nor is an exchange that is,
// or a message that is sent, once it was copied to where it travels from.
type builder struct {
	e             *engine
	graph         uintptr
	before, group []uintptr
	started       map[int][]uintptr // by instruction
	worked        uintptr           // what uses the library's workspace last; 0: nothing
	mixed         *mixed            // exchanges; nil: there are none
	nodes         int
}

// graph makes a graph of the instructions [from, to), of which the host does none; 0 if there is
// nothing to do.
func (p *captured) graph(from, to int, ins, outs bool, m *mixed) (exec uintptr, err error) {
	g, err := p.e.drv.newGraph()
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.e.drv.freeGraph(g) }()
	b := &builder{e: p.e, graph: g, started: map[int][]uintptr{}, mixed: m}
	if ins {
		if err := b.copies(p.ports.ins, p.ports.overlap); err != nil {
			return 0, err
		}
		b.wait()
	}
	for i := from; i < to; i++ {
		if err := b.instr(i, &p.instrs[i], &p.acts[i]); err != nil {
			return 0, p.unable(i, err)
		}
	}
	if outs {
		b.wait()
		if err := b.copies(p.ports.outs, false); err != nil {
			return 0, err
		}
	}
	if b.nodes == 0 {
		return 0, nil
	}
	return p.e.drv.instantiate(g)
}

// wait begins a group.
func (b *builder) wait() {
	if len(b.group) > 0 {
		b.before, b.group = b.group, nil
	}
}

func (b *builder) instr(i int, in *program.Instr, a *act) error {
	if !in.NoWait && !in.With {
		b.wait()
	}
	switch c := in.Comm; {
	case a.products != nil:
		return b.products(a.products)
	case a.kernel != nil:
		return b.add(func(after []uintptr) (uintptr, error) { return b.e.drv.addKernel(b.graph, after, a.kernel) })
	case c == nil:
		return nil
	case a.enqueued != nil:
		return b.exchange(i, c.Start)
	case c.Kind == collective.Done:
		if nodes := b.started[c.Of]; len(nodes) > 0 {
			b.before = append(append([]uintptr(nil), b.before...), nodes...)
		}
		return nil
	case c.Start:
		err := b.copies(a.copies, false)
		b.started[i], b.group = b.group, nil
		return err
	}
	return b.copies(a.copies, false)
}

// copies adds copies to the group, which chained depend on one another.
func (b *builder) copies(list []transfer, chained bool) error {
	for i := range list {
		if chained {
			b.wait()
		}
		err := b.add(func(after []uintptr) (uintptr, error) { return b.e.drv.addCopy(b.graph, after, &list[i], b.e.context) })
		if err != nil {
			return err
		}
	}
	return nil
}

// many is how many nodes a group depends on at most, where it has several of its own: a node of
// nothing between them makes sums of what were products.
const many = 4

// add adds a node to the group.
func (b *builder) add(node func(after []uintptr) (uintptr, error)) error {
	if len(b.group) > 0 && len(b.before) > many {
		n, err := b.e.drv.addEmpty(b.graph, b.before)
		if err != nil {
			return err
		}
		b.before = []uintptr{n}
	}
	n, err := node(b.before)
	if err != nil {
		return err
	}
	b.group = append(b.group, n)
	b.nodes++
	return nil
}
