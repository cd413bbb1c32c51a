package pipeline

import "strconv"

// Placement says where the virtual stages are. It is data: a schedule lists the
// device of each stage in the order of the model, and all else follows from that.
// The chunks of a device are its stages, in the order of the model.
type Placement struct {
	device, chunk []int   // of each virtual stage
	stages        [][]int // of each device
}

// Place is the placement with these devices of the virtual stages.
func Place(devices []int) *Placement {
	p := &Placement{device: devices, chunk: make([]int, len(devices))}
	for s, d := range devices {
		for len(p.stages) <= d {
			p.stages = append(p.stages, nil)
		}
		p.chunk[s] = len(p.stages[d])
		p.stages[d] = append(p.stages[d], s)
	}
	return p
}

// Loop places stages round and round: with 2 devices and 2 chunks device 0 has
// stages 0 and 2, device 1 has 1 and 3.
func Loop(devices, chunks int) []int {
	out := make([]int, devices*chunks)
	for s := range out {
		out[s] = s % devices
	}
	return out
}

// Fold places stages there and back: with 2 devices and 2 chunks device 0 has
// stages 0 and 3, device 1 has 1 and 2. Two chunks have the shape of a V: the first
// device has both ends of the model, and at each fold two stages follow each other
// on one device.
func Fold(devices, chunks int) []int {
	out := Loop(devices, chunks)
	for s, d := range out {
		if s/devices%2 == 1 {
			out[s] = devices - 1 - d
		}
	}
	return out
}

// Device is the device of a virtual stage.
func (p *Placement) Device(stage int) int { return p.device[stage] }

// Stages are the virtual stages of a device, by chunk.
func (p *Placement) Stages(device int) []int { return p.stages[device] }

// Label names a slot as timelines do: F3, and F3.1 for chunk 1 where devices
// have several chunks.
func (p *Placement) Label(slot Slot) string {
	label := string(slot.Kind.Letter()) + strconv.Itoa(slot.Microbatch)
	if len(p.stages) < len(p.device) {
		label += "." + strconv.Itoa(p.chunk[slot.Stage])
	}
	return label
}
