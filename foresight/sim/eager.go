package sim

import (
	"slices"

	"ptc/foresight/cost"
	"ptc/runtime/program"
)

// eager is the work of a plan's kernels as another software does it.
type eager struct {
	work Work
	none []bool // by kernel: the software has no such kernel
}

// eager is the work of a plan's kernels under these options.
func (o *Options) eager(p *program.Plan, work Work) eager {
	e := eager{work, make([]bool, len(work))}
	if !o.Narrow && !o.Autograd {
		return e
	}
	e.work = slices.Clone(work)
	seen := make([]bool, len(work))
	for i := range p.Devices {
		d := &p.Devices[i]
		x := &keeper{Options: o, device: d, writer: map[int]int{}}
		for n, in := range stepOf(d).Instrs {
			if in.Comm == nil {
				x.read(n, &in, &p.Kernels[in.Kernel])
				if !seen[in.Kernel] {
					e.kernel(in.Kernel, x)
				}
				seen[in.Kernel] = true
			}
		}
	}
	return e
}

// kernel is what a kernel does that was read last.
func (e *eager) kernel(k int, x *keeper) {
	parts := e.work[k]
	if len(parts) != 1 {
		return
	}
	one := parts[0]
	switch {
	case x.casts() || x.slices(&one):
		e.none[k] = true
	case x.places(&one):
		one.Bytes = 2 * x.least
	default:
		one.Bytes = max(one.Bytes-x.less, 0)
	}
	e.work[k] = []cost.Part{one}
}

// keeper follows which instruction wrote a buffer, and reads the arguments of one instruction after the other.
type keeper struct {
	*Options
	device *program.Device
	writer map[int]int

	others        bool    // the instruction has arguments that are no activations
	reads, writes []int64 // elements of its activations
	dtypes        []string
	least         int64 // bytes of the smallest activation
	less          int64 // bytes that the software neither reads nor writes
}

// value is the elements that a kernel has of one result, by the instruction that wrote it. What one kernel
// stores of the same elements are steps to one result.
type value struct {
	writer   int
	elements int64
	write    bool
}

// read reads the arguments of instruction n.
func (x *keeper) read(n int, in *program.Instr, k *program.Kernel) {
	x.others, x.reads, x.writes, x.dtypes, x.least, x.less = false, nil, nil, nil, 0, 0
	known := map[value]int64{}
	for j, b := range in.Bufs {
		buffer, arg := &x.device.Buffers[b], k.Args[j]
		size := floatBytes[buffer.DType]
		if size == 0 || buffer.Space != program.Activations && buffer.Space != program.Scratch {
			x.others = true
			continue
		}
		v := value{n, arg.Bytes / size, arg.Write}
		if w, ok := x.writer[b]; ok && !arg.Write {
			v.writer = w
		}
		if arg.Write {
			x.writer[b] = n
			x.writes = append(x.writes, v.elements)
		} else {
			x.reads = append(x.reads, v.elements)
		}
		x.dtypes = append(x.dtypes, buffer.DType)
		stored := arg.Bytes
		if x.Narrow && size == 4 {
			stored, x.less = arg.Bytes/2, x.less+arg.Bytes/2
		}
		if x.least == 0 || stored < x.least {
			x.least = stored
		}
		if have, ok := known[v]; ok && x.Autograd {
			x.less += max(have, stored)
			stored = min(have, stored)
		}
		known[v] = stored
	}
}

// floatBytes are the bytes of the dtypes that activations are computed in.
var floatBytes = map[string]int64{"f32": 4, "bf16": 2, "f16": 2}

// casts reports whether an instruction only converts between widths that the software does not have.
func (x *keeper) casts() bool {
	return x.Narrow && !x.others && len(x.reads) == 1 && len(x.writes) == 1 && x.reads[0] == x.writes[0] && x.dtypes[0] != x.dtypes[1]
}

// slices reports whether an instruction copies a part of a value, which is a view of it.
func (x *keeper) slices(p *cost.Part) bool {
	return x.Autograd && !x.others && p.Flops == 0 && len(x.reads) == 1 && len(x.writes) == 1 && x.reads[0] > x.writes[0]
}

// places reports whether an instruction puts a part of a value in its place, and leaves the rest.
func (x *keeper) places(p *cost.Part) bool {
	return x.Autograd && !x.others && p.Class == "scatter" && len(x.writes) == 1
}
