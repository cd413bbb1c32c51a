package comm

import (
	"crypto/sha256"
	"fmt"

	"ptc/runtime/device"
)

// SamePlan compares the plans of all devices by their bytes' SHA-256 and fails,
// naming the ranks, when they are not one plan. Every device must call it, before
// any other communication.
func SamePlan(d Device, hash [sha256.Size]byte) error {
	n := d.Mesh().Size()
	all := make([]byte, n*len(hash))
	call, err := d.Prepare(Op{Kind: AllGather, Group: d.Mesh().World(), DType: Bool,
		Inner: len(hash), Src: device.Bytes(hash[:]), Dst: device.Bytes(all), Label: "hash of the plan"})
	if err != nil {
		return err
	}
	if err := call.Run(); err != nil {
		return err
	}
	part := func(r int) []byte { return all[r*len(hash) : (r+1)*len(hash)] }
	var others []int
	for r := range n {
		if string(part(r)) != string(part(0)) {
			others = append(others, r)
		}
	}
	if others == nil {
		return nil
	}
	return &Error{Reason: ReasonMismatch, Rank: d.Rank(), Ranks: others, Msg: fmt.Sprintf(
		"%s and rank 0 run different plans (%x and %x): give every process the same plan file",
		RankList(others), part(others[0])[:6], part(0)[:6])}
}
