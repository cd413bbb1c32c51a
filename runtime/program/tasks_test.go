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

// TestExpandedTicks: the ticks of the sample's tasks one after the other, each with the
// places of its microbatch, and the first one of a task with its own kernel.
func TestExpandedTicks(t *testing.T) {
	p, err := sample().Expanded()
	if err != nil {
		t.Fatal(err)
	}
	d := &p.Devices[0]
	prog := &d.Progs[4]
	if len(prog.Tasks)+len(prog.Ticks)+len(prog.Runs)+prog.Micro > 0 {
		t.Errorf("written out, it has %+v", prog)
	}
	place := func(n int) int64 { return d.Buffers[n].Offset }
	var got []string
	for _, in := range prog.Instrs {
		s := fmt.Sprint(in.Kernel, in.Scope)
		for _, b := range in.Bufs {
			s += fmt.Sprint(" ", place(b))
		}
		got = append(got, s)
	}
	forward := func(at int) string {
		s := fmt.Sprint("0 768 ", at)
		for k := range 4 {
			s += fmt.Sprint(",0blocks.", k, " ", 1088+64*k, " 1728")
		}
		return s
	}
	want := strings.Join([]string{"0 0 768", forward(1792), forward(1856), "1 1792 2176", forward(1792), "2 2176 1856 2176",
		forward(1856), "2 2176 1792 2176", "2 2176 1856 2176", "1 2176 128"}, ",")
	if s := strings.Join(got, ","); s != want {
		t.Errorf("instructions\n%s, want\n%s", s, want)
	}
	var ports []string
	for _, x := range d.Ports {
		if x.Program == "tasks" {
			ports = append(ports, fmt.Sprint(x.Path, " ", place(x.Buffer), " ", x.After, " ", x.Number))
		}
	}
	if s := strings.Join(ports, ","); s != "microbatch.0 1920 0 0,microbatch.1 1984 0 1,microbatch.2 2048 0 2,microbatch.3 2112 0 3,w 2176 25 0" {
		t.Errorf("ports %s", s)
	}
}

// TestValidateTasks breaks one thing of tasks and ticks at a time.
func TestValidateTasks(t *testing.T) {
	prog := func(f func(p *Program)) func(*Plan) { return func(p *Plan) { f(&p.Devices[0].Progs[4]) } }
	buf := func(i int, f func(b *Buffer)) func(*Plan) { return func(p *Plan) { f(&p.Devices[0].Buffers[i]) } }
	first := func(f func(in *Instr)) func(*Plan) {
		return prog(func(p *Program) { f(&p.Instrs[3]) })
	}
	for _, c := range []struct {
		name   string
		change func(p *Plan)
		want   string
	}{
		{"ticks without tasks", prog(func(p *Program) { p.Tasks = nil }), "of no task"},
		{"no microbatches", prog(func(p *Program) { p.Micro = 0 }), "0 microbatches"},
		{"more microbatches", prog(func(p *Program) { p.Micro = 5 }), "in 10 ticks of 12"},
		{"far more microbatches", prog(func(p *Program) { p.Micro = 1 << 40 }), "more than 1048576"},
		{"task without a name", prog(func(p *Program) { p.Tasks[1].Name = "" }), "without a name"},
		{"gap between tasks", prog(func(p *Program) { p.Tasks[2].From = 4 }), "task backward is of the instructions"},
		{"tasks that share", prog(func(p *Program) { p.Tasks[2].From = 2 }), "task backward is of the instructions"},
		{"task that ends early", prog(func(p *Program) { p.Tasks[3].To = 3 }), "task after is of the instructions"},
		{"task beyond the end", prog(func(p *Program) { p.Tasks[3].To = 9 }), "task after is of the instructions"},
		{"tasks of less", prog(func(p *Program) { p.Instrs = append(p.Instrs, p.Instrs[4]) }), "of 5 instructions of 6"},
		{"tick of no task", prog(func(p *Program) { p.Ticks[3].Task = 4 }), "tick 3 is of task 4"},
		{"tick of no microbatch", prog(func(p *Program) { p.Ticks[3].Micro = 4 }), "for microbatch 4"},
		{"tick of a negative one", prog(func(p *Program) { p.Ticks[3].Micro = -1 }), "for microbatch -1"},
		{"tick twice", prog(func(p *Program) { p.Ticks[3].Micro = 1 }), "was before"},
		{"tick of what is once", prog(func(p *Program) { p.Ticks[0].Micro = 1 }), "tick 0 is of task 0"},
		{"a tick less", prog(func(p *Program) { p.Ticks = p.Ticks[1:] }), "in 9 ticks of 10"},
		{"run of two tasks", prog(func(p *Program) { p.Runs[0].To = 4 }), "and its task forward to 3"},
		{"first without a wait", prog(func(p *Program) { p.Instrs[1].NoWait = true }), "is the first of task forward"},
		{"of each microbatch, used once", prog(func(p *Program) { p.Instrs[4].Bufs[0] = 19 }), "which every microbatch has"},
		{"of each microbatch, in a program of none", func(p *Plan) { p.Devices[0].Progs[0].Instrs[0].Bufs[1] = 19 }, "which every microbatch has"},
		{"first of what is once", prog(func(p *Program) { p.Instrs[4].First = &First{} }), "issued once"},
		{"no kernel of the first tick", first(func(in *Instr) { in.First.Kernel = 4 }), "in the first tick, it calls kernel 4"},
		{"kernel of more in the first tick", first(func(in *Instr) { in.First.Without = nil }), "in the first tick, it gives kernel update.1 3 buffers of 2"},
		{"without what is not", first(func(in *Instr) { in.First.Without = []int{3} }), "without the buffers [3] of 3"},
		{"without one twice", first(func(in *Instr) { in.First.Without = []int{0, 0} }), "without the buffers [0 0] of 3"},
		{"place of one microbatch", buf(19, func(b *Buffer) { b.MicroRing = 1 }), "have 1 places"},
		{"places in one", buf(19, func(b *Buffer) { b.MicroStep = 0 }), "0 apart"},
		{"places that go back", buf(19, func(b *Buffer) { b.MicroStep = -64 }), "-64 apart"},
		{"odd places", buf(19, func(b *Buffer) { b.MicroStep = 65 }), "65 apart"},
		{"places behind the arena", buf(20, func(b *Buffer) { b.MicroStep = 128 }), "not in the arena"},
		{"places far behind it", buf(19, func(b *Buffer) { b.MicroStep = 1 << 62 }), "not in the arena"},
		{"many places", buf(19, func(b *Buffer) { b.MicroRing = 1 << 40 }), "have 1099511627776 places"},
		{"microbatches of a tensor", func(p *Plan) { p.Devices[0].Tensors[2].Buffer = 19 }, "of 1 instances in 2 places"},
		{"a port of fewer", buf(20, func(b *Buffer) { b.MicroRing = 3 }), "4 microbatches have 3 places"},
		{"a port of another role", func(p *Plan) { p.Devices[0].Ports[10].Buffer = 19 }, "4 microbatches have 2 places"},
		{"a port with one path", func(p *Plan) { p.Devices[0].Ports[9].Path = "microbatch" }, "the number is open where"},
	} {
		p := sample()
		c.change(p)
		err := p.Validate()
		var want *InvalidError
		if !errors.As(err, &want) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// tasked is [repeated] with its program cut into tasks, whose ticks are in random order.
func tasked(r *rand.Rand, most int) *Plan {
	p := repeated(r, most)
	d := &p.Devices[0]
	prog := &d.Progs[0]
	prog.Micro = 1 + r.Intn(5)
	for i := range d.Buffers {
		if b := &d.Buffers[i]; r.Intn(2) == 0 {
			b.MicroRing, b.MicroStep = 2+r.Intn(3), 64*int64(1+r.Intn(9))
		}
	}
	p.Kernels = append(p.Kernels, Kernel{Name: "a", Symbol: "a", Args: []Arg{{Bytes: 64}, {Bytes: 64}, {Bytes: 64, Write: true}}})
	from := 0
	for from < len(prog.Instrs) {
		to := from + 1 + r.Intn(len(prog.Instrs)-from)
		if run := prog.runOf(to - 1); run != nil {
			to = run.To
		}
		prog.Tasks = append(prog.Tasks, Task{Name: fmt.Sprint("t", from), From: from, To: to, Once: r.Intn(4) == 0})
		from = to
	}
	for j := range prog.Tasks {
		t := &prog.Tasks[j]
		if i := d.Order(prog).Head(j); r.Intn(9) > 0 {
			prog.Instrs[i].NoWait = false
		}
		for m := range prog.Micro {
			if m == 0 || !t.Once {
				prog.Ticks = append(prog.Ticks, Tick{Task: j, Micro: m})
			}
		}
		for i := t.From; i < t.To; i++ {
			in := &prog.Instrs[i]
			if t.Once {
				for _, n := range in.Bufs {
					d.Buffers[n].MicroRing, d.Buffers[n].MicroStep = 0, 0
				}
			} else if in.Comm == nil && in.Kernel == 0 && r.Intn(4) == 0 {
				in.Kernel, in.Bufs = 2, []int{in.Bufs[r.Intn(2)], in.Bufs[0], in.Bufs[1]}
				in.First = &First{Without: []int{0}}
			}
		}
	}
	r.Shuffle(len(prog.Ticks), func(i, j int) { prog.Ticks[i], prog.Ticks[j] = prog.Ticks[j], prog.Ticks[i] })
	return p
}

// TestOneTickStandsForAll: what is found in some ticks of a task, each alone, is what is
// found in all ticks one after the other.
func TestOneTickStandsForAll(t *testing.T) {
	tried, short, bad := 0, 0, 0
	for seed := range int64(12000) {
		r := rand.New(rand.NewSource(seed))
		p := tasked(r, 6)
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
		if want != nil {
			bad++
		} else if h.walked < len(q.Devices[0].Progs[0].Instrs) {
			short++
		}
	}
	t.Logf("%d programs, %d with hazards, %d others of which less than all was gone through", tried, bad, short)
	if tried < 4000 || bad < 1000 || short < 300 {
		t.Errorf("%d programs, %d with hazards, %d others of which less than all was gone through", tried, bad, short)
	}
}

// pipelined is a pipeline of so many stages and microbatches, one task forward and one
// backward, each stage with 1F1B.
func pipelined(stages, micro int) *Plan {
	p := &Plan{Name: "M", Mesh: []MeshAxis{{"pp", stages}, {"tp", 2}}, By: []string{"pp"}, Code: []Code{{"ir", []byte("x")}},
		Kernels: []Kernel{{Name: "k", Symbol: "k", Args: []Arg{{Bytes: 64}, {Bytes: 64, Write: true}}},
			{Name: "a", Symbol: "a", Args: []Arg{{Bytes: 64}, {Bytes: 64}, {Bytes: 64, Write: true}}}}}
	axes := []Axis{{Name: "a", Size: 16, Global: 16}}
	message := func(kind string, peer, tag int) *Comm {
		return &Comm{Kind: kind, Over: []string{"pp"}, DType: "f32", Outer: 1, Inner: 16, Peer: peer, Tag: tag, Each: 2 * stages, Bytes: 64}
	}
	for s := range stages {
		flying := min(stages-s, micro)
		d := Device{At: []int{s}, Arena: 64 * int64(4+flying)}
		for i := range 4 {
			d.Buffers = append(d.Buffers, Buffer{Space: Scratch, Offset: int64(i) * 64, Bytes: 64, DType: "f32", Axes: axes})
		}
		saved := Buffer{Space: Activations, Offset: 256, Bytes: 64, DType: "f32", Axes: axes}
		if flying > 1 {
			saved.MicroStep, saved.MicroRing = 64, flying
		}
		d.Buffers = append(d.Buffers, saved)
		prog := Program{Name: "step", Micro: micro}
		cut := func(name string, list ...Instr) {
			from := len(prog.Instrs)
			prog.Instrs = append(prog.Instrs, list...)
			prog.Tasks = append(prog.Tasks, Task{Name: name, From: from, To: len(prog.Instrs)})
		}
		forward, backward := []Instr{{Bufs: []int{0, 4}}}, []Instr{{Bufs: []int{4, 2}}, {Kernel: 1, Bufs: []int{3, 2, 3}, First: &First{Without: []int{0}}}}
		if s > 0 {
			forward = append([]Instr{{Bufs: []int{0}, Comm: message(collective.Recv, s-1, s)}}, forward...)
			backward = append(backward, Instr{Bufs: []int{2}, Comm: message(collective.Send, s-1, stages+s)})
		}
		if s < stages-1 {
			forward = append(forward, Instr{Bufs: []int{4}, Comm: message(collective.Send, s+1, s+1)})
			backward = append([]Instr{{Bufs: []int{1}, Comm: message(collective.Recv, s+1, stages+s+1)}}, backward...)
		}
		cut("forward", forward...)
		cut("backward", backward...)
		for m := range micro + flying {
			if m < micro {
				prog.Ticks = append(prog.Ticks, Tick{Task: 0, Micro: m})
			}
			if m >= flying-1 && m-flying+1 < micro {
				prog.Ticks = append(prog.Ticks, Tick{Task: 1, Micro: m - flying + 1})
			}
		}
		d.Progs = []Program{prog}
		p.Devices = append(p.Devices, d)
	}
	return p
}

// TestTicksMeet: a pipeline meets, and does as it is written out; with ticks in other
// orders it does or does not as that does.
func TestTicksMeet(t *testing.T) {
	met, not := 0, 0
	for seed := range int64(4000) {
		r := rand.New(rand.NewSource(seed))
		made := pipelined
		if seed%2 == 1 {
			made = ahead
		}
		p := made(2+r.Intn(3), 1+r.Intn(6))
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		for range r.Intn(4) {
			ticks := p.Devices[r.Intn(len(p.Devices))].Progs[0].Ticks
			i := r.Intn(len(ticks))
			j := min(i+1+r.Intn(2), len(ticks)-1)
			ticks[i], ticks[j] = ticks[j], ticks[i]
		}
		if r.Intn(4) == 0 {
			in := &p.Devices[r.Intn(len(p.Devices))].Progs[0].Instrs[0]
			if in.Comm != nil {
				in.Comm.Each += r.Intn(2)
			}
		}
		q, err := p.Expanded()
		if err != nil {
			t.Fatal(err)
		}
		got, want := validateMeetings(p), validateMeetings(q)
		if (got == nil) != (want == nil) {
			t.Fatalf("seed %d: %v, written out: %v", seed, got, want)
		}
		if want == nil {
			met++
		} else {
			not++
		}
	}
	t.Logf("%d meet, %d do not", met, not)
	if met < 1000 || not < 400 {
		t.Errorf("%d meet, %d do not", met, not)
	}
}

// TestTicksDoNotGrow: a pipeline of four times the microbatches takes a table of ticks
// more, and what proves that it has no hazards looks at as much.
func TestTicksDoNotGrow(t *testing.T) {
	for name, made := range map[string]func(stages, micro int) *Plan{"at once": pipelined, "ahead": ahead} {
		t.Run(name, func(t *testing.T) { ticksDoNotGrow(t, made) })
	}
}

func ticksDoNotGrow(t *testing.T, made func(stages, micro int) *Plan) {
	sizes, walked := map[int]int{}, map[int]int{}
	for _, micro := range []int{64, 256} {
		p := made(4, micro)
		sizes[micro] = len(encode(t, p)) - 4*2*micro*6
		h := hazardsOf(p, &p.Devices[1], &p.Devices[1].Progs[0])
		if err := h.all(); err != nil {
			t.Fatal(err)
		}
		walked[micro] = h.walked
		if q, err := Decode(encode(t, p)); err != nil || !slices.Equal(q.Devices[2].Progs[0].Ticks, p.Devices[2].Progs[0].Ticks) {
			t.Errorf("decoded: %v", err)
		}
	}
	if walked[64] != walked[256] || sizes[256] > sizes[64] {
		t.Errorf("%v instructions are gone through; but for ticks, %v bytes", walked, sizes)
	}
}

// BenchmarkTicks proves the plan of a long pipeline.
func BenchmarkTicks(b *testing.B) {
	for name, made := range map[string]func(stages, micro int) *Plan{"at once": pipelined, "ahead": ahead} {
		b.Run(name, func(b *testing.B) {
			p := made(64, 1024)
			for b.Loop() {
				if err := p.Validate(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
