package comm

import (
	"crypto/sha256"
	"fmt"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/device"
)

// Gather gives what each device has to say, by rank, one after the other. Every
// device calls it, with as many bytes.
func Gather(d Device, mine []byte, label string) ([]byte, error) {
	gather, err := Gathering(d, mine, label)
	if err != nil {
		return nil, err
	}
	return gather()
}

// Gathering readies a Gather that every device does at the same points, of what mine
// holds then. To gather does not allocate, and what it gives is valid until the next time.
func Gathering(d Device, mine []byte, label string) (gather func() ([]byte, error), err error) {
	all := make([]byte, len(mine)*d.Mesh().Size())
	call, err := d.Prepare(Op{Kind: collective.AllGather, Group: d.Mesh().World(), DType: dtype.Bool, Inner: len(mine),
		Src: device.Bytes(mine), Dst: device.Bytes(all), Label: label})
	return func() ([]byte, error) {
		err := call.Run()
		return all, err
	}, err
}

// Any readies a question that every device asks at the same point: the answer is
// yes where it is so for one of them. To ask does not allocate.
func Any(d Device, label string) (ask func(mine bool) (bool, error), err error) {
	said, heard := []byte{0}, []byte{0}
	call, err := d.Prepare(Op{Kind: collective.AllReduce, Reduce: collective.Max, Group: d.Mesh().World(), DType: dtype.Bool, Inner: 1,
		Src: device.Bytes(said), Dst: device.Bytes(heard), Label: label})
	return func(mine bool) (bool, error) {
		said[0] = 0
		if mine {
			said[0] = 1
		}
		err := call.Run()
		return heard[0] != 0, err
	}, err
}

// SamePlan compares the plans of all devices by their bytes' SHA-256 and fails,
// naming the ranks, when they are not one plan. Every device must call it, before
// any other communication.
func SamePlan(d Device, hash [sha256.Size]byte) error {
	all, err := Gather(d, hash[:], "hash of the plan")
	if err != nil {
		return err
	}
	part := func(r int) []byte { return all[r*len(hash) : (r+1)*len(hash)] }
	var others []int
	for r := range d.Mesh().Size() {
		if string(part(r)) != string(part(0)) {
			others = append(others, r)
		}
	}
	if others == nil {
		return nil
	}
	return &Error{Reason: ReasonMismatch, Rank: d.Rank(), Ranks: others, Msg: fmt.Sprintf(
		"%s and rank 0 run different plans (%x and %x): give every process the same plan file, and the same values of its ports",
		RankList(others), part(others[0])[:6], part(0)[:6])}
}
