package eval

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/tensor"
)

// channel names the messages with o's tag from one device to another.
func (ex *exchange) channel(from, to int, o *ir.Op) string {
	return fmt.Sprintf("message %d from device %d to device %d", o.Attrs.Int("tag", 0), from, to)
}

// peer is the device with which o of a device exchanges a message.
func (ex *exchange) peer(device int, o *ir.Op) (int, error) {
	over := o.Attrs.Names("over")[0]
	coord := tensor.Coord(ex.mesh, device)
	rank, found := 0, false
	for _, a := range ex.mesh {
		c := coord[a.Name]
		if a.Name == over {
			c, found = int(o.Attrs.Int("peer", 0)), true
			if c >= a.Size {
				return 0, fmt.Errorf("%s: mesh axis `%s` has no coordinate %d", o.Name, over, c)
			}
		}
		rank = rank*a.Size + c
	}
	if !found {
		return 0, fmt.Errorf("the mesh has no axis `%s`", over)
	}
	return rank, nil
}

// sender is the [op.Context] Send of a device: messages do not wait.
func (ex *exchange) sender(device int) func(*ir.Op, *tensor.Tensor) error {
	return func(o *ir.Op, t *tensor.Tensor) error {
		to, err := ex.peer(device, o)
		if err != nil {
			return err
		}
		ex.mu.Lock()
		defer ex.mu.Unlock()
		c := ex.channel(device, to, o)
		ex.mail[c] = append(ex.mail[c], t)
		ex.cond.Broadcast()
		return nil
	}
}

// receiver is the [op.Context] Recv of a device: it waits for the message.
func (ex *exchange) receiver(device int) func(*ir.Op) (*tensor.Tensor, error) {
	return func(o *ir.Op) (*tensor.Tensor, error) {
		from, err := ex.peer(device, o)
		if err != nil {
			return nil, err
		}
		ex.mu.Lock()
		defer ex.mu.Unlock()
		c := ex.channel(from, device, o)
		ex.asleep[device] = c
		ex.stuck()
		for len(ex.mail[c]) == 0 && ex.failed == nil {
			ex.cond.Wait()
		}
		delete(ex.asleep, device)
		if len(ex.mail[c]) == 0 {
			return nil, errAborted
		}
		t := ex.mail[c][0]
		ex.mail[c] = ex.mail[c][1:]
		if t.Type.Elems() != o.Results[0].Type.Elems() || t.Type.DType != o.Results[0].Type.DType {
			return nil, fmt.Errorf("%s is %s, the receiver expects %s", c, t.Type, o.Results[0].Type)
		}
		return &tensor.Tensor{Type: o.Results[0].Type, Data: t.Data}, nil
	}
}
