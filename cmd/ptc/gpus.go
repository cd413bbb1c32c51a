package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"ptc/runtime/comm"
	"ptc/runtime/comm/nccl"
	"ptc/runtime/cuda"
	"ptc/runtime/program"
)

// How GPUs of several processes exchange what is in their memory.
const (
	byBest = "auto" // by NCCL where all processes can
	byNCCL = "nccl"
	byHost = "host" // through memory of the host
)

// errNoGPUs says that a process has nothing of its own to exchange on a GPU.
var errNoGPUs = errors.New("the plan is not for GPUs")

// onGPUs puts NCCL over the communication of processes whose plan is for GPUs, and says which way
// was taken. All processes ask one another, so that one alone takes no other way, whatever plan it
// was given: that is compared later.
func onGPUs(end comm.Device, plan *program.Plan, how string, timeout time.Duration, tell io.Writer) (comm.Device, error) {
	if end.Mesh().Size() == 1 {
		return end, nil
	}
	id, why := [16]byte{}, error(nil)
	switch {
	case plan.CodeKind(&plan.Devices[0]) != cuda.Kind:
		why = errNoGPUs
	case how == byHost:
		why = errors.New("--comm host")
	default:
		if id, why = cuda.UUID(end.Rank()); why == nil {
			_, why = nccl.Available()
		}
	}
	err := nccl.Agree(end, id, why)
	if c := (*comm.Error)(nil); errors.As(err, &c) && c.Reason != comm.ReasonLaunch {
		return nil, err // the processes could not ask one another
	}
	switch {
	case err == nil:
	case why == errNoGPUs:
		return end, nil
	case how == byNCCL:
		return nil, &comm.Error{Reason: comm.ReasonLaunch, Rank: end.Rank(), Msg: "GPUs cannot exchange by NCCL, as --comm nccl asks", Err: err}
	default:
		if end.Rank() == 0 {
			fmt.Fprintf(tell, "GPUs exchange through memory of the host: %v\n", err)
		}
		return end, nil
	}
	streams := plan.Streams()
	if end.Rank() == 0 {
		text, _ := nccl.Available()
		if streams == 0 {
			text += ", messages through memory of the host: their order needs tags"
		}
		fmt.Fprintf(tell, "GPUs exchange by %s\n", text)
	}
	return nccl.Over(end, nccl.Options{Timeout: timeout, InFlight: program.InFlight, Streams: streams})
}
