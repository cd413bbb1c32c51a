package nccl

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// Begin connects the lanes, in an order that is the same on all devices, so that none waits in a circle.
func (d *end) Begin() error {
	if d.begun {
		return d.Failed()
	}
	d.begun = true
	for _, l := range d.order {
		if err := l.begin(); err != nil {
			return d.fail(err)
		}
	}
	return nil
}

func (l *lane) begin() error {
	if err := l.allocate(); err != nil {
		return err
	}
	if l.alone() {
		return nil
	}
	if err := l.compare(); err != nil {
		return err
	}
	id, err := l.meet()
	if err != nil {
		return err
	}
	if err := l.completed(l.comm.connect(len(l.members), id, l.me)); err != nil {
		return l.fault("cannot be connected", err)
	}
	if err := l.register(); err != nil {
		return err
	}
	if l.group != nil {
		return nil
	}
	// The first message connects the two by waiting for both, which a later one must not.
	return l.first()
}

// first sends a byte.
func (l *lane) first() error {
	place := uintptr(l.scratch)
	if l.sends {
		place = uintptr(l.slots[0].at)
	}
	err := l.grouped(func() error {
		if l.sends {
			return l.send(place, 1, 1)
		}
		return l.recv(place, 1, 0)
	})
	if err != nil {
		return l.fault("cannot be connected", err)
	}
	return nil
}

// compare holds what the members have prepared against each other.
func (l *lane) compare() error {
	mine := sha256.Sum256([]byte(strings.Join(l.signatures, "\n")))
	all, err := l.tell(mine[:])
	if err != nil {
		return err
	}
	same := true
	for _, theirs := range all {
		same = same && string(theirs) == string(mine[:])
	}
	if same {
		return nil
	}
	for i := 0; ; i++ { // up to the first that differs
		text := make([]byte, textBytes)
		copy(text, "nothing more")
		if i < len(l.signatures) {
			clear(text)
			copy(text, l.signatures[i])
		}
		all, err := l.tell(text)
		if err != nil {
			return err
		}
		words := func(b []byte) string { return strings.ToValidUTF8(strings.TrimRight(string(b), "\x00"), "") }
		for j, theirs := range all {
			if k := l.me; j != k && words(theirs) != words(all[k]) {
				return comm.Differ(l.d.Rank(), l.name, words(all[k]), l.members[j], words(theirs), uint64(i+1))
			}
		}
		if i > len(l.signatures) {
			return l.fault("cannot be connected", fmt.Errorf("the members have prepared operations that differ beyond %d bytes of text", textBytes))
		}
	}
}

// textBytes is how much of a signature members tell one another.
const textBytes = 512

// tell gives what each member has to say, by coordinate.
func (l *lane) tell(mine []byte) ([][]byte, error) {
	all := make([][]byte, len(l.members))
	if l.group != nil {
		flat := make([]byte, len(mine)*len(all))
		err := l.run(comm.Op{Kind: collective.AllGather, Group: l.group, DType: dtype.U8, Inner: len(mine), Src: device.Bytes(mine), Dst: device.Bytes(flat), Label: "set-up of NCCL"})
		for i := range all {
			all[i] = flat[i*len(mine) : (i+1)*len(mine)]
		}
		return all, err
	}
	theirs := make([]byte, len(mine))
	all[l.me], all[1-l.me] = mine, theirs
	if l.me == 0 {
		if err := l.say(mine); err != nil {
			return nil, err
		}
		return all, l.hear(theirs)
	}
	if err := l.hear(theirs); err != nil {
		return nil, err
	}
	return all, l.say(mine)
}

// meet gives the identifier that the first member has made.
func (l *lane) meet() (id []byte, err error) {
	if id = make([]byte, idBytes); l.me == 0 {
		if id, err = l.d.lib.newID(); err != nil {
			return nil, l.fault("cannot be connected", err)
		}
	}
	switch {
	case l.group == nil && l.me == 0:
		return id, l.say(id)
	case l.group == nil:
		return id, l.hear(id)
	}
	op := comm.Op{Kind: collective.Broadcast, Group: l.group, DType: dtype.U8, Inner: len(id), Dst: device.Bytes(id), Label: "set-up of NCCL"}
	if l.me == 0 {
		op.Src = op.Dst
	}
	return id, l.run(op)
}

func (l *lane) say(b []byte) error {
	return l.run(comm.Op{Kind: collective.Send, Peer: l.members[1-l.me], Tag: setupTag, DType: dtype.U8, Inner: len(b), Src: device.Bytes(b)})
}

func (l *lane) hear(b []byte) error {
	return l.run(comm.Op{Kind: collective.Recv, Peer: l.members[1-l.me], Tag: setupTag, DType: dtype.U8, Inner: len(b), Dst: device.Bytes(b)})
}

// setupTag is one that no plan comes to.
const setupTag = comm.MaxTag - 1

// run does an operation of the host's transport.
func (l *lane) run(op comm.Op) error {
	c, err := l.d.Device.Prepare(op)
	if err != nil {
		return err
	}
	return c.Run()
}

// completed waits until the communicator is through with a call, which gave err. While it is not, no
// other call may be made.
func (l *lane) completed(err error) error {
	since := time.Now()
	for i := 0; err == error(errInProgress); i++ {
		if err := l.d.Device.Failed(); err != nil {
			return err
		}
		if time.Since(since) > l.d.o.Timeout {
			return comm.Late(l.d.Rank(), "the set-up of NCCL over "+l.name, l.d.o.Timeout, l.others(), nil)
		}
		if runtime.Gosched(); i > looks {
			time.Sleep(nap)
		}
		err = l.comm.ask()
	}
	return err
}

// A wait looks again this often at once, then after a nap.
const (
	looks = 200
	nap   = 50 * time.Microsecond
)

// others are the members without this device.
func (l *lane) others() []int {
	return slices.Delete(slices.Sorted(slices.Values(l.members)), l.sorted(), l.sorted()+1)
}

// sorted is where this device is among the members in the order of ranks.
func (l *lane) sorted() int {
	i, _ := slices.BinarySearch(slices.Sorted(slices.Values(l.members)), l.d.Rank())
	return i
}

// fault is the error of a lane of which the library has failed; those of waits stay what they are.
func (l *lane) fault(what string, err error) error {
	if e, ok := err.(*comm.Error); ok {
		return e
	}
	return &comm.Error{Reason: comm.ReasonFault, Rank: l.d.Rank(), Msg: fmt.Sprintf("NCCL over %s, on rank %d, %s", l.name, l.d.Rank(), what), Err: err}
}
