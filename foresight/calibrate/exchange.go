package calibrate

import (
	"errors"
	"fmt"
	"time"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	_ "ptc/runtime/comm/local" // whose exchanges are measured
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// exchanges are the times of all-reduces among devices of one process.
type exchanges struct {
	start float64 // seconds of one of a few bytes
	rate  float64 // bytes/s that all processors together read and write
}

// The sizes of the all-reduces that are measured, and how often each is.
const (
	fewBytes       = 64
	manyBytes      = 1 << 20
	exchangeRounds = 31
)

// measureExchanges times all-reduces among so many devices, each on a goroutine of its own, as a run has them.
func measureExchanges(devices int) (*exchanges, error) {
	few, err := allReduce(devices, fewBytes)
	if err != nil {
		return nil, err
	}
	many, err := allReduce(devices, manyBytes)
	if err != nil {
		return nil, err
	}
	return &exchanges{start: few, rate: 2 * manyBytes * float64(devices) / max(many-few, 1e-9)}, nil
}

// allReduce is the seconds of an all-reduce of f32, in place.
func allReduce(devices, bytes int) (float64, error) {
	mesh, err := comm.NewMesh(program.Mesh{{Name: "d", Size: devices}})
	if err != nil {
		return 0, err
	}
	ends, err := comm.Open("local", mesh, comm.Options{})
	if err != nil {
		return 0, err
	}
	defer func() {
		for _, e := range ends {
			_ = e.Close() // nothing is under way
		}
	}()
	group, err := mesh.Group("d")
	if err != nil {
		return 0, err
	}
	calls := make([]comm.Call, devices)
	for i, e := range ends {
		at := device.Bytes(device.Aligned(int64(bytes)))
		op := comm.Op{Kind: collective.AllReduce, Label: "calibrate", Group: group, DType: dtype.F32, Inner: bytes / 4, Src: at, Dst: at}
		if calls[i], err = e.Prepare(op); err != nil {
			return 0, err
		}
	}
	// So many follow one another that starting the goroutines does not count.
	each := max(8, min(512, manyBytes/bytes))
	var list []float64
	for range exchangeRounds {
		begin := time.Now()
		if err := together(calls, each); err != nil {
			return 0, fmt.Errorf("measuring exchanges: %w", err)
		}
		list = append(list, time.Since(begin).Seconds()/float64(each))
	}
	return quartile(list), nil
}

// together has each device run its call so many times.
func together(calls []comm.Call, times int) error {
	ended := make(chan error, len(calls))
	for _, c := range calls {
		go func() {
			for range times {
				if err := c.Run(); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	var errs []error
	for range calls {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}
