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

// at has the number be that of a port.
func (s *scalar) at(mem []byte) {
	if len(mem) == 8 {
		s.f64 = &elements[float64](mem)[0]
	} else {
		s.f32 = &elements[float32](mem)[0]
	}
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

// results are what the last run of a program reported.
type results struct {
	scalars []*scalar
	stats   []string
	reports []report
	// late are the stats that a run which stops before its update may not have computed,
	// and stopped is whether the last one did.
	late    map[string]bool
	stopped bool
}

// bind adds a device's port, also of a device of another process.
func (r *results) bind(d *logical, port *program.Port, mem []byte) {
	path := port.Path
	if port.Role == program.RoleLoss {
		path = ""
	}
	s := r.scalar(port.Role, path)
	if s == nil {
		s = &scalar{role: port.Role, path: path, first: d.rank}
		r.scalars = append(r.scalars, s)
		if port.Role == program.RoleStat {
			r.stats = append(r.stats, path)
		}
	}
	s.devices++
	if s.f32 == nil && s.f64 == nil && mem != nil {
		s.at(mem)
	}
}

func (r *results) scalar(role, path string) *scalar {
	for _, s := range r.scalars {
		if s.role == role && s.path == path {
			return s
		}
	}
	return nil
}

// bindReports prepares what all processes must be told; each comes to the same
// list.
func (r *results) bindReports(c *crew, program string) error {
	if !c.Shared() {
		return nil
	}
	d := c.devices[0]
	for rank := range c.ranks {
		x := report{from: rank}
		for _, s := range r.scalars {
			if s.first == rank && s.devices < len(c.ranks) {
				x.scalars, x.own = append(x.scalars, s), append(x.own, *s)
			}
		}
		n := len(x.scalars)
		if n == 0 {
			continue
		}
		x.values = make([]float64, n)
		for i, s := range x.scalars {
			s.f32, s.f64 = nil, &x.values[i]
		}
		mem := unsafe.Slice((*byte)(unsafe.Pointer(&x.values[0])), 8*n)
		var err error
		x.call, err = d.comm.Prepare(comm.Op{Kind: collective.Broadcast, Group: d.comm.Mesh().World(), DType: dtype.F64, Inner: n,
			Root: rank, Src: device.Bytes(mem), Dst: device.Bytes(mem), Label: "loss and statistics"})
		if err != nil {
			return errorf(ReasonBug, err, "ptc cannot send the loss of program %s to all processes", program)
		}
		r.reports = append(r.reports, x)
	}
	return nil
}

// report tells all processes the scalars of a run; own is the rank of this one's first device.
func (r *results) report(own int, program string) error {
	for i := range r.reports {
		x := &r.reports[i]
		if x.from == own {
			for k := range x.own {
				x.values[k] = x.own[k].value()
			}
		}
		if err := x.call.Run(); err != nil {
			return errorf(ReasonComm, err, "ptc cannot send the loss of program %s to all processes", program)
		}
	}
	return nil
}

// Loss is the loss of the last run, NaN for a program without one. Devices that
// have it have the same.
func (r *results) Loss() float64 { return r.scalar(program.RoleLoss, "").value() }

// Stats are the names of the scalars that the program reports besides the
// loss, in the order of the plan.
func (r *results) Stats() []string { return r.stats }

// Known reports whether the last run computed the stat of that name, if there is one: one
// that stopped before its update may not have.
func (r *results) Known(name string) bool { return !r.stopped || !r.late[name] }

// Stat is a scalar of the last run, such as grad_norm or lr. It is NaN where the run
// stopped before its update and before the scalar was computed.
func (r *results) Stat(name string) (value float64, ok bool) {
	s := r.scalar(program.RoleStat, name)
	if s == nil {
		return 0, false
	}
	if !r.Known(name) {
		return math.NaN(), true
	}
	return s.value(), true
}
