package exec

import (
	"time"

	"ptc/runtime/device"
)

// blocking counts how long its device is blocked in a communication: it waits for the
// others there, and for what they exchange. Who is late has others wait, and waits least.
type blocking struct {
	device.Call
	d *logical
}

func (b blocking) Run() error {
	begin := time.Now()
	err := b.Call.Run()
	b.d.blocked += time.Since(begin)
	return err
}

func (b blocking) Wait() error {
	begin := time.Now()
	err := b.Call.Wait()
	b.d.blocked += time.Since(begin)
	return err
}

// Blocked appends how long each device of this process, by rank, was blocked in the
// communication of its programs since it was opened, which is mostly waiting for the
// others. It is nothing where there is one device, and where a device communicates by
// itself, as GPUs do by NCCL: the host then knows no such times.
func (m *Machine) Blocked(to []time.Duration) []time.Duration {
	if len(m.ranks) < 2 {
		return to
	}
	for _, d := range m.devices {
		if d.enqueues {
			return to
		}
	}
	for _, d := range m.devices {
		to = append(to, d.blocked)
	}
	return to
}
