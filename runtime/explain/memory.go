package explain

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/units"
	"ptc/runtime/program"
)

// Memory is in bytes.
type Memory struct {
	Peak  []int64                 `json:"peak_bytes_per_device"` // by class, of device memory
	Host  []int64                 `json:"host_bytes_per_device"` // what is offloaded, by class
	Disk  []int64                 `json:"disk_bytes_per_device"`
	Arena map[program.Space]int64 `json:"arena"` // of the device with the largest

	// Stages are the parts of each class of devices' arena.
	Stages []Stage `json:"stages"`

	// Communicators are those of NCCL that the device with the most needs where its processes exchange by
	// that: memory in addition to the arena, which is an estimate; nil where there are none, or no GPUs.
	Communicators *Communicators `json:"communicators,omitempty"`
}

// Communicators are how many of NCCL's there are, and what they are estimated to take.
type Communicators struct {
	program.Communicators
	Least int64 `json:"least_bytes"`
	Most  int64 `json:"most_bytes"`
}

func communicatorsOf(p *program.Plan) (out *Communicators) {
	if !strings.HasPrefix(p.Target, "cuda") {
		return nil
	}
	for i := range p.Devices {
		c := p.Devices[i].Communicators(p.Mesh)
		least, most := c.Bytes()
		if most > 0 && (out == nil || most > out.Most) {
			out = &Communicators{c, least, most}
		}
	}
	return out
}

// spaces are the kinds of memory in the order in which they are shown.
var spaces = []program.Space{program.Params, program.Grads, program.Optimizer,
	program.Activations, program.Scratch, program.Inputs}

// MemoryOf is what each class of devices needs, and what for.
func MemoryOf(p *program.Plan) Memory {
	n := len(p.Devices)
	m := Memory{Peak: make([]int64, n), Host: make([]int64, n), Disk: make([]int64, n), Arena: map[program.Space]int64{}}
	var largest *program.Device
	for i := range p.Devices {
		d := &p.Devices[i]
		if largest == nil || d.Arena > largest.Arena {
			largest = d
		}
		m.Peak[i], m.Host[i], m.Disk[i] = d.Arena, d.Host, d.Disk
	}
	for _, s := range spaces {
		m.Arena[s] = covered(largest, s)
	}
	m.Communicators = communicatorsOf(p)
	return m
}

// most is the largest of the devices'.
func most(bytes []int64) int64 { return slices.Max(append([]int64{0}, bytes...)) }

// memoryText is what a device needs at most, in one line.
func (d *Description) memoryText() string {
	text := units.Bytes(most(d.Memory.Peak)) + " per device"
	if n := most(d.Memory.Host); n > 0 {
		text += ", and " + units.Bytes(n) + " of the host"
	}
	if n := most(d.Memory.Disk); n > 0 {
		text += ", and " + units.Bytes(n) + " on disk"
	}
	return text
}

func memoryTable(b *strings.Builder, d *Description) {
	b.WriteString("\nMemory of a device, in bytes of its arena that ever hold\n")
	for _, s := range spaces {
		fmt.Fprintf(b, "  %-11s %10s\n", s, units.Bytes(d.Memory.Arena[s]))
	}
	for _, x := range []struct {
		label string
		bytes []int64
	}{{"on the host", d.Memory.Host}, {"on disk", d.Memory.Disk}} {
		if n := most(x.bytes); n > 0 {
			fmt.Fprintf(b, "  %-11s %10s\n", x.label, units.Bytes(n))
		}
	}
	if c := d.Memory.Communicators; c != nil {
		fmt.Fprintf(b, "  in addition, if GPUs communicate over NCCL, an estimated %s to %s for %d communicators\n", units.Bytes(c.Least), units.Bytes(c.Most), c.Groups+c.Links)
	}
	if least := slices.Min(append([]int64{most(d.Memory.Peak)}, d.Memory.Peak...)); least < most(d.Memory.Peak) {
		fmt.Fprintf(b, "  devices need from %s to %s\n", units.Bytes(least), units.Bytes(most(d.Memory.Peak)))
	}
}
