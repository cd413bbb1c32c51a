package exec

import (
	"math"
	"unsafe"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// scalar is a number that a program reports: its loss or a stat. Devices that
// have it have the same.
type scalar struct {
	role, path string
	first      int // the lowest rank that has it
	devices    int // that have it
	f32        *float32
	f64        *float64 // in a port of a device of this process, or in a report
}

// value is NaN where there is none.
func (s *scalar) value() float64 {
	switch {
	case s == nil:
	case s.f32 != nil:
		return float64(*s.f32)
	case s.f64 != nil:
		return *s.f64
	}
	return math.NaN()
}

// report tells all processes the scalars that only some devices have, as those
// of the last stage of a pipeline do.
type report struct {
	from    int // rank
	scalars []*scalar
	own     []scalar // where rank from has them
	values  []float64
	call    comm.Call
}

// bindScalar adds a device's port, also of a device of another process.
func (p *Program) bindScalar(d *logical, port *program.Port, mem []byte) {
	path := port.Path
	if port.Role == program.RoleLoss {
		path = ""
	}
	s := p.scalar(port.Role, path)
	if s == nil {
		s = &scalar{role: port.Role, path: path, first: d.rank}
		p.scalars = append(p.scalars, s)
		if port.Role == program.RoleStat {
			p.stats = append(p.stats, path)
		}
	}
	s.devices++
	if s.f32 != nil || s.f64 != nil || mem == nil {
		return
	}
	if len(mem) == 8 {
		s.f64 = &elements[float64](mem)[0]
	} else {
		s.f32 = &elements[float32](mem)[0]
	}
}

func (p *Program) scalar(role, path string) *scalar {
	for _, s := range p.scalars {
		if s.role == role && s.path == path {
			return s
		}
	}
	return nil
}

// bindReports prepares what all processes must be told; each comes to the same
// list.
func (p *Program) bindReports() error {
	if !p.m.Shared() {
		return nil
	}
	d := p.m.devices[0]
	for rank := range p.m.ranks {
		r := report{from: rank}
		for _, s := range p.scalars {
			if s.first == rank && s.devices < len(p.m.ranks) {
				r.scalars, r.own = append(r.scalars, s), append(r.own, *s)
			}
		}
		n := len(r.scalars)
		if n == 0 {
			continue
		}
		r.values = make([]float64, n)
		for i, s := range r.scalars {
			s.f32, s.f64 = nil, &r.values[i]
		}
		mem := unsafe.Slice((*byte)(unsafe.Pointer(&r.values[0])), 8*n)
		var err error
		r.call, err = d.comm.Prepare(comm.Op{Kind: collective.Broadcast, Group: d.comm.Mesh().World(), DType: dtype.F64, Inner: n,
			Root: rank, Src: device.Bytes(mem), Dst: device.Bytes(mem), Label: "loss and statistics"})
		if err != nil {
			return errorf(ReasonBug, err, "the loss of program %s cannot be told to all processes", p.name)
		}
		p.reports = append(p.reports, r)
	}
	return nil
}

// report tells all processes the scalars of a run.
func (p *Program) report() error {
	for i := range p.reports {
		r := &p.reports[i]
		if r.from == p.m.devices[0].rank {
			for k := range r.own {
				r.values[k] = r.own[k].value()
			}
		}
		if err := r.call.Run(); err != nil {
			return errorf(ReasonComm, err, "the loss of program %s cannot be told to all processes", p.name)
		}
	}
	return nil
}
