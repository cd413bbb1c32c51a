package exec

import (
	"strings"
	"time"

	"ptc/runtime/program"
)

// Span is the time that one instruction took on one device, or all that are launched
// together, of which it is the first. A communication has
// its kind and mesh axes for a kernel, and the class comm; its time is mostly
// that of waiting.
type Span struct {
	Rank       int
	Instr      int
	Kernel     string
	Class      string
	Flops      int64 // of the launch
	Bytes      int64 // of the launch, or the payload of the communication
	In         *program.Instr
	Start, End time.Time
}

// Trace is Run launch by launch, all of which it then reports, device
// by device of this process. The results are those of Run; the times include
// entering native code for each instruction, and nothing runs beside it on its
// device.
func (p *Program) Trace(report func(Span)) error {
	if p.m.closed {
		return errClosed
	}
	spans := make([][]Span, len(p.m.ranks))
	err := p.m.each(func(d *logical) error {
		instrs := d.prog.Progs[p.index].Instrs
		list := make([]Span, 0, len(instrs))
		for i, to := 0, 0; i < len(instrs); i = to {
			if g := &d.guards[p.index]; g.at > 0 && g.at == i {
				bad, err := g.bad()
				if err != nil {
					return errorf(ReasonComm, err, "program %s failed", p.name)
				}
				if bad {
					spans[d.rank] = list
					return d.endAt(p.index, i)
				}
			}
			in := &instrs[i]
			for to = i + 1; to < len(instrs) && instrs[to].With && to != d.guards[p.index].at; {
				to++
			}
			s := Span{Rank: d.rank, Instr: i, In: in}
			if c := in.Comm; c != nil {
				s.Kernel, s.Class, s.Bytes = strings.TrimSpace(c.Kind+" "+strings.Join(c.Over, ",")), "comm", c.Bytes
			} else {
				k := &p.m.plan.Kernels[in.Kernel]
				s.Kernel, s.Class, s.Flops, s.Bytes = k.Name, k.Class, k.Flops*int64(to-i), k.Bytes*int64(to-i)
			}
			s.Start = time.Now()
			if err := d.step(p.index, i, to); err != nil {
				return err
			}
			s.End = time.Now()
			list = append(list, s)
		}
		spans[d.rank] = list
		return nil
	})
	for _, list := range spans {
		for _, s := range list {
			report(s)
		}
	}
	if err != nil && err != ErrNotFinite {
		return err
	}
	if e := p.report(); e != nil {
		return e
	}
	return err
}
