package host

import (
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// ports are the staging of a program's ports: by their number, the bytes that the
// caller has and those of the arena.
type ports struct {
	staged, arena [][]byte
	ins, outs     []int
}

func newPorts(e *engine, prog int) ports {
	all := e.r.Device.Ports
	p := ports{staged: make([][]byte, len(all)), arena: make([][]byte, len(all))}
	for i := range all {
		if all[i].Program != e.r.Device.Progs[prog].Name || all[i].Role == program.RoleGrad {
			continue
		}
		p.arena[i] = e.bytes(all[i].Buffer)
		p.staged[i] = device.Aligned(int64(len(p.arena[i])))
		if all[i].In() {
			p.ins = append(p.ins, i)
		} else {
			p.outs = append(p.outs, i)
		}
	}
	return p
}

func (p *ports) of(i int) []byte { return p.staged[i] }

// in gives the program what was staged. It is done for every run: the memory may
// have been used for something else since.
func (p *ports) in() {
	for _, i := range p.ins {
		copy(p.arena[i], p.staged[i])
	}
}

func (p *ports) out() {
	for _, i := range p.outs {
		copy(p.staged[i], p.arena[i])
	}
}
