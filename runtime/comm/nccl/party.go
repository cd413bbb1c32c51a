package nccl

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// party is the devices of a lane. What they have to agree on before it is connected goes through the host's
// transport.
type party struct {
	host    comm.Device
	key     string // orders the lanes alike on all devices
	name    string // in errors
	group   *comm.Group
	members []int // ranks, by coordinate; of messages the sender and the receiver
	me      int   // which of them
	sends   bool  // it is the sender's end of messages
}

// partyOf is that of an operation; classes is in how many lanes messages between two devices are.
func partyOf(host comm.Device, op *comm.Op, classes int) party {
	if op.Kind != collective.Send && op.Kind != collective.Recv {
		return party{host: host, key: "0 " + op.Group.String(), name: op.Group.String(),
			group: op.Group, members: op.Group.Members(host.Rank()), me: op.Group.Coord(host.Rank())}
	}
	p := party{host: host, members: []int{host.Rank(), op.Peer}, sends: op.Kind == collective.Send}
	if !p.sends {
		p.me = 1
		slices.Reverse(p.members)
	}
	class := op.Tag % classes
	p.key = fmt.Sprintf("1 %08d %08d %08d", p.members[0], p.members[1], class)
	p.name = fmt.Sprintf("messages from rank %d to rank %d, stream %d", p.members[0], p.members[1], class)
	return p
}

// alone says that there is nobody to exchange anything with.
func (p *party) alone() bool { return len(p.members) == 1 }

// others are the ranks of the members without this device, in order.
func (p *party) others() []int {
	return slices.DeleteFunc(slices.Sorted(slices.Values(p.members)), func(rank int) bool { return rank == p.host.Rank() })
}

// compare holds what the members have prepared against each other.
func (p *party) compare(signatures []string) error {
	mine := sha256.Sum256([]byte(strings.Join(signatures, "\n")))
	all, err := p.tell(mine[:])
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
		if i < len(signatures) {
			clear(text)
			copy(text, signatures[i])
		}
		all, err := p.tell(text)
		if err != nil {
			return err
		}
		words := func(b []byte) string { return strings.ToValidUTF8(strings.TrimRight(string(b), "\x00"), "") }
		for j, theirs := range all {
			if k := p.me; j != k && words(theirs) != words(all[k]) {
				return comm.Differ(p.host.Rank(), p.name, words(all[k]), p.members[j], words(theirs), uint64(i+1))
			}
		}
		if i > len(signatures) {
			return p.fault("cannot connect", fmt.Errorf("the members have prepared operations that differ after %d bytes of their description", textBytes))
		}
	}
}

// textBytes is how much of a signature members tell one another.
const textBytes = 512

// tell gives what each member has to say, by coordinate.
func (p *party) tell(mine []byte) ([][]byte, error) {
	all := make([][]byte, len(p.members))
	if p.group != nil {
		flat := make([]byte, len(mine)*len(all))
		err := p.run(gather(p.group, mine, flat))
		for i := range all {
			all[i] = flat[i*len(mine) : (i+1)*len(mine)]
		}
		return all, err
	}
	theirs := make([]byte, len(mine))
	all[p.me], all[1-p.me] = mine, theirs
	if p.me == 0 {
		if err := p.say(mine); err != nil {
			return nil, err
		}
		return all, p.hear(theirs)
	}
	if err := p.hear(theirs); err != nil {
		return nil, err
	}
	return all, p.say(mine)
}

// meet gives the identifier that the first member has made.
func (p *party) meet(lib *library) (id []byte, err error) {
	if id = make([]byte, idBytes); p.me == 0 {
		if id, err = lib.newID(); err != nil {
			return nil, p.fault("cannot connect", err)
		}
	}
	switch {
	case p.group == nil && p.me == 0:
		return id, p.say(id)
	case p.group == nil:
		return id, p.hear(id)
	}
	op := comm.Op{Kind: collective.Broadcast, Group: p.group, DType: dtype.U8, Inner: len(id), Dst: device.Bytes(id), Label: "set-up of NCCL"}
	if p.me == 0 {
		op.Src = op.Dst
	}
	return id, p.run(op)
}

func (p *party) say(b []byte) error {
	return p.run(comm.Op{Kind: collective.Send, Peer: p.members[1-p.me], Tag: setupTag, DType: dtype.U8, Inner: len(b), Src: device.Bytes(b)})
}

func (p *party) hear(b []byte) error {
	return p.run(comm.Op{Kind: collective.Recv, Peer: p.members[1-p.me], Tag: setupTag, DType: dtype.U8, Inner: len(b), Dst: device.Bytes(b)})
}

// setupTag is one that no plan comes to.
const setupTag = comm.MaxTag - 1

// run does an operation of the host's transport.
func (p *party) run(op comm.Op) error {
	c, err := p.host.Prepare(op)
	if err != nil {
		return err
	}
	return c.Run()
}

// fault is the error of a lane of which the library has failed; those of waits stay what they are.
func (p *party) fault(what string, err error) error {
	if e, ok := err.(*comm.Error); ok {
		return e
	}
	return &comm.Error{Reason: comm.ReasonFault, Rank: p.host.Rank(), Msg: fmt.Sprintf("NCCL over %s, on rank %d, %s", p.name, p.host.Rank(), what), Err: err}
}
