package cost

import "ptc/foresight/machine"

// Sharing says how the devices of a plan share the processors of their hosts. The zero value shares nothing.
type Sharing struct {
	Devices    int64 // of the plan
	Capacity   int64 // processors of all hosts that have some of them; 0: each device has its own
	Processors int64 // of one host
	Threads    int64 // that a device computes on, as the runtime gives each device of a process its part
}

// Among is the model for a plan of so many devices. Where the machine's devices are parts of the described one, they
// divide its processors.
func (m *Model) Among(devices int) *Model {
	out := *m
	if !m.Machine.Host.Shared {
		return &out
	}
	n, p := int64(max(devices, 1)), int64(max(m.Device.Processors, 1))
	of := int64(max(m.Machine.Host.Devices, 1)) // of one host
	out.Sharing = Sharing{Devices: n, Capacity: p * blocks(n, of), Processors: p, Threads: max(1, p/min(n, of))}
	return &out
}

// Part is how long work takes on one device, where t is its time on all processors of the host. It has so many tasks, which
// run one on each processor; 0 is any number.
func (s *Sharing) Part(t machine.PS, tasks int64) machine.PS {
	if s.Capacity == 0 {
		return t
	}
	if tasks <= 0 {
		tasks = s.Processors
	}
	return machine.PS(ceilDiv(int64(t), min(tasks, s.Processors), min(tasks, s.Threads)))
}

// Crowd is by how much devices that compute at the same time exceed the processors: what one of them does takes wanted/capacity
// times as long.
func (s *Sharing) Crowd(devices int64) (capacity, wanted int64) {
	if s.Capacity == 0 {
		return 1, 1
	}
	return s.Capacity, max(s.Capacity, devices*s.Threads)
}
