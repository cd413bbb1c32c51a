package program

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/internal/collective"
)

// insert puts an instruction of task j before the one that is number at, which is in no
// run or the first of one.
func (p *Program) insert(j, at int, in Instr) {
	for i := range p.Instrs {
		if c := p.Instrs[i].Comm; c != nil && c.Kind == collective.Done && c.Of >= at {
			moved := *c
			moved.Of++
			p.Instrs[i].Comm = &moved
		}
	}
	p.Instrs = slices.Insert(p.Instrs, at, in)
	for i := range p.Runs {
		if r := &p.Runs[i]; r.From >= at {
			r.From, r.To = r.From+1, r.To+1
		}
	}
	p.Tasks[j].To++
	for i := j + 1; i < len(p.Tasks); i++ {
		p.Tasks[i].From, p.Tasks[i].To = p.Tasks[i].From+1, p.Tasks[i].To+1
	}
}

// posting has tasks of [tasked] begin with messages that are received ahead.
func posting(r *rand.Rand, p *Plan) {
	d := &p.Devices[0]
	prog := &d.Progs[0]
	p.Mesh, p.By, d.At = append(p.Mesh, MeshAxis{"pp", 2}), []string{"pp"}, []int{0}
	place := func() int {
		n := r.Intn(len(d.Buffers))
		if d.Buffers[n].Stack == 0 && r.Intn(3) == 0 {
			return n
		}
		b := Buffer{Space: Scratch, Offset: 1 << 19, Bytes: 64, DType: "f32", Axes: d.Buffers[0].Axes}
		if ring := 1 + r.Intn(4); ring > 1 {
			b.MicroRing, b.MicroStep = ring, 64*int64(1+r.Intn(2))
		}
		if b.Offset += 64 * int64(r.Intn(24)); r.Intn(4) == 0 { // near others
			b.Offset = 64 * int64(r.Intn(12))
		}
		d.Buffers = append(d.Buffers, b)
		return len(d.Buffers) - 1
	}
	for j := range prog.Tasks {
		t := &prog.Tasks[j]
		if t.Once || r.Intn(2) == 0 {
			continue
		}
		for k := range 1 + r.Intn(2) {
			at := t.From + k
			prog.insert(j, at, Instr{Ahead: 1, Bufs: []int{place()}, Comm: &Comm{Kind: collective.Recv, Over: []string{"pp"}, DType: "f32", Outer: 1, Inner: 16, Peer: 1, Tag: at, Each: 100, Start: true}})
			done := at + 1 + r.Intn(t.To-at)
			if run := prog.runOf(done); run != nil {
				done = run.From
			}
			if r.Intn(2) == 0 {
				done = at + 1
			}
			for done < t.To && prog.Instrs[done].posted() {
				done++
			}
			prog.insert(j, done, Instr{Comm: &Comm{Kind: collective.Done, Of: at}})
		}
	}
}

// TestPostedInOneTick: what is found in some ticks of a task with messages that are
// received ahead, and in what comes before it, is what is found in all ticks one after
// the other.
func TestPostedInOneTick(t *testing.T) {
	tried, short, bad, ahead := 0, 0, 0, 0
	for seed := range int64(24000) {
		r := rand.New(rand.NewSource(seed))
		p := tasked(r, 6)
		posting(r, p)
		d := &p.Devices[0]
		prog := &d.Progs[0]
		if prog.validateTasks() != nil || !sound(p) || d.Order(prog).validateHeads() != nil {
			continue
		}
		tried++
		h := hazardsOf(p, d, prog)
		got := h.all()
		q, err := p.Expanded()
		if err != nil {
			t.Fatal(err)
		}
		want := hazardsOf(q, &q.Devices[0], &q.Devices[0].Progs[0]).all()
		if want == nil && got != nil && strings.Contains(got.Error(), "never done") {
			continue // what is started in one tick and done in another one
		}
		if (got == nil) != (want == nil) {
			t.Fatalf("seed %d: %v, written out: %v\n%+v\n%+v\n%+v", seed, got, want, d.Stacks, d.Buffers, prog)
		}
		switch {
		case want == nil && h.walked < len(q.Devices[0].Progs[0].Instrs):
			short++
		case want == nil:
		default:
			bad++
			if (&early{kernels: h.kernels, device: h.device, order: h.order}).check() != nil && !h.alone() {
				ahead++
			}
		}
	}
	t.Logf("%d programs, %d with hazards, of which %d between ticks alone; %d others of which less than all was gone through", tried, bad, ahead, short)
	if tried < 4000 || bad < 1000 || short < 300 || ahead < 300 {
		t.Errorf("%d programs, %d with hazards, %d between ticks; %d others of which less than all was gone through", tried, bad, ahead, short)
	}
}

// alone says whether there is a hazard in a tick by itself.
func (h *hazards) alone() bool {
	alone := &hazards{kernels: h.kernels, device: h.device, order: h.order}
	return alone.ticks() != nil
}

// ahead is [pipelined] with all messages posted.
func ahead(stages, micro int) *Plan {
	p := pipelined(stages, micro)
	for i := range p.Devices {
		d := &p.Devices[i]
		prog := &d.Progs[0]
		for j := range prog.Tasks {
			in := &prog.Instrs[prog.Tasks[j].From]
			if in.Comm == nil || in.Comm.Kind != collective.Recv {
				continue
			}
			in.Ahead, in.Comm.Start = 1, true
			if micro > 1 {
				b := &d.Buffers[in.Bufs[0]]
				b.Offset, b.MicroStep, b.MicroRing = d.Arena, 64, 2
				d.Arena += 128
			}
			prog.insert(j, prog.Tasks[j].From+1, Instr{Comm: &Comm{Kind: collective.Done, Of: prog.Tasks[j].From}})
		}
	}
	return p
}

// TestExpandedPosts: messages are received where the tick before begins, each into the
// place of its microbatch, and waited for in their own ticks.
func TestExpandedPosts(t *testing.T) {
	p := ahead(2, 3)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	q, err := p.Expanded()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Validate(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		// forward:0 forward:1 backward:0 forward:2 backward:1 backward:2
		"kernel, send 1, recv 3 at 384, kernel, send 5, done 2, kernel, kernel, recv 7 at 448, kernel, send 9, " +
			"recv 11 at 384, done 8, kernel, kernel, done 11, kernel, kernel",
		// forward:0 backward:0 forward:1 backward:1 …
		"recv 1 at 320, done 0, kernel, recv 5 at 384, kernel, kernel, send 3, done 3, kernel, recv 9 at 320, kernel, kernel, send 7, " +
			"done 9, kernel, kernel, kernel, send 11",
	} {
		d := &q.Devices[i]
		var got []string
		for _, in := range d.Progs[0].Instrs {
			switch c := in.Comm; {
			case c == nil:
				got = append(got, "kernel")
			case c.Kind == collective.Done:
				got = append(got, fmt.Sprint("done ", c.Of))
			case c.Kind == collective.Send:
				got = append(got, fmt.Sprint("send ", c.Tag))
			default:
				got = append(got, fmt.Sprintf("%s %d at %d", c.Kind, c.Tag, d.Buffers[in.Bufs[0]].Offset))
			}
			if in.Ahead != 0 {
				t.Errorf("written out, %+v is ahead", in)
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("stage %d: %s,\nwant %s", i, s, want)
		}
	}
}

// TestValidatePosts breaks one thing of what is received ahead at a time.
func TestValidatePosts(t *testing.T) {
	prog := func(f func(p *Program)) func(*Plan) { return func(p *Plan) { f(&p.Devices[1].Progs[0]) } }
	instr := func(i int, f func(in *Instr)) func(*Plan) { return prog(func(p *Program) { f(&p.Instrs[i]) }) }
	post := func(tag int) Instr {
		return Instr{Ahead: 1, Bufs: []int{5}, Comm: &Comm{Kind: collective.Recv, Over: []string{"pp"}, DType: "f32", Outer: 1, Inner: 16, Peer: 0, Tag: tag, Each: 6, Start: true}}
	}
	for _, c := range []struct {
		name   string
		change func(p *Plan)
		want   string
	}{
		{"two iterations ahead", instr(0, func(in *Instr) { in.Ahead = 2 }), "2 iterations ahead"},
		{"behind", instr(0, func(in *Instr) { in.Ahead = -1 }), "-1 iterations ahead"},
		{"a kernel", instr(2, func(in *Instr) { in.Ahead = 1 }), "1 iterations ahead"},
		{"a send", instr(3, func(in *Instr) { in.Ahead = 1 }), "1 iterations ahead"},
		{"a started send", instr(3, func(in *Instr) { in.Comm.Start = true }), "send that is started apart"},
		{"not started", instr(0, func(in *Instr) { in.Comm.Start = false }), "1 iterations ahead"},
		{"no wait", instr(0, func(in *Instr) { in.NoWait = true }), "recv does not wait"},
		{"the first behind it does not wait", prog(func(p *Program) {
			p.Instrs[1], p.Instrs[2] = p.Instrs[2], p.Instrs[1]
			p.Instrs[1].NoWait = true
		}), "is the first of task forward"},
		{"behind others", prog(func(p *Program) {
			p.insert(0, 3, post(50))
			p.insert(0, 4, Instr{Comm: &Comm{Kind: collective.Done, Of: 3}})
		}), "not among the first of task forward"},
		{"of what is issued once", prog(func(p *Program) {
			p.Tasks = append(p.Tasks, Task{Name: "after", From: len(p.Instrs), To: len(p.Instrs), Once: true})
			p.Ticks = append(p.Ticks, Tick{Task: 2})
			p.insert(2, len(p.Instrs), post(50))
			p.Instrs[len(p.Instrs)-1].Comm.Each = 0
		}), "of a tick that is of no microbatch"},
		{"outside of tasks", prog(func(p *Program) { p.Tasks, p.Ticks, p.Micro = nil, nil, 0 }), "of a tick that is of no microbatch"},
		{"never done", prog(func(p *Program) { p.Instrs[1], p.Instrs[2].Bufs[0] = Instr{Bufs: []int{1, 2}}, 1 }), "started and never done"},
		{"done in another task", prog(func(p *Program) { p.Instrs[1].Comm.Of = 4 }), "not under way"},
		{"read before it is done", prog(func(p *Program) { p.Instrs[1], p.Instrs[2] = p.Instrs[2], p.Instrs[1] }), "task forward: instruction 1 for microbatch 0 reads"},
		{"one place", func(p *Plan) { p.Devices[1].Buffers[0].MicroRing, p.Devices[1].Buffers[0].MicroStep = 0, 0 }, "uses bytes from"},
		{"where the tick before reads", func(p *Plan) { p.Devices[1].Buffers[0].Offset = 256 }, "under way, receives"},
		{"where the tick before writes", func(p *Plan) { p.Devices[1].Buffers[0].Offset = 128 }, "under way, receives"},
		{"a later message of the stream before it", prog(func(p *Program) {
			p.insert(0, 1, post(1))
			p.insert(0, 2, Instr{Comm: &Comm{Kind: collective.Done, Of: 1}})
		}), "receives a later one first"},
		{"one tag, and a receive that is not posted", func(p *Plan) {
			in, first, second := post(1), &p.Devices[0].Progs[0], &p.Devices[1].Progs[0]
			in.Ahead, in.Comm.Start, in.Comm.Each = 0, false, 0
			first.Instrs[1].Comm.Each, second.Instrs[0].Comm.Each = 0, 0
			second.insert(1, second.Tasks[1].From+2, in)
		}, "receives a later one first"},
		{"never sent", prog(func(p *Program) { p.Instrs[0].Comm.Tag = 7 }), "deadlock: rank"},
		{"too many of one stream", prog(func(p *Program) {
			for range MaxOpen {
				p.insert(0, 1, post(1))
			}
			for i := range MaxOpen {
				p.insert(0, MaxOpen+2+i, Instr{Comm: &Comm{Kind: collective.Done, Of: 1 + i}})
			}
			for i := range MaxOpen {
				p.Instrs[1+i].Bufs = []int{6 + i}
			}
		}), "begins to receive more than 32 messages"},
	} {
		p := ahead(3, 4)
		d := &p.Devices[1]
		for range MaxOpen + 1 {
			d.Buffers = append(d.Buffers, Buffer{Space: Scratch, Offset: d.Arena, Bytes: 64, DType: "f32", Axes: d.Buffers[0].Axes, MicroStep: 64, MicroRing: 4})
			d.Arena += 256
		}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		c.change(p)
		err := p.Validate()
		var want *InvalidError
		if !errors.As(err, &want) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
