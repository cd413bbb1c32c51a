package program

import (
	"fmt"
	"strings"

	"ptc/internal/collective"
)

// Communicators are those of NCCL by which a GPU exchanges what is in its memory, where it does so: one for each
// list of mesh axes, one for each other device and direction of messages.
type Communicators struct {
	Groups int `json:"groups"`
	Links  int `json:"links"`
}

// Communicators counts what all programs of a device need.
func (d *Device) Communicators(mesh Mesh) (c Communicators) {
	seen := map[string]bool{}
	for i := range d.Progs {
		for j := range d.Progs[i].Instrs {
			x := d.Progs[i].Instrs[j].Comm
			if x == nil || x.Moves() || x.Kind == collective.Done || x.Kind == collective.ShardSlice || mesh.Parts(x.Over) < 2 {
				continue
			}
			key, link := strings.Join(x.Over, ","), x.message()
			if link {
				key = fmt.Sprintf("%s %d %s", x.Kind, x.Peer, key)
			}
			switch {
			case seen[key]:
				continue
			case link:
				c.Links++
			default:
				c.Groups++
			}
			seen[key] = true
		}
	}
	return c
}

// What NCCL 2.30 keeps for each channel to a neighbour, unless NCCL_BUFFSIZE and its like say otherwise: of
// collectives 4 MiB for its protocol Simple, 4.7 MiB for LL128 and 0.5 MiB for LL (init.cc, computeBuffSizes), in
// pages of 2 MiB; of messages one page. Those are the sizes that issue 1685 of NVIDIA/nccl found, too. Its memory
// grows with channels (issue 864), of which it chooses how many by what connects the GPUs: 2 at least, and 32 at
// most where nobody asks for more. A ring has one neighbour to receive from; with a tree, two are counted.
const (
	channelBytes   = 10 << 20
	messageBytes   = 2 << 20
	fewestChannels = 2
	mostChannels   = 32
)

// Bytes estimates how much memory of the GPU they take in addition to the arena: from the least to what is usual
// between GPUs with the fastest connections.
func (c Communicators) Bytes() (least, most int64) {
	least = fewestChannels * (int64(c.Groups)*channelBytes + int64(c.Links)*messageBytes)
	return least, mostChannels * (2*int64(c.Groups)*channelBytes + int64(c.Links)*messageBytes)
}
