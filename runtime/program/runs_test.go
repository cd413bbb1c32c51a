package program

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/internal/openpath"
)

// repeated is a random device with runs: mostly of sound structure, with waits and
// places left to chance.
func repeated(r *rand.Rand, most int) *Plan {
	p := &Plan{Name: "M", Mesh: []MeshAxis{{"tp", 2}}, Code: []Code{{"ir", []byte("x")}},
		Kernels: []Kernel{{Name: "k", Symbol: "k", Args: []Arg{{Bytes: 64}, {Bytes: 64, Write: true}}}, {Name: "w", Symbol: "w", Args: []Arg{{Bytes: 32, Write: true}}}}}
	d := Device{Arena: 1 << 20, Stacks: []Stack{{"blocks", 1 + r.Intn(most)}, {"other", 1 + r.Intn(5)}}}
	at := int64(0)
	for range 10 {
		b := Buffer{Space: Scratch, Offset: at, Bytes: 64, DType: "f32", Axes: []Axis{{Name: "a", Size: 16, Global: 16}}}
		if r.Intn(4) > 0 {
			b.Stack = 1 + r.Intn(8)/7
			count := d.Stacks[b.Stack-1].Count
			if b.Ring = [...]int{0, min(2, count), min(3, count), count}[r.Intn(4)]; b.Ring > 1 {
				b.Step = 64 * int64(1+r.Intn(2))
			} else {
				b.Ring = 0
			}
		}
		if r.Intn(3) == 0 { // where another one is, or beside it
			b.Offset = max(0, at-64*int64(r.Intn(6)))
		}
		lo, hi := b.ends()
		if r.Intn(9) == 0 && b.Ring > 0 {
			b.Offset, b.Step = hi-b.Bytes, -b.Step
		}
		if at = max(at, hi); r.Intn(2) == 0 {
			at += 64
		}
		_ = lo
		d.Buffers = append(d.Buffers, b)
	}
	prog := Program{Name: "step"}
	outside, inside := []int{}, map[int][]int{}
	for i, b := range d.Buffers {
		if b.Stack == 0 {
			outside = append(outside, i)
			inside[1], inside[2] = append(inside[1], i), append(inside[2], i)
		} else {
			inside[b.Stack] = append(inside[b.Stack], i)
		}
	}
	waits := r.Intn(4)
	emit := func(stack, ahead int, of *int) {
		list := outside
		if stack > 0 {
			list = inside[stack]
		}
		if len(list) == 0 {
			return
		}
		pick := func() int { return list[r.Intn(len(list))] }
		in := Instr{Ahead: ahead, Scope: "blocks", NoWait: r.Intn(4) >= waits}
		switch k := r.Intn(6); {
		case k == 0:
			b := pick()
			in.NoWait, in.Bufs = false, []int{b, b}
			in.Comm = &Comm{Kind: collective.AllReduce, Over: []string{"tp"}, Reduce: "sum", DType: "f32", Outer: 1, Inner: 16, Bytes: 64}
			if *of < 0 {
				in.Comm.Start, *of = true, len(prog.Instrs)
			}
		case k == 1 && *of >= 0:
			if start := prog.Instrs[*of].Ahead; in.Ahead > start {
				in.Ahead = start
			}
			in.NoWait, in.Comm, *of = false, &Comm{Kind: collective.Done, Of: *of}, -1
		case k == 2:
			in.Kernel, in.Bufs = 1, []int{pick()}
		default:
			in.Bufs = []int{pick(), pick()}
		}
		prog.Instrs = append(prog.Instrs, in)
	}
	free := -1
	for range 1 + r.Intn(3) {
		for range r.Intn(3) {
			emit(0, 0, &free)
		}
		stack, from, of := 1+r.Intn(5)/4, len(prog.Instrs), -1
		shift := r.Intn(3) - 1
		for range 1 + r.Intn(5) {
			emit(stack, shift*(1+r.Intn(9)/8*3)+max(0, r.Intn(6)-4), &of)
		}
		if of >= 0 {
			prog.Instrs = append(prog.Instrs, Instr{Ahead: min(prog.Instrs[of].Ahead, shift), Comm: &Comm{Kind: collective.Done, Of: of}})
		}
		if len(prog.Instrs) > from {
			one := r.Intn(3) == 0
			if from+1 < len(prog.Instrs) && one && prog.Instrs[from].Comm == nil { // alone, to be a launch
				prog.Instrs, prog.Instrs[from].Ahead = prog.Instrs[:from+1], 0
			}
			one = len(prog.Instrs) == from+1 && prog.Instrs[from].Comm == nil
			prog.Runs = append(prog.Runs, Run{Stack: stack, From: from, To: len(prog.Instrs), Down: r.Intn(2) == 0, Together: one && r.Intn(4) > 0})
		}
	}
	if free >= 0 {
		prog.Instrs = append(prog.Instrs, Instr{Comm: &Comm{Kind: collective.Done, Of: free}})
	}
	d.Progs = []Program{prog}
	p.Devices = []Device{d}
	return p
}

// TestFewIterationsStandForAll: what is found in the first and the last iterations of a run is
// what is found in the program that is written out, in which nothing is left out.
func TestFewIterationsStandForAll(t *testing.T) {
	tried, short, bad, together := 0, 0, 0, 0
	for seed := range int64(20000) {
		p := repeated(rand.New(rand.NewSource(seed)), 30)
		d := &p.Devices[0]
		prog := &d.Progs[0]
		if !sound(p) {
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
		if (got == nil) != (want == nil) {
			t.Fatalf("seed %d: %v, written out: %v\n%+v\n%+v\n%+v", seed, got, want, d.Stacks, d.Buffers, prog)
		}
		if want == nil && slices.ContainsFunc(q.Devices[0].Progs[0].Instrs, func(in Instr) bool { return in.With }) {
			together++
		}
		if want != nil {
			bad++
		} else if h.walked < len(q.Devices[0].Progs[0].Instrs) {
			short++
		}
	}
	t.Logf("%d programs, %d with hazards, %d others of which less than all was gone through, %d with runs of one launch", tried, bad, short, together)
	if tried < 10000 || bad < 3000 || short < 1000 || together < 300 {
		t.Errorf("%d programs, %d with hazards, %d others of which less than all was gone through, %d with runs of one launch", tried, bad, short, together)
	}
}

// hazardsOf are those of a program of p.
func hazardsOf(p *Plan, d *Device, prog *Program) *hazards {
	return &hazards{kernels: p.Kernels, device: d, order: d.Order(prog)}
}

// runOf is the run that instruction i is in, or nil.
func (p *Program) runOf(i int) *Run {
	for j := range p.Runs {
		if p.Runs[j].From <= i && i < p.Runs[j].To {
			return &p.Runs[j]
		}
	}
	return nil
}

// sound says whether all but the hazards of the first program is valid.
func sound(p *Plan) bool {
	d := &p.Devices[0]
	check := newProgramCheck(p, d)
	for i := range d.Buffers {
		if validateBuffer(p.Mesh, d, &d.Buffers[i]) != nil {
			return false
		}
	}
	prog := &d.Progs[0]
	if d.validateRuns(prog) != nil {
		return false
	}
	o := d.Order(prog)
	if o.validateAheads() != nil {
		return false
	}
	for i := range prog.Instrs {
		if check.instr(o, &prog.Instrs[i], o.where(i)) != nil {
			return false
		}
	}
	return true
}

// TestWorkDoesNotGrow: of a run of many instances, a few iterations are gone through.
func TestWorkDoesNotGrow(t *testing.T) {
	var walked []int
	for _, count := range []int{24, 96, maxInstances} {
		p := sample()
		d := &p.Devices[0]
		d.Arena = 1 << 30
		d.Stacks[0].Count = count
		for i, at := range []int64{1 << 28, 1 << 27, 1 << 29} {
			b := &d.Buffers[15+i]
			b.Offset = at
			if b.Ring > 2 {
				b.Ring = count
			}
		}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		h := hazardsOf(p, d, &d.Progs[2])
		if err := h.all(); err != nil {
			t.Fatal(err)
		}
		walked = append(walked, h.walked)
		b := encode(t, p)
		if len(b) > len(encode(t, sample()))+100 {
			t.Errorf("%d instances: %d bytes", count, len(b))
		}
	}
	if walked[0] != walked[1] || walked[0] != walked[2] {
		t.Errorf("%v instructions are gone through", walked)
	}
}

// TestExpanded: the sample written out is as valid as itself, and says the number of
// each instance.
func TestExpanded(t *testing.T) {
	p, err := sample().Expanded()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	d := &p.Devices[0]
	var got []string
	for _, in := range d.Progs[2].Instrs {
		s := in.Scope
		if in.Comm != nil {
			s = fmt.Sprint(in.Comm.Kind, " ", in.Comm.Of)
		}
		got = append(got, fmt.Sprint(s, in.Bufs))
	}
	const want = "blocks.4[18 20],blocks.3[17 19],all_reduce 0[20 20],[18 25],done 2[],[20 18]," +
		"blocks.2[16 20],all_reduce 0[19 19],[17 25],done 7[],[19 17],blocks.1[15 19],all_reduce 0[20 20],[16 25],done 12[],[20 16]," +
		"all_reduce 0[19 19],[15 25],done 16[],[19 15]"
	if s := strings.Join(got, ","); s != want {
		t.Errorf("instructions\n%s, want\n%s", s, want)
	}
	var ports []string
	for _, x := range d.Ports {
		if x.Program == "blocks" {
			ports = append(ports, fmt.Sprint(x.Path, " ", x.Buffer, " ", x.After, " ", x.Number))
		}
	}
	if s := strings.Join(ports, ","); s != "blocks.1 21 0 1,blocks.2 22 0 2,blocks.3 23 0 3,blocks.4 24 0 4,"+
		"blocks.1.w 19 19 0,blocks.2.w 20 15 0,blocks.3.w 19 10 0,blocks.4.w 20 5 0" {
		t.Errorf("ports %s", s)
	}
	if x := d.Tensors[len(d.Tensors)-1]; x.Path != "blocks.4.w" || x.Buffer != 18 || len(d.Tensors) != 7 {
		t.Errorf("tensors %+v", d.Tensors)
	}
	if q, err := p.Expanded(); err != nil || q != p {
		t.Error("what repeats nothing is written out again")
	}
	big := sample()
	big.Devices[0].Stacks = append(big.Devices[0].Stacks, Stack{"wide", maxInstances})
	one := &big.Devices[0].Progs[3]
	for range 20 {
		one.Instrs = append(one.Instrs, Instr{Bufs: []int{0, 10}})
	}
	one.Runs = append(one.Runs, Run{Stack: 2, From: 2, To: 22})
	if err := big.Validate(); err != nil {
		t.Fatal(err)
	}
	var limit *LimitError
	if _, err := big.Expanded(); !errors.As(err, &limit) || limit.Kind != CountLimit {
		t.Errorf("20 instructions of a million instances: %v", err)
	}
}

// TestValidateRuns breaks one thing of what is repeated at a time.
func TestValidateRuns(t *testing.T) {
	dev := func(f func(d *Device)) func(*Plan) { return func(p *Plan) { f(&p.Devices[0]) } }
	buf := func(i int, f func(b *Buffer)) func(*Plan) { return dev(func(d *Device) { f(&d.Buffers[i]) }) }
	run := func(f func(p *Program)) func(*Plan) { return dev(func(d *Device) { f(&d.Progs[2]) }) }
	launches := func(f func(p *Program)) func(*Plan) { return dev(func(d *Device) { f(&d.Progs[5]) }) }
	tensor := func(f func(t *Tensor)) func(*Plan) { return dev(func(d *Device) { f(&d.Tensors[3]) }) }
	for _, c := range []struct {
		name   string
		change func(p *Plan)
		want   string
	}{
		{"no instances", dev(func(d *Device) { d.Stacks[0].Count = 0 }), "of 0 instances"},
		{"too many instances", dev(func(d *Device) { d.Stacks[0].Count = 1 << 40 }), "more than 1048576"},
		{"stack without a name", dev(func(d *Device) { d.Stacks[0].Name = "" }), "without a name"},
		{"stack of a buffer", buf(15, func(b *Buffer) { b.Stack = 2 }), "stack 2 of 1"},
		{"ring of one buffer", buf(15, func(b *Buffer) { b.Stack = 0 }), "1 instances have 4 places"},
		{"ring of more", buf(15, func(b *Buffer) { b.Ring = 5 }), "4 instances have 5 places"},
		{"ring of one", buf(16, func(b *Buffer) { b.Ring = 1 }), "4 instances have 1 places"},
		{"ring without a step", buf(16, func(b *Buffer) { b.Step = 0 }), "0 apart"},
		{"small step", buf(6, func(b *Buffer) { b.Stack, b.Ring, b.Step = 1, 2, 256 }), "320 bytes of each instance, 256 apart"},
		{"odd step", buf(15, func(b *Buffer) { b.Step = 65 }), "65 apart"},
		{"overflowing step", buf(15, func(b *Buffer) { b.Step = math.MaxInt64 &^ 63 }), "not in the arena"},
		{"underflowing step", buf(15, func(b *Buffer) { b.Step = math.MinInt64 }), "not in the arena"},
		{"before the arena", buf(15, func(b *Buffer) { b.Step = -512 }), "not in the arena"},
		{"behind the arena", buf(17, func(b *Buffer) { b.Step = 512 }), "not in the arena"},
		{"run of no stack", run(func(p *Program) { p.Runs[0].Stack = 0 }), "stack 0 of 1"},
		{"run of nothing", run(func(p *Program) { p.Runs[0].To = 0 }), "run 0 is of the instructions"},
		{"run beyond the end", run(func(p *Program) { p.Runs[0].To = 6 }), "run 0 is of the instructions"},
		{"nested runs", run(func(p *Program) { p.Runs = append(p.Runs, Run{Stack: 1, From: 1, To: 3}) }), "run 1 is of the instructions"},
		{"several together", run(func(p *Program) { p.Runs[0].Together = true }), "run 0 is one launch"},
		{"together over one place", launches(func(p *Program) { p.Instrs[2].Bufs[1] = 18 }), "does not wait for"},
		{"with nothing", launches(func(p *Program) { p.Instrs[0].NoWait, p.Instrs[0].With = true, true }), "launched with the one before"},
		{"with another kernel", launches(func(p *Program) { p.Instrs[0].Kernel = 1 }), "launched with the one before"},
		{"with one that it waits for", launches(func(p *Program) { p.Instrs[1].NoWait = false }), "launched with the one before"},
		{"with a run", launches(func(p *Program) { p.Runs[0].From, p.Runs[0].Together = 1, false }), "launched with the one before"},
		{"far ahead", run(func(p *Program) { p.Instrs[0].Ahead = 1025 }), "1025 iterations ahead"},
		{"far behind", run(func(p *Program) { p.Instrs[0].Ahead = math.MinInt }), "iterations ahead"},
		{"ahead outside", func(p *Plan) { p.Devices[0].Progs[0].Instrs[0].Ahead = 1 }, "1 iterations ahead"},
		{"outside of its run", run(func(p *Program) { p.Runs = nil; p.Instrs[0].Ahead = 0 }), "of every instance of another stack"},
		{"done of outside", run(func(p *Program) {
			p.Instrs = append(p.Instrs, Instr{Comm: &Comm{Kind: collective.Done, Of: 1}})
		}), "of other instances"},
		{"done before it is started", run(func(p *Program) { p.Instrs[3].Ahead = 1 }), "not under way"},
		{"started for all", run(func(p *Program) { p.Instrs[1].Ahead = 2 }), "under way, uses"},
		{"path without a number", tensor(func(t *Tensor) { t.Path = "blocks.w" }), "the number is open where"},
		{"number without instances", func(p *Plan) { p.Devices[0].Tensors[2].Path = "w.{i}" }, "the number is open where"},
		{"two numbers in a row", tensor(func(t *Tensor) { t.Path = "blocks.1{i}.w" }), "in another form"},
		{"two numbers", tensor(func(t *Tensor) { t.Path = "blocks.{i}.{i}" }), "in another form"},
		{"number in another form", tensor(func(t *Tensor) { t.Path = "blocks.{1i}.w" }), "in another form"},
		{"large numbers", tensor(func(t *Tensor) { t.Path = "blocks.{9999999999i}.w" }), "too large"},
		{"one of the instances twice", func(p *Plan) { p.Devices[0].Tensors[2].Path = "blocks.3.w" }, "path blocks.3.w"},
		{"copy of other instances", func(p *Plan) {
			d := &p.Devices[0]
			d.Buffers = append(d.Buffers, Buffer{Space: Params, Offset: 2304, Bytes: 48, DType: "f32", Axes: d.Buffers[15].Axes, Stack: 1, Step: 64, Ring: 4})
			d.Arena = 2560
			d.Tensors = append(d.Tensors, Tensor{Path: "blocks.{i}.x", Buffer: 22, Init: Init{Kind: "ones"}, Of: "blocks.{i+1}.w"})
		}, "of other instances"},
		{"tensors in one place", buf(15, func(b *Buffer) { b.Ring = 2 }), "4 instances in 2 places"},
		{"tensor in another's instances", buf(11, func(b *Buffer) { b.Memory = ""; b.Offset = 1216 }), "two tensors share"},
		{"ports in one place", buf(17, func(b *Buffer) { b.Ring = 3 }), "fed in 3 places"},
		{"number of the last", dev(func(d *Device) { d.Ports[7].Number = math.MaxInt32 }), "too large"},
		{"every instance at once", func(p *Plan) {
			in := &p.Devices[0].Progs[1].Instrs[4]
			in.Bufs = []int{16, 1, 16, 1}
		}, "of every instance of another stack"},
		{"a permute of every instance", func(p *Plan) { p.Devices[0].Progs[1].Instrs[1].Bufs = []int{15, 15} }, "of another stack"},
		{"gradient of every instance", dev(func(d *Device) { d.Ports[8].Buffer = 2 }), "the number is open where"},
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

// TestPaths compares the paths that are found twice with those of all instances.
func TestPaths(t *testing.T) {
	found := 0
	for seed := range int64(5000) {
		r := rand.New(rand.NewSource(seed))
		type item struct {
			path  string
			count int
		}
		var list []item
		seen, want := map[string]bool{}, false
		for range 1 + r.Intn(5) {
			path := [...]string{"a.%s", "a.%s.b", "a.%s.b.2", "a.1.b.%s", "%s.a"}[r.Intn(5)]
			x := item{count: 1}
			if r.Intn(2) == 0 {
				x.path = fmt.Sprintf(path, fmt.Sprint(r.Intn(9)))
			} else {
				x.path, x.count = fmt.Sprintf(path, openpath.Open(1+r.Intn(3), r.Intn(5))), 1+r.Intn(4)
			}
			list = append(list, x)
			for k := range x.count {
				one := of(x.path, k)
				want = want || seen[one]
				seen[one] = true
			}
		}
		p := paths[int]{meet: func(a, b int, what string, i, j int) error { return errors.New(what) }}
		var got error
		for i, x := range list {
			if err := p.add("t", x.path, x.count, i); got == nil {
				got = err
			}
		}
		if err := p.compare(); got == nil {
			got = err
		}
		if (got != nil) != want {
			t.Fatalf("seed %d: %v: %v, want %v", seed, list, got, want)
		}
		if want {
			found++
		}
	}
	if found < 500 || found > 4500 {
		t.Errorf("%d of 5000 have a path twice", found)
	}
}

// TestMeetingsOfRuns: what a run has among devices meets what the other one has written
// out, in the order of the run.
func TestMeetingsOfRuns(t *testing.T) {
	send, recv, sum := Comm{Kind: collective.Send}, Comm{Kind: collective.Recv}, Comm{Kind: collective.AllReduce}
	for _, c := range []struct {
		name   string
		first  Comm
		second []Comm
		down   bool
		want   string
	}{
		{"messages", send, []Comm{recv, recv, recv, recv}, false, ""},
		{"too few", send, []Comm{recv, recv, recv}, false, "does not receive"},
		{"too many", send, []Comm{recv, recv, recv, recv, recv}, false, "deadlock: rank 1"},
		{"collectives", sum, []Comm{sum, sum, sum, sum}, false, ""},
		{"collectives the other way", sum, []Comm{sum, sum, sum, sum}, true, "where rank"},
		{"one collective less", sum, []Comm{sum, sum, sum}, false, "deadlock"},
	} {
		p := stages([]Comm{c.first}, c.second)
		run := &p.Devices[0].Progs[1]
		run.Instrs[0].Scope = "blocks.{i}"
		run.Runs = []Run{{Stack: 1, To: 1, Down: c.down}}
		for i := range p.Devices[1].Progs[1].Instrs {
			p.Devices[1].Progs[1].Instrs[i].Scope = fmt.Sprintf("blocks.%d", i)
		}
		if err := p.Validate(); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestMeetingsWrittenOut: devices with runs meet where they do when all is written out.
func TestMeetingsWrittenOut(t *testing.T) {
	met, not := 0, 0
	for seed := range int64(20000) {
		r := rand.New(rand.NewSource(seed))
		p := repeated(r, 6)
		other := repeated(rand.New(rand.NewSource(seed)), 6).Devices[0]
		prog := &other.Progs[0]
		switch r.Intn(4) {
		case 0:
			other.Stacks[0].Count++
			for i := range other.Buffers {
				if b := &other.Buffers[i]; b.Stack == 1 && b.Ring == other.Stacks[0].Count-1 && b.Ring > 3 {
					b.Ring++
				}
			}
		case 1:
			for i := range prog.Runs {
				prog.Runs[i].Down = !prog.Runs[i].Down
			}
		}
		p.By, p.Devices[0].At, other.At = []string{"tp"}, []int{0}, []int{1}
		p.Devices = append(p.Devices, other)
		fine := true
		for i := range p.Devices {
			d := &p.Devices[i]
			for j := range d.Progs[0].Instrs {
				d.Progs[0].Instrs[j].Scope = ""
				if r := d.Progs[0].runOf(j); r != nil {
					d.Progs[0].Instrs[j].Scope = "blocks.{i}"
				}
			}
			one := *p
			one.By, one.Mesh, one.Devices = nil, []MeshAxis{{"tp", 2}}, []Device{*d}
			fine = fine && sound(&one) && hazardsOf(&one, &one.Devices[0], &one.Devices[0].Progs[0]).all() == nil
		}
		if !fine {
			continue
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
	if met < 500 || not < 50 {
		t.Errorf("%d meet, %d do not", met, not)
	}
	t.Logf("%d meet, %d do not", met, not)
}
