package program

import (
	"testing"

	"ptc/internal/collective"
)

// TestCommunicators: each list of axes with more than one member and each peer and direction is one, in
// whatever program it is; what sends nothing is none.
func TestCommunicators(t *testing.T) {
	p := &Plan{Mesh: []MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 4}, {Name: "one", Size: 1}}}
	in := func(kind string, peer int, over ...string) Instr {
		return Instr{Comm: &Comm{Kind: kind, Over: over, Peer: peer}}
	}
	d := &Device{Progs: []Program{
		{Instrs: []Instr{in(collective.AllReduce, 0, "dp"), in(collective.AllGather, 0, "dp"), in(collective.AllReduce, 0, "dp", "tp"), in(collective.AllReduce, 0, "one"), {}, in(collective.ShardSlice, 0, "dp"), {Comm: &Comm{Kind: collective.Done}}}},
		{Instrs: []Instr{in(collective.AllReduce, 0, "dp"), in(collective.Send, 1, "dp"), in(collective.Recv, 1, "dp"), in(collective.Send, 1, "dp"), in(collective.HostToDevice, 0)}},
	}}
	c := d.Communicators(p.Mesh)
	least, most := c.Bytes()
	if want := (Communicators{Groups: 2, Links: 2}); c != want || least != 2*(2*10+2*2)<<20 || most != 32*(2*2*10+2*2)<<20 {
		t.Errorf("%+v, %d to %d bytes", c, least, most)
	}
}
