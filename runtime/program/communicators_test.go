package program

import "testing"

// TestCommunicators: each list of axes with more than one member and each peer and direction is one, in
// whatever program it is; what sends nothing is none.
func TestCommunicators(t *testing.T) {
	p := &Plan{Mesh: []MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 4}, {Name: "one", Size: 1}}}
	in := func(kind string, peer int, over ...string) Instr {
		return Instr{Comm: &Comm{Kind: kind, Over: over, Peer: peer}}
	}
	d := &Device{Progs: []Program{
		{Instrs: []Instr{in(AllReduce, 0, "dp"), in(AllGather, 0, "dp"), in(AllReduce, 0, "dp", "tp"), in(AllReduce, 0, "one"), {}, in(ShardSlice, 0, "dp"), {Comm: &Comm{Kind: Done}}}},
		{Instrs: []Instr{in(AllReduce, 0, "dp"), in(Send, 1, "dp"), in(Recv, 1, "dp"), in(Send, 1, "dp"), in(Fetch, 0)}},
	}}
	c := d.Communicators(p.Mesh)
	least, most := c.Bytes()
	if want := (Communicators{Groups: 2, Links: 2}); c != want || least != 2*(2*10+2*2)<<20 || most != 32*(2*2*10+2*2)<<20 {
		t.Errorf("%+v, %d to %d bytes", c, least, most)
	}
}
