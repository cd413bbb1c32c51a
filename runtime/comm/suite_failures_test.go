package comm_test

import (
	"crypto/sha256"
	"errors"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// failureDevices is the number of devices for which failures are written.
const failureDevices = 3

// failures are programs of one device in which something goes wrong, by name.
// stall keeps a device away for longer than the timeout.
var failures = map[string]func(d comm.Device, stall func()) error{
	"stall": func(d comm.Device, stall func()) error {
		return sequence(d, func(step int) error {
			if step == 3 && d.Rank() == 1 {
				stall()
			}
			return nil
		})
	},
	"error": func(d comm.Device, _ func()) error {
		return sequence(d, func(step int) error {
			if step == 3 && d.Rank() == 1 {
				return errors.New("the disk is full")
			}
			return nil
		})
	},
	"panic": func(d comm.Device, _ func()) error {
		return sequence(d, func(step int) error {
			if step == 3 && d.Rank() == 1 {
				panic("index out of range")
			}
			return nil
		})
	},
	"kinds": func(d comm.Device, _ func()) error {
		return differ(d, func(op *comm.Op) { op.Kind = collective.Broadcast })
	},
	"sizes": func(d comm.Device, _ func()) error {
		return differ(d, func(op *comm.Op) { op.Inner = 2; op.Src, op.Dst = op.Src.Slice(0, 8), op.Dst.Slice(0, 8) })
	},
	"labels": func(d comm.Device, _ func()) error {
		return differ(d, func(op *comm.Op) { op.Label = "blocks.1" })
	},
	"receiver": func(d comm.Device, stall func()) error { // nobody sends
		if d.Rank() == 2 {
			buf := make([]byte, 4)
			return runOp(d, comm.Op{Kind: collective.Recv, DType: dtype.F32, Inner: 1, Dst: device.Bytes(buf), Peer: 0, Label: "activations"})
		}
		stall()
		return nil
	},
	"messages": func(d comm.Device, stall func()) error { // a message of another length
		buf := make([]byte, 400)
		switch d.Rank() {
		case 0:
			return runOp(d, comm.Op{Kind: collective.Send, DType: dtype.F32, Inner: 50, Src: device.Bytes(buf[:200]), Peer: 2})
		case 2:
			return runOp(d, comm.Op{Kind: collective.Recv, DType: dtype.F32, Inner: 100, Dst: device.Bytes(buf), Peer: 0})
		}
		stall()
		return nil
	},
	"plans": func(d comm.Device, _ func()) error {
		return comm.SamePlan(d, sha256.Sum256([]byte{byte(d.Rank() / 2)}))
	},
}

// failureMessages are regular expressions for what is said of each of failures.
var failureMessages = map[string]string{
	"stall":    `rank 1 did not reach all_reduce #4 blocks\.0 over all devices: rank [02] has waited for `,
	"error":    `the disk is full`,
	"panic":    `device 1 panicked.*index out of range`,
	"kinds":    `rank \d issued (all_reduce \(sum\)|broadcast) of f32\[4\].* while rank \d issued (all_reduce|broadcast)`,
	"sizes":    `rank \d issued all_reduce \(sum\) of f32\[[24]\] blocks.0 over all devices while rank \d issued all_reduce \(sum\) of f32\[[24]\]`,
	"labels":   `rank \d issued .* blocks\.[01] .* while rank \d issued .* blocks\.[01]`,
	"receiver": `rank 0 did not reach recv #1 activations from rank 0: rank 2 has waited for `,
	"messages": `rank 2 expected 400 bytes from rank 0 in recv #1|rank [02] issued (send|recv) of f32\[\d+\] while rank [02] issued (send|recv) of f32\[\d+\]`,
	"plans":    `rank 2 and rank 0 run different plans \([0-9a-f]{12} and [0-9a-f]{12}\)`,
}

// sequence all-reduces among all devices, calling before ahead of each step.
func sequence(d comm.Device, before func(step int) error) error {
	buf := make([]byte, 16)
	call, err := d.Prepare(comm.Op{Kind: collective.AllReduce, Group: d.Mesh().World(), DType: dtype.F32,
		Inner: 4, Src: device.Bytes(buf), Dst: device.Bytes(buf), Label: "blocks.0"})
	if err != nil {
		return err
	}
	for step := range 5 {
		if err := before(step); err != nil {
			return err
		}
		if err := call.Run(); err != nil {
			return err
		}
	}
	return nil
}

// differ has device 1 issue another operation than the rest.
func differ(d comm.Device, change func(*comm.Op)) error {
	buf := make([]byte, 16)
	op := comm.Op{Kind: collective.AllReduce, Group: d.Mesh().World(), DType: dtype.F32, Inner: 4, Src: device.Bytes(buf), Dst: device.Bytes(buf), Label: "blocks.0"}
	if d.Rank() == 1 {
		change(&op)
	}
	return runOp(d, op)
}

func runOp(d comm.Device, op comm.Op) error {
	call, err := d.Prepare(op)
	if err != nil {
		return err
	}
	return call.Run()
}
