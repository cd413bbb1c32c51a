package cuda

import (
	"fmt"

	"ptc/runtime/device"
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

// graphs are ranges of a program's instructions, which are graphs from the second time on that they run.
type graphs struct {
	*resolved
	spans    map[[2]int]*span // nil: it was run once
	joints   map[[2]int]*span // those that all devices run at the same point
	capturer device.Capturer  // captures exchanges in graphs of joint ranges; nil: they end graphs
}

// maxSpans bounds the ranges of a program that are graphs, or will be when they recur: a search
// through all instructions makes none.
const maxSpans = 64

// known is a range of instructions as graphs, or nil where it is run for the first time.
func (p *graphs) known(from, to int) (*span, error) {
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
func (p *graphs) span(from, to int) (*span, error) {
	if s := p.spans[[2]int{from, to}]; s != nil {
		return s, nil
	}
	s, err := p.newSpan(from, to, nil)
	if err == nil {
		p.spans[[2]int{from, to}] = s
	}
	return s, err
}

// joint runs a range that all devices run at the same point, from the second time on as graphs.
func (p *graphs) joint(from, to int) error {
	key := [2]int{from, to}
	s, seen := p.joints[key]
	if !seen {
		p.joints[key] = nil
		return p.one(from, to)
	}
	if s == nil {
		var err error
		if s, err = p.newSpan(from, to, p.capturer); err != nil {
			return err
		}
		p.joints[key] = s
	}
	return p.run(s)
}

// newSpan makes the graphs of a range. Where exchanges are captured, that is one.
func (p *graphs) newSpan(from, to int, capturer device.Capturer) (*span, error) {
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
func (p *graphs) newPart(from, to int, ins, outs bool, capturer device.Capturer) ([]part, error) {
	m, err := p.mix(from, to, capturer)
	if err != nil {
		return nil, err
	}
	defer m.free(p.drv)
	exec, err := p.graph(from, to, ins, outs, m)
	switch {
	case err != nil:
		return nil, p.failed(p.noGraph(to-from, err))
	case exec == 0:
		return nil, nil
	}
	return []part{{exec: exec, launch: ready{p.drv.GraphLaunch, []uintptr{exec, p.stream}}, mixed: m}}, nil
}

// noGraph is the error of a graph of so many instructions that could not be made.
func (p *graphs) noGraph(instrs int, err error) error {
	if code(err) != outOfMemory {
		return err
	}
	return &device.MemoryError{Msg: fmt.Sprintf("there is no room for a graph of %d instructions", instrs), Err: err}
}

// run launches graphs, one behind the other, and has the host do its part between them.
func (p *graphs) run(s *span) error {
	for i := range s.parts {
		x := &s.parts[i]
		if x.op != nil {
			if err := x.op(); err != nil {
				return err
			}
			continue
		}
		if err := x.mixed.replay(p.stream); err != nil {
			return err
		}
		if err := p.drv.do(&x.launch); err != nil {
			return p.failed(err)
		}
	}
	return nil
}

func (p *graphs) free() {
	for _, s := range p.spans {
		p.freeSpan(s)
	}
	for _, s := range p.joints {
		p.freeSpan(s)
	}
	p.spans, p.joints = nil, nil
}

func (p *graphs) freeSpan(s *span) {
	if s == nil {
		return
	}
	for i := range s.parts {
		if x := s.parts[i].exec; x != 0 {
			_ = p.drv.freeExec(x)
		}
	}
}

// graph makes a graph of the instructions [from, to), of which the host does none; 0 if there is
// nothing to do.
func (p *graphs) graph(from, to int, ins, outs bool, m *mixed) (exec uintptr, err error) {
	g, err := p.drv.newGraph()
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.drv.freeGraph(g) }()
	b := &builder{card: p.card, blas: p.blas, graph: g, started: map[int][]uintptr{}, mixed: m}
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
	return p.drv.instantiate(g)
}
