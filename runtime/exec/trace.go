package exec

import (
	"slices"
	"strings"
	"time"

	"ptc/runtime/device"
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
// by device of this process. The results are those of Run, and nothing runs concurrently with a launch
// on its device. Times are those of the device where it has a clock; else the host's,
// which include entering native code for each instruction.
func (p *Program) Trace(report func(Span)) error {
	if p.crew.closed {
		return errClosed
	}
	spans := make([][]Span, len(p.crew.ranks))
	err := p.crew.each(func(d *logical) (err error) {
		spans[d.rank], err = p.trace(d)
		return err
	})
	for _, list := range spans {
		for _, s := range list {
			report(s)
		}
	}
	return p.ended(err)
}

// trace runs the program on one device.
func (p *Program) trace(d *logical) ([]Span, error) {
	list, cuts := p.launches(d)
	g := &p.guards[d.rank]
	for from := 0; from < len(list); {
		to := len(list)
		if at := slices.Index(cuts, g.at); g.at > 0 && at == from {
			bad, err := g.bad()
			if err != nil {
				return nil, errorf(ReasonComm, err, "program %s failed", p.name)
			}
			if bad {
				return list[:from], d.endAt(p.index, g.at)
			}
		} else if g.at > 0 && at > from {
			to = min(to, at)
		}
		if err := d.timed(p.index, cuts[from:to+1], list[from:to]); err != nil {
			return nil, err
		}
		from = to
	}
	return list, nil
}

// launches are those of a device, without their times, and where each begins, and all end.
func (p *Program) launches(d *logical) (list []Span, cuts []int) {
	instrs := d.prog.Progs[p.index].Instrs
	for i, to := 0, 0; i < len(instrs); i = to {
		in := &instrs[i]
		for to = i + 1; to < len(instrs) && instrs[to].With && to != p.guards[d.rank].at; {
			to++
		}
		s := Span{Rank: d.rank, Instr: i, In: in}
		if c := in.Comm; c != nil {
			s.Kernel, s.Class, s.Bytes = strings.TrimSpace(c.Kind+" "+strings.Join(c.Over, ",")), "comm", c.Bytes
		} else {
			k := &p.crew.plan.Kernels[in.Kernel]
			s.Kernel, s.Class, s.Flops, s.Bytes = k.Name, k.Class, k.Flops*int64(to-i), k.Bytes*int64(to-i)
		}
		list, cuts = append(list, s), append(cuts, i)
	}
	return list, append(cuts, len(instrs))
}

// timed runs launches, each from a cut to the next, and sets their times.
func (d *logical) timed(prog int, cuts []int, list []Span) error {
	if t, ok := d.progs[prog].(device.Timed); ok {
		spans := make([]device.Interval, len(list))
		err := d.failed(prog, t.StepTimed(cuts, spans))
		for i := range list {
			list[i].Start, list[i].End = spans[i].Start, spans[i].End
		}
		return err
	}
	for i := range list {
		list[i].Start = time.Now()
		if err := d.step(prog, cuts[i], cuts[i+1]); err != nil {
			return err
		}
		list[i].End = time.Now()
	}
	return nil
}
