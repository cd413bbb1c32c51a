package exec

import (
	"time"

	"ptc/runtime/device"
)

// blocking counts how long its device is blocked in a communication: it waits for the
// others there, and for what they exchange. Who is late has others wait, and waits least.
type blocking struct {
	device.Call
	blocked *time.Duration
}

func (b blocking) Run() error {
	begin := time.Now()
	err := b.Call.Run()
	*b.blocked += time.Since(begin)
	return err
}

func (b blocking) Wait() error {
	begin := time.Now()
	err := b.Call.Wait()
	*b.blocked += time.Since(begin)
	return err
}
