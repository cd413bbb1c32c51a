package cuda

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"ptc/internal/collective"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// random is a program of kernels and copies between memories, with as few waits as it may have.
// With mesh, of 2 x 3 devices, it also takes own parts.
func random(rng *rand.Rand, exchanges bool) *toy {
	t := newToy()
	t.Mesh = []program.MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 3}}
	var own, host []int
	for range 6 {
		own = append(own, t.buffer("", "i32", elems))
	}
	for range 3 {
		host = append(host, t.buffer(program.Host, "i32", elems))
	}
	wide := t.buffer("", "i32", 6*elems)
	one := func(list []int) int { return list[rng.IntN(len(list))] }
	open := map[int]bool{}
	for len(t.d.Progs[0].Instrs) < 24 {
		in := program.Instr{}
		switch k := rng.IntN(10); {
		case k < 6:
			in.Kernel = []int{mix, stir, next}[rng.IntN(3)]
			for range t.Kernels[in.Kernel].Args {
				in.Bufs = append(in.Bufs, one(own))
			}
			in.NoWait = rng.IntN(3) > 0
		case k == 6:
			in.Bufs, in.Comm = []int{one(host), one(own)}, &program.Comm{Kind: collective.HostToDevice}
			if rng.IntN(2) == 0 {
				in.Bufs, in.Comm = []int{in.Bufs[1], in.Bufs[0]}, &program.Comm{Kind: collective.DeviceToHost}
			}
			in.Comm.Start = rng.IntN(3) > 0
		case k == 7:
			in.Bufs = []int{wide, one(own)}
			in.Comm = &program.Comm{Kind: collective.ShardSlice, Over: []string{"dp", "tp"}, DType: "i32", Outer: 16, Inner: 8}
		case k == 8 && exchanges:
			a := one(own)
			in.Bufs, in.Comm = []int{a, a}, &program.Comm{Kind: collective.AllReduce, Over: []string{"tp"}, Reduce: "sum", DType: "i32", Outer: 1, Inner: elems, Start: rng.IntN(2) == 0}
			if rng.IntN(2) == 0 {
				in.Bufs[1] = one(own)
			}
		default:
			for of := range t.d.Progs[0].Instrs {
				if open[of] && rng.IntN(2) == 0 {
					in.Comm = &program.Comm{Kind: collective.Done, Of: of}
				}
			}
			if in.Comm == nil {
				continue
			}
		}
		t.try(in, open)
	}
	for i := range t.d.Progs[0].Instrs {
		if open[i] {
			t.instr(program.Instr{Comm: &program.Comm{Kind: collective.Done, Of: i}})
		}
	}
	return t
}

// try adds an instruction, if the program is one still: with the ends of all that it starts.
func (t *toy) try(in program.Instr, open map[int]bool) {
	prog := &t.d.Progs[0]
	old := prog.Instrs
	prog.Instrs = append(prog.Instrs[:len(old):len(old)], in)
	if c := in.Comm; c != nil && c.Kind == collective.Done {
		delete(open, c.Of)
	} else if c != nil && c.Start {
		open[len(old)] = true
	}
	whole := prog.Instrs
	for i := range whole {
		if open[i] {
			prog.Instrs = append(prog.Instrs, program.Instr{Comm: &program.Comm{Kind: collective.Done, Of: i}})
		}
	}
	err := t.Validate()
	prog.Instrs = whole
	if err == nil {
		return
	}
	prog.Instrs = old
	delete(open, len(old))
	if c := in.Comm; c != nil && c.Kind == collective.Done {
		open[c.Of] = true
	}
}

// TestOrders: under all orders that the edges of graphs allow, programs compute what they compute
// one instruction after the other: launched, and stepped through in any ranges.
func TestOrders(t *testing.T) {
	free, started := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		toy := random(rng, seed%3 == 0)
		for _, in := range toy.d.Progs[0].Instrs {
			if in.NoWait {
				free++
			}
			if in.Comm != nil && in.Comm.Start {
				started++
			}
		}
		drv := onFake(t, fakecuda.Options{Seed: seed / 2})
		x := &exchanges{toy: toy, late: seed%2 == 0, atOnce: seed%4 == 1}
		e, p, err := toy.opened(device.Request{Rank: sliceRank, Exchanges: x})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		n := len(toy.d.Progs[0].Instrs)
		cut := []int{0, 1 + rng.IntN(n-1), n}
		for run := range 6 {
			s := toy.fresh(rng)
			if err := toy.write(e, s); err != nil {
				t.Fatal(err)
			}
			toy.run(s, together)
			if run%2 == 0 {
				p.Launch()
				err = p.Wait()
			} else {
				err = errors.Join(p.Step(cut[0], cut[1]), p.Step(cut[1], cut[2]))
			}
			if err == nil {
				err = toy.compare(e, s)
			}
			if err != nil {
				t.Fatalf("seed %d, run %d: %v\n%+v", seed, run, err, toy.d.Progs[0].Instrs)
			}
		}
		e.Close()
		clean(t, drv)
	}
	if free < 100 || started < 30 {
		t.Errorf("%d instructions that need not wait, %d that are started", free, started)
	}
}

// TestEdges: with an edge of a graph left out, some order is wrong: a program in which it would be
// allowed computes something else.
func TestEdges(t *testing.T) {
	wrong := 0
	for seed := range uint64(20) {
		toy := newToy()
		a, b, c := toy.buffer("", "i32", elems), toy.buffer("", "i32", elems), toy.buffer("", "i32", elems)
		toy.kernel(next, a, b)
		toy.instr(program.Instr{Kernel: stir, Bufs: []int{b, c}, NoWait: true}) // and it does need to
		if toy.Validate() == nil {
			t.Fatal("the plan is right")
		}
		onFake(t, fakecuda.Options{Seed: seed})
		e, p, err := toy.opened(device.Request{})
		if err != nil {
			t.Fatal(err)
		}
		s := toy.fresh(rand.New(rand.NewPCG(seed, 1)))
		for range 2 { // at first it is no graph
			if err := toy.write(e, s); err != nil {
				t.Fatal(err)
			}
			p.Launch()
			if err := p.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		toy.run(s, nil)
		if toy.compare(e, s) != nil {
			wrong++
		}
		e.Close()
	}
	if wrong < 3 || wrong > 17 {
		t.Errorf("%d of 20 orders are found to be wrong", wrong)
	}
}

// TestOneLaunch: a program without communication is one launch from the second time on, whatever it does, and
// one that recurs in ranges is one for each.
func TestOneLaunch(t *testing.T) {
	toy := random(rand.New(rand.NewPCG(5, 1)), false)
	drv := onFake(t, fakecuda.Options{})
	e, p, err := toy.opened(device.Request{Rank: sliceRank})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := toy.write(e, toy.fresh(rand.New(rand.NewPCG(1, 1)))); err != nil {
		t.Fatal(err)
	}
	count := func(run func() error) (graphs, kernels, made int) {
		g, k, m := drv.Called("cuGraphLaunch"), drv.Called("cuLaunchKernel"), drv.Called("cuGraphInstantiateWithFlags")
		if err := run(); err != nil {
			t.Fatal(err)
		}
		return drv.Called("cuGraphLaunch") - g, drv.Called("cuLaunchKernel") - k, drv.Called("cuGraphInstantiateWithFlags") - m
	}
	whole := func() error { p.Launch(); return p.Wait() }
	ranges := func() error { return errors.Join(p.Step(0, 9), p.Step(9, len(toy.d.Progs[0].Instrs))) }
	for i, c := range []struct {
		run                   func() error
		graphs, kernels, made int
	}{{whole, 0, -1, 0}, {whole, 1, 0, 1}, {whole, 1, 0, 0}, {ranges, 0, -1, 0}, {ranges, 2, 0, 2}, {ranges, 2, 0, 0}, {whole, 1, 0, 0}} {
		g, k, m := count(c.run)
		if g != c.graphs || m != c.made || c.kernels == 0 && k != 0 || c.kernels < 0 && k == 0 {
			t.Errorf("run %d: %d graphs launched, %d made, %d kernels", i, g, m, k)
		}
	}
}

// TestPorts: what goes in stays there, what comes out is there after Wait and Step; ports next to
// each other are one copy.
func TestPorts(t *testing.T) {
	for seed := range uint64(12) {
		toy := newToy()
		x := toy.buffer("", "i32", elems)
		toy.port(program.RoleData, "x", x)
		var scalars []int
		for range 3 { // in a row
			scalars = append(scalars, toy.buffer("", "i32", 1))
		}
		toy.port(program.RoleStep, "", scalars[0])
		toy.port(program.RoleSeed, "", scalars[2])
		y := toy.buffer("", "i32", elems)
		loss := toy.buffer("", "f32", 1) // the first element of y, which a kernel computes
		toy.d.Buffers[loss].Offset = toy.d.Buffers[y].Offset
		toy.port(program.RoleLoss, "", loss)
		toy.instr(program.Instr{Kernel: next, Bufs: []int{x, y}, NoWait: true}) // for the ports it waits
		toy.kernel(nothing)
		toy.kernel(next, y, x) // what went in is overwritten
		toy.kernel(next, x, y)
		if err := toy.Validate(); err != nil {
			t.Fatal(err)
		}
		drv := onFake(t, fakecuda.Options{Seed: seed})
		e, p, err := toy.opened(device.Request{})
		if err != nil {
			t.Fatal(err)
		}
		in, step := p.Port(0), p.Port(1)
		for i := range elems {
			binary.LittleEndian.PutUint32(in[4*i:], uint32(i))
		}
		binary.LittleEndian.PutUint32(p.Port(2), 77)
		if len(step) != 4 || len(p.Port(3)) != 4 {
			t.Fatalf("ports of %d and %d bytes", len(step), len(p.Port(3)))
		}
		for run := range uint32(4) {
			binary.LittleEndian.PutUint32(step, run)
			binary.LittleEndian.PutUint32(in, 100*run)
			if run%2 == 0 {
				p.Launch()
				err = p.Wait()
			} else {
				err = errors.Join(p.Step(0, 2), p.Step(2, 4))
			}
			if err != nil {
				t.Fatal(err)
			}
			want := toy.fresh(rand.New(rand.NewPCG(1, 1)))
			for i := range elems {
				want[x][i], want[y][i] = uint32(i)+2, uint32(i)+3
			}
			want[x][0], want[y][0], want[loss][0] = 100*run+2, 100*run+3, 100*run+3
			want[scalars[0]][0], want[scalars[2]][0] = run, 77
			want[scalars[1]] = nil // nobody's
			if err := toy.compare(e, want); err != nil {
				t.Fatalf("seed %d, run %d: %v", seed, run, err)
			}
			if got := binary.LittleEndian.Uint32(p.Port(3)); got != 100*run+3 {
				t.Errorf("seed %d, run %d: the loss is %#x", seed, run, got)
			}
		}
		e.Close()
		clean(t, drv)
	}
}

// TestPortRanges: ports whose lines follow one another are one copy, up to the next gap.
func TestPortRanges(t *testing.T) {
	toy := newToy()
	for i := range 6 {
		b := toy.buffer("", "i32", 1+16*(i%2))
		if i != 3 {
			toy.port(program.RoleIndex, "", b)
		}
	}
	got, overlap := portRanges(toy.d, 0, true)
	if len(got) != 2 || len(got[0].ports) != 3 || len(got[1].ports) != 2 || overlap || got[0].to != 196 {
		t.Errorf("%+v, %v", got, overlap)
	}
	toy.d.Buffers[2].Offset = toy.d.Buffers[1].Offset
	if got, overlap = portRanges(toy.d, 0, true); len(got) != 5 || !overlap {
		t.Errorf("%+v, %v", got, overlap)
	}
}

// TestJoins: many that need not wait, behind as many, have a node between them and not all edges.
func TestJoins(t *testing.T) {
	for seed := range uint64(10) {
		toy := newToy()
		const n = 8
		for range 2*n + 1 {
			toy.buffer("", "i32", elems)
		}
		for i := range n {
			toy.instr(program.Instr{Kernel: next, Bufs: []int{2 * n, i}, NoWait: i > 0})
		}
		for i := range n {
			toy.instr(program.Instr{Kernel: mix, Bufs: []int{i, (i + 1) % n, n + i}, NoWait: i > 0})
		}
		if err := toy.Validate(); err != nil {
			t.Fatal(err)
		}
		drv := onFake(t, fakecuda.Options{Seed: seed})
		e, p, err := toy.opened(device.Request{})
		if err != nil {
			t.Fatal(err)
		}
		s := toy.fresh(rand.New(rand.NewPCG(seed, 1)))
		if err := toy.write(e, s); err != nil {
			t.Fatal(err)
		}
		for range 2 { // at first it is no graph
			p.Launch()
			toy.run(s, nil)
			if err := errors.Join(p.Wait(), toy.compare(e, s)); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if got := drv.Called("cuGraphAddEmptyNode"); got != 1 {
			t.Errorf("%d nodes of nothing", got)
		}
		e.Close()
		clean(t, drv)
	}
}
