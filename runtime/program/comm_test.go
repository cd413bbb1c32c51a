package program

import (
	"strings"
	"testing"

	"ptc/internal/collective"
)

// TestValidateComm breaks one thing of a communication at a time.
func TestValidateComm(t *testing.T) {
	in := func(i int, f func(in *Instr)) func(*Plan) {
		return func(p *Plan) { f(&p.Devices[0].Progs[1].Instrs[i]) }
	}
	for _, c := range []struct {
		name   string
		change func(p *Plan)
		want   string
	}{
		{"kind", in(0, func(in *Instr) { in.Comm.Kind = "all_hands" }), `"all_hands"`},
		{"no wait", in(0, func(in *Instr) { in.NoWait = true }), "does not wait"},
		{"kernel", in(0, func(in *Instr) { in.Kernel = 1 }), "kernel 1"},
		{"axis", in(0, func(in *Instr) { in.Comm.Over[0] = "pp" }), `"pp"`},
		{"axis twice", in(0, func(in *Instr) { in.Comm.Over[0] = "tp" }), "twice"},
		{"no axis", in(0, func(in *Instr) { in.Comm.Over = nil }), "no mesh axis"},
		{"reduce", in(0, func(in *Instr) { in.Comm.Reduce = "mean" }), `"mean"`},
		{"no reduce", in(1, func(in *Instr) { in.Comm.Reduce = "sum" }), `by "sum"`},
		{"dtype", in(0, func(in *Instr) { in.Comm.DType = "f64" }), "of f32"},
		{"unknown dtype", in(0, func(in *Instr) { in.Comm.DType = "f8" }), `"f8"`},
		{"size", in(0, func(in *Instr) { in.Comm.Inner = 11 }), "of 11 elements"},
		{"huge", in(0, func(in *Instr) { in.Comm.Outer = 1 << 62; in.Comm.Inner = 1 << 62 }), "elements"},
		{"negative", in(0, func(in *Instr) { in.Comm.Outer = -1; in.Comm.Inner = -12 }), "elements"},
		{"buffer", in(0, func(in *Instr) { in.Bufs[1] = 22 }), "buffer 22 of 22"},
		{"one buffer", in(0, func(in *Instr) { in.Bufs = in.Bufs[:1] }), "1 buffers instead of 2"},
		{"sources", in(1, func(in *Instr) { in.Comm.From[1] = 1 }), "permute from"},
		{"sources number", in(1, func(in *Instr) { in.Comm.From = []int{0} }), "1 sources for 2"},
		{"sources of another", in(0, func(in *Instr) { in.Comm.From = []int{0, 1} }), "with sources"},
		{"view", in(2, func(in *Instr) { in.Comm.DstInner = 9 }), "all_to_all of"},
		{"view of another", in(1, func(in *Instr) { in.Comm.DstOuter = 1 }), "view of its destination"},
		{"in place", in(2, func(in *Instr) { in.Bufs[1] = 6 }), "in the same bytes"},
		{"peer", in(0, func(in *Instr) { in.Comm.Peer = 1 }), "a peer or a tag"},
		{"bytes", in(0, func(in *Instr) { in.Comm.Bytes = -1 }), "-1 bytes"},
		{"coordinates", func(p *Plan) { p.Devices[0].Ports[2].Buffer = 4 }, "each of 2 mesh axes"},
		{"several that permute", in(1, func(in *Instr) { in.Comm.Rest = []View{{1, 12}} }), "of several tensors"},
		{"views", in(4, func(in *Instr) { in.Comm.Rest[0].Inner = 11 }), "of 11 elements"},
		{"huge views", in(4, func(in *Instr) { in.Comm.Rest[0].Inner = 1 << 62 }), "elements"},
		{"a view too many", in(4, func(in *Instr) { in.Comm.Rest = append(in.Comm.Rest, View{1, 12}) }), "4 buffers instead of 6"},
		{"across", in(4, func(in *Instr) { in.Bufs[3] = 0 }), "in the same bytes"},
		{"into one", in(4, func(in *Instr) { in.Bufs[3] = in.Bufs[2] }), "in the same bytes"},
		{"never done", in(6, func(in *Instr) { in.Comm = nil; in.Bufs = []int{0, 10} }), "started and never done"},
		{"done of another", in(6, func(in *Instr) { in.Comm.Of = 2 }), "not under way"},
		{"done of nothing", in(6, func(in *Instr) { in.Comm.Of = -1 }), "more than what it waits for"},
		{"done with buffers", in(6, func(in *Instr) { in.Bufs = []int{0} }), "more than what it waits for"},
		{"written while it is sent", in(5, func(in *Instr) { in.Bufs = []int{0, 1} }), "instruction 4, under way, uses"},
		{"written where it receives", in(5, func(in *Instr) { in.Bufs = []int{0, 2} }), "instruction 4, under way, uses"},
		{"read too early", in(5, func(in *Instr) { in.Bufs = []int{2, 10} }), "instruction 4, under way, receives"},
		{"fetched from here", in(7, func(in *Instr) { in.Bufs[0] = 5 }), "host_to_device of 1 elements"},
		{"fetched from device memory", in(7, func(in *Instr) { in.Bufs = []int{10, 2} }), `host_to_device from memory "" to ""`},
		{"fetched to another memory", in(7, func(in *Instr) { in.Bufs = []int{11, 13} }), `host_to_device from memory "host" to "disk"`},
		{"stored in device memory", in(9, func(in *Instr) { in.Bufs = []int{0, 2} }), `device_to_host from memory "" to ""`},
		{"stored twice", in(9, func(in *Instr) { in.Bufs = []int{0, 2, 13, 13} }), "two destinations"},
		{"half a transfer", in(9, func(in *Instr) { in.Bufs = in.Bufs[:1] }), "device_to_host of 1 buffers"},
		{"transfer of a buffer there is not", in(9, func(in *Instr) { in.Bufs[1] = 22 }), "buffer 22 of 22"},
		{"transfer among devices", in(7, func(in *Instr) { in.Comm.Over = []string{"tp"} }), "more than what it copies"},
		{"transfer never done", in(10, func(in *Instr) { in.Comm = nil; in.Bufs = []int{0, 10} }), "started and never done"},
		{"stored where it is fetched from", in(9, func(in *Instr) { in.Bufs = []int{10, 11} }), "instruction 7, under way, uses"},
		{"read before it is fetched", in(8, func(in *Instr) { *in = Instr{Bufs: []int{14, 12}, Comm: &Comm{Kind: collective.DeviceToHost}} }), "instruction 7, under way"},
		{"a kernel on the host", in(8, func(in *Instr) { in.Bufs = []int{11, 10} }), "a buffer in host memory"},
		{"a collective on disk", in(0, func(in *Instr) { in.Bufs = []int{13, 13} }), "all_reduce of a buffer in disk memory"},
		{"a memory there is not", func(p *Plan) { p.Devices[0].Buffers[11].Memory = "tape" }, `unknown memory "tape"`},
		{"past the end of the host's", func(p *Plan) { p.Devices[0].Host = 47 }, "not in the arena of 47"},
		{"a negative disk", func(p *Plan) { p.Devices[0].Disk = -1 }, "an arena of -1 bytes"},
		{"half a state and more", func(p *Plan) { p.Devices[0].Buffers[12].Bytes = 64; p.Devices[0].Host = 64 }, "covers a part of a tensor's bytes"},
		{"a port on the host", func(p *Plan) { p.Devices[0].Ports[5].Buffer = 11 }, "it is in host memory"},
		{"itself", in(0, func(in *Instr) {
			in.Bufs = in.Bufs[:1]
			in.Comm = &Comm{Kind: collective.Send, Over: []string{"tp"}, Peer: 1, DType: "f32", Outer: 1, Inner: 12}
		}), "with itself"},
		{"no such device", in(0, func(in *Instr) {
			in.Bufs = in.Bufs[:1]
			in.Comm = &Comm{Kind: collective.Send, Peer: 2, DType: "f32", Outer: 1, Inner: 12}
		}), "none of the devices"},
	} {
		p := sample()
		c.change(p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// stages is the sample as two devices, whose evaluations are the given
// communications, each of buffer 0 or between 0 and 2.
func stages(first, second []Comm) *Plan {
	p := sample()
	p.Devices = append(p.Devices, sample().Devices[0])
	for i, list := range [][]Comm{first, second} {
		d := &p.Devices[i]
		p.By, d.At = []string{"tp"}, []int{i}
		var instrs []Instr
		for _, c := range list {
			in := Instr{Bufs: []int{0, 2}, Comm: &c}
			if c.Kind == collective.Done {
				instrs = append(instrs, Instr{Comm: &c})
				continue
			}
			c.DType, c.Outer = "f32", 1
			if c.Inner == 0 {
				c.Inner = 12
			}
			switch {
			case c.Kind == collective.Send || c.Kind == collective.Recv:
				if in.Bufs = []int{10}; c.Start {
					in.Bufs[0] = 9
				}
				c.Peer = 1 - i
			case c.Kind == collective.AllReduce:
				c.Reduce = "sum"
				c.Over = []string{"tp"}
			}
			instrs = append(instrs, in)
		}
		d.Progs[1].Instrs = instrs
	}
	return p
}

// TestMeetings runs two devices against each other.
func TestMeetings(t *testing.T) {
	sum, send, recv := Comm{Kind: collective.AllReduce}, Comm{Kind: collective.Send}, Comm{Kind: collective.Recv}
	tagged := func(c Comm, tag int) Comm { c.Tag = tag; return c }
	most := Comm{Kind: collective.AllReduce, Over: []string{"tp"}}
	start, post := Comm{Kind: collective.AllReduce, Start: true}, Comm{Kind: collective.Recv, Start: true}
	done := func(of int) Comm { return Comm{Kind: collective.Done, Of: of} }
	for _, c := range []struct {
		name          string
		first, second []Comm
		want          string
	}{
		{"nothing", nil, nil, ""},
		{"in step", []Comm{sum, send, recv, sum}, []Comm{sum, recv, send, sum}, ""},
		{"both send first", []Comm{send, send, recv, recv}, []Comm{send, send, recv, recv}, ""},
		{"tags", []Comm{tagged(send, 1), tagged(send, 2)}, []Comm{tagged(recv, 2), tagged(recv, 1)}, ""},
		{"room for four", []Comm{send, send, send, send, sum, send}, []Comm{sum, recv, recv, recv, recv, recv}, ""},
		{"no room", []Comm{send, send, send, send, send, sum}, []Comm{sum, recv, recv, recv, recv, recv}, "deadlock: rank 0 waits in send"},
		{"both receive first", []Comm{recv, send}, []Comm{recv, send}, "deadlock"},
		{"both begin to receive first", []Comm{post, send, done(0)}, []Comm{post, send, done(0)}, ""},
		{"both wait first", []Comm{post, done(0), send}, []Comm{post, done(0), send}, "deadlock: rank 0 waits in recv of f32[1, 12] with 1, tag 0"},
		{"begun, and not sent", []Comm{post, sum, done(0)}, []Comm{sum}, "deadlock: rank 0 waits in recv"},
		{"begun, and of another size", []Comm{post, done(0)}, []Comm{{Kind: collective.Send, Inner: 6}}, "6 elements"},
		{"no room while it is not taken", []Comm{post, sum, done(0), recv, recv, recv, recv}, []Comm{send, send, send, send, send, sum}, "deadlock: rank 0 waits in all_reduce"},
		{"crossed", []Comm{sum, send}, []Comm{recv, sum}, "deadlock: rank 0 waits in all_reduce (sum) of f32[1, 12] over tp (instruction 0), rank 1 waits in recv"},
		{"one ends", []Comm{sum, sum}, []Comm{sum}, "deadlock: rank 0"},
		{"started", []Comm{start, send, recv, done(0)}, []Comm{recv, start, send, done(1)}, ""},
		{"started there, at once here", []Comm{start, recv, done(0)}, []Comm{sum, send}, ""},
		{"not even started", []Comm{recv, start, done(1)}, []Comm{sum, send}, "deadlock"},
		{"started here, at once there", []Comm{start, send, done(0)}, []Comm{recv, sum}, ""},
		{"too late", []Comm{start, done(0), send}, []Comm{recv, start, done(1)}, "deadlock: rank 0 waits in all_reduce (sum) of f32[1, 12] over tp (instruction 0)"},
		{"one never starts", []Comm{start, done(0)}, nil, "deadlock: rank 0"},
		{"not received", []Comm{send, send}, []Comm{recv}, "rank 1 does not receive"},
		{"never sent", nil, []Comm{recv}, "deadlock: rank 1"},
		{"other kinds", []Comm{most}, []Comm{{Kind: collective.Permute, Over: []string{"tp"}, From: []int{0, 1}}}, "where rank"},
	} {
		err := stages(c.first, c.second).Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestMember(t *testing.T) {
	p := &Plan{Mesh: []MeshAxis{{"dp", 2}, {"pp", 3}, {"tp", 2}}}
	for rank := range 12 {
		for _, over := range [][]string{{"tp"}, {"pp", "dp"}, {"dp", "pp", "tp"}, nil} {
			at := p.Mesh.CoordinateOver(rank, over)
			if got := p.Mesh.Member(rank, over, at); got != rank {
				t.Errorf("member %d of rank %d over %v is %d", at, rank, over, got)
			}
		}
	}
	// Rank 7 = (1, 0, 1): the next stage is (1, 1, 1) = 9, by coordinate or rank.
	if a, b := p.Mesh.PeerOf(7, &Comm{Over: []string{"pp"}, Peer: 1}), p.Mesh.PeerOf(7, &Comm{Peer: 9}); a != 9 || b != 9 || p.Mesh.Parts([]string{"pp", "tp"}) != 6 {
		t.Errorf("peers %d and %d", a, b)
	}
}

// TestStreams: how few streams the messages of several tags can have.
func TestStreams(t *testing.T) {
	sum, send, recv := Comm{Kind: collective.AllReduce}, Comm{Kind: collective.Send}, Comm{Kind: collective.Recv}
	tagged := func(c Comm, tag int) Comm { c.Tag = tag; return c }
	for _, c := range []struct {
		name          string
		first, second []Comm
		want          int
	}{
		{"nothing", []Comm{sum}, []Comm{sum}, 1},
		{"one tag, both ways", []Comm{send, send, recv, recv}, []Comm{send, send, recv, recv}, 1},
		{"in order", []Comm{tagged(send, 1), tagged(send, 2)}, []Comm{tagged(recv, 1), tagged(recv, 2)}, 1},
		{"in another order", []Comm{tagged(send, 1), tagged(send, 2)}, []Comm{tagged(recv, 2), tagged(recv, 1)}, 3},
		{"too many for one", []Comm{send, send, send, tagged(send, 1), tagged(send, 1), sum}, []Comm{sum, recv, recv, recv, tagged(recv, 1), tagged(recv, 1)}, 2},
	} {
		p := stages(c.first, c.second)
		if err := p.Validate(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := p.Streams(); got != c.want {
			t.Errorf("%s: %d streams; expected %d", c.name, got, c.want)
		}
	}
	p := stages([]Comm{tagged(send, 1), tagged(send, 2)}, []Comm{tagged(recv, 2), tagged(recv, 1)})
	if err := inOrder(p, 1); err == nil || !strings.Contains(err.Error(), "rank 1 receives") {
		t.Errorf("one stream: %v", err)
	}
}
