package exec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ptc/internal/collective"
	"ptc/runtime/comm"
	"ptc/runtime/program"
)

// exchangePlan has four devices, dp = 2 × tp = 2, and a step that is one
// communication from src to dst, both of them tensors.
func exchangePlan(c program.Comm, src, dst []program.Axis) *program.Plan {
	d := program.Device{}
	for i, axes := range [][]program.Axis{src, dst} {
		n := int64(4 * program.Elems(axes))
		d.Buffers = append(d.Buffers, program.Buffer{Space: program.Params, Offset: d.Arena, Bytes: n, DType: "f32", Axes: axes})
		d.Arena += (n + 63) &^ 63
		d.Tensors = append(d.Tensors, program.Tensor{Path: []string{"src", "dst"}[i], Buffer: i, Init: program.Init{Kind: "zeros"}})
	}
	c.DType = "f32"
	d.Progs = []program.Program{{Name: "step", Instrs: []program.Instr{{Bufs: []int{0, 1}, Scope: "a.block", Comm: &c}}}}
	return &program.Plan{Mesh: []program.MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 2}}, Devices: []program.Device{d}}
}

// matrix is the axes of a 4×8 tensor with the columns or rows cut.
func matrix(rows, cols []string) []program.Axis {
	cut := func(n int, mesh []string) int { return n >> len(mesh) }
	return []program.Axis{{Name: "row", Size: cut(4, rows), Global: 4, Mesh: rows}, {Name: "col", Size: cut(8, cols), Global: 8, Mesh: cols}}
}

// exchanges are communications with what they make of a 4×8 tensor of 0, 1, …
var exchanges = []struct {
	name     string
	comm     program.Comm
	src, dst []program.Axis
	want     func(i int) float32
}{
	{"all_reduce", program.Comm{Kind: collective.AllReduce, Over: []string{"dp", "tp"}, Reduce: "sum", Outer: 1, Inner: 32},
		matrix(nil, nil), matrix(nil, nil), func(i int) float32 { return 4 * float32(i) }},
	{"all_reduce max", program.Comm{Kind: collective.AllReduce, Over: []string{"tp"}, Reduce: "max", Outer: 1, Inner: 32},
		matrix(nil, nil), matrix(nil, nil), func(i int) float32 { return float32(i) }},
	{"reduce_scatter", program.Comm{Kind: collective.ReduceScatter, Over: []string{"tp"}, Reduce: "sum", Outer: 4, Inner: 4},
		matrix(nil, nil), matrix(nil, []string{"tp"}), func(i int) float32 { return 2 * float32(i) }},
	{"all_gather", program.Comm{Kind: collective.AllGather, Over: []string{"tp"}, Outer: 4, Inner: 4},
		matrix(nil, []string{"tp"}), matrix(nil, nil), func(i int) float32 { return float32(i) }},
	{"all_gather of two axes", program.Comm{Kind: collective.AllGather, Over: []string{"tp", "dp"}, Outer: 4, Inner: 2},
		matrix(nil, []string{"tp", "dp"}), matrix(nil, nil), func(i int) float32 { return float32(i) }},
	{"all_gather of the minor", program.Comm{Kind: collective.AllGather, Over: []string{"dp"}, Outer: 4, Inner: 2},
		matrix(nil, []string{"tp", "dp"}), matrix(nil, []string{"tp"}), func(i int) float32 { return float32(i) }},
	{"shard_slice", program.Comm{Kind: collective.ShardSlice, Over: []string{"tp", "dp"}, Outer: 4, Inner: 2},
		matrix(nil, nil), matrix(nil, []string{"tp", "dp"}), func(i int) float32 { return float32(i) }},
	{"shard_slice of rows", program.Comm{Kind: collective.ShardSlice, Over: []string{"dp"}, Outer: 1, Inner: 8},
		matrix(nil, []string{"tp"}), matrix([]string{"dp"}, []string{"tp"}), func(i int) float32 { return float32(i) }},
	{"all_to_all", program.Comm{Kind: collective.AllToAll, Over: []string{"tp"}, Outer: 1, Inner: 8, DstOuter: 2, DstInner: 4},
		matrix(nil, []string{"tp"}), matrix([]string{"tp"}, nil), func(i int) float32 { return float32(i) }},
	{"permute", program.Comm{Kind: collective.Permute, Over: []string{"tp"}, Outer: 1, Inner: 16, From: []int{1, -1}},
		matrix(nil, []string{"tp"}), matrix(nil, []string{"tp"}), func(i int) float32 {
			if i%8 < 4 {
				return float32(i) + 4
			}
			return 0
		}},
	{"permute over two axes", program.Comm{Kind: collective.Permute, Over: []string{"dp", "tp"}, Outer: 1, Inner: 8, From: []int{0, 2, 1, 3}},
		matrix(nil, []string{"tp", "dp"}), matrix(nil, []string{"dp", "tp"}), func(i int) float32 { return float32(i) }},
}

// TestExchanges runs each communication on four devices of this process.
func TestExchanges(t *testing.T) {
	for _, x := range exchanges {
		m := machine(t, exchangePlan(x.comm, x.src, x.dst), 2)
		if err := m.Write("src", count(32)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := m.Step(); err != nil {
				t.Fatalf("%s: %v", x.name, err)
			}
		}
		checkExchange(t, x.name, x.want, func(got []float32) error { return m.Read("dst", got) })
		if n := testing.AllocsPerRun(20, func() { _ = m.Step() }); n != 0 && !onFake {
			t.Errorf("%s: %v allocations in a step", x.name, n)
		}
	}
}

func checkExchange(t *testing.T, name string, want func(int) float32, read func([]float32) error) {
	t.Helper()
	got := make([]float32, 32)
	if err := read(got); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for i := range got {
		if got[i] != want(i) {
			t.Errorf("%s: element %d is %v, want %v", name, i, got[i], want(i))
			return
		}
	}
}

// apart runs f for each device of a plan as if each were in a process of its
// own: they share nothing but the communication.
func apart(t *testing.T, plan *program.Plan, f func(m *Machine) error) {
	t.Helper()
	mesh, err := comm.NewMesh(plan.Mesh)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := comm.Open("local", mesh, comm.Options{Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for _, end := range ends {
		wait.Add(1)
		go func() {
			defer wait.Done()
			m, err := Open(plan, Options{Threads: 1, Comm: []comm.Device{end}})
			if err == nil {
				err = f(m)
				m.Close()
			}
			if err != nil {
				end.Abort(err)
				t.Error(err)
			} else if err := end.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
}

// TestApart is TestExchanges in one process for each device.
func TestApart(t *testing.T) {
	for _, x := range exchanges {
		apart(t, exchangePlan(x.comm, x.src, x.dst), func(m *Machine) error {
			if !m.Shared() || len(m.Boxes("src")) != 1 {
				t.Errorf("%s: rank %d has more than its own device", x.name, m.devices[0].rank)
			}
			if err := m.Write("src", count(32)); err != nil {
				return err
			}
			if err := m.Step(); err != nil {
				return err
			}
			if !m.Root() {
				return m.ReadBytes("dst", nil)
			}
			checkExchange(t, x.name, x.want, func(got []float32) error { return m.ReadBytes("dst", bytesOf(got)) })
			return nil
		})
	}
}

// TestGradientsApart: the root gets every box once, also of more than a chunk.
func TestGradientsApart(t *testing.T) {
	const rows = 3 << 17 // 12 bytes each: 4.5 chunks
	p := shardedPlan()
	d := &p.Devices[0]
	d.Arena = 1 << 24
	for i := range 2 {
		d.Buffers[i].Axes = slices.Clone(d.Buffers[i].Axes)
		d.Buffers[i].Axes[0].Size, d.Buffers[i].Axes[0].Global = rows, rows
		d.Buffers[i].Bytes = 12 * rows
	}
	d.Buffers[1].Offset, d.Buffers[0].Offset = 512, 8<<20
	for i := range p.Kernels[:2] {
		for j := range p.Kernels[i].Args {
			p.Kernels[i].Args[j].Bytes = 12 * rows
		}
	}
	apart(t, p, func(m *Machine) error {
		if err := m.Write("w", count(6*rows)); err != nil {
			return err
		}
		var got []int
		err := m.Program("step").RunWithGradients(func(g Tensor, s Slice) error {
			got = append(got, s.Rank)
			for i, x := range elements[float32](s.Bytes) {
				if want := float32(i/3*6 + s.Lo[1] + i%3); x != want {
					return fmt.Errorf("element %d of rank %d is %v, want %v", i, s.Rank, x, want)
				}
			}
			return nil
		})
		slices.Sort(got)
		if m.Root() && !slices.Equal(got, []int{0, 1}) || !m.Root() && got != nil {
			t.Errorf("gradients of ranks %v", got)
		}
		return err
	})
}

// TestStages: two devices with programs of their own, which are not at the same
// instruction when they tell their gradients.
func TestStages(t *testing.T) {
	vector := []program.Axis{{Name: "x", Size: 8, Global: 8}}
	send := &program.Comm{Kind: collective.Send, Over: []string{"pp"}, Peer: 1, DType: "f32", Outer: 1, Inner: 8}
	recv := &program.Comm{Kind: collective.Recv, Over: []string{"pp"}, Peer: 0, DType: "f32", Outer: 1, Inner: 8}
	stage := func(rank int, path string, instrs []program.Instr, after int) program.Device {
		return program.Device{
			At: []int{rank}, Arena: 128,
			Buffers: []program.Buffer{
				{Space: program.Params, Offset: 0, Bytes: 32, DType: "f32", Axes: vector},
				{Space: program.Grads, Offset: 64, Bytes: 32, DType: "f32", Axes: vector},
			},
			Tensors: []program.Tensor{{Path: path, Train: true, Init: program.Init{Kind: "ones"}}},
			Ports:   []program.Port{{Program: "step", Role: program.RoleGrad, Path: path, Buffer: 1, After: after}},
			Progs:   []program.Program{{Name: "step", Instrs: instrs}},
		}
	}
	arg := program.Arg{Bytes: 32}
	p := &program.Plan{
		Mesh: []program.MeshAxis{{Name: "pp", Size: 2}}, By: []string{"pp"},
		Code: []program.Code{{Kind: goKind}},
		Kernels: []program.Kernel{
			{Symbol: "copy", Args: []program.Arg{arg, {Bytes: 32, Write: true}}},
			{Symbol: "double", Args: []program.Arg{{Bytes: 32, Write: true}}},
		},
		Devices: []program.Device{
			stage(0, "first", []program.Instr{{Bufs: []int{0, 1}}, {Kernel: 1, Bufs: []int{1}}, {Bufs: []int{1}, Comm: send}}, 2),
			stage(1, "second", []program.Instr{{Bufs: []int{1}, Comm: recv}, {Bufs: []int{1}, Comm: recv},
				{Kernel: 1, Bufs: []int{1}}, {Kernel: 1, Bufs: []int{1}}}, 4),
		},
	}
	p.Devices[0].Progs[0].Instrs = append(p.Devices[0].Progs[0].Instrs, program.Instr{Bufs: []int{1}, Comm: send})
	// The loss is the second stage's.
	second := &p.Devices[1]
	second.Arena = 192
	second.Buffers = append(second.Buffers, program.Buffer{Space: program.Params, Offset: 128, Bytes: 4, DType: "f32"})
	second.Tensors = append(second.Tensors, program.Tensor{Path: "scale", Buffer: 2, Init: program.Init{Kind: "ones"}})
	second.Ports = append(second.Ports, program.Port{Program: "step", Role: program.RoleLoss, Buffer: 2})
	check := func(m *Machine) error {
		if err := m.Initialize(1); err != nil {
			return err
		}
		got := map[string]float32{}
		err := m.Program("step").RunWithGradients(func(g Tensor, s Slice) error {
			got[g.Path] = elements[float32](s.Bytes)[7]
			return nil
		})
		if m.Root() && (len(got) != 2 || got["first"] != 2 || got["second"] != 8) {
			t.Errorf("gradients %v", got)
		}
		for _, run := range []func() error{func() error { return err }, m.Step, func() error { return m.Program("step").Trace(func(Span) {}) }} {
			if err := run(); err != nil {
				return err
			}
			if loss := m.Program("step").Loss(); loss != 1 {
				t.Errorf("the loss is %v", loss)
			}
		}
		return nil
	}
	if err := check(machine(t, p, 2)); err != nil {
		t.Error(err)
	}
	apart(t, p, check)
}

// hooked is a plan of four devices whose step is a hook, an all_reduce over tp
// and another hook.
func hooked(t *testing.T, o Options, hook func(rank int) error) *Machine {
	t.Helper()
	goHook = hook
	p := exchangePlan(exchanges[1].comm, exchanges[1].src, exchanges[1].dst)
	p.Code = []program.Code{{Kind: goKind}}
	p.Kernels = []program.Kernel{{Name: "hook", Symbol: "hook"}}
	step := &p.Devices[0].Progs[0]
	step.Instrs = []program.Instr{{}, step.Instrs[0], {}}
	m, err := Open(p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// TestFailure: what fails on one device ends all, and is what is reported.
func TestFailure(t *testing.T) {
	for name, c := range map[string]struct {
		hook    func(rank int) error
		want    []string
		code    int
		timeout time.Duration
	}{
		"kernel": {func(rank int) error {
			if rank == 2 {
				return errors.New("no more")
			}
			return nil
		}, []string{"program step failed in step 0 on rank 2", "no more"}, 4, 2 * time.Minute},
		"panic": {func(rank int) error {
			if rank == 1 {
				panic("at the disco")
			}
			return nil
		}, []string{"rank 1 panicked: at the disco"}, 4, 2 * time.Minute},
		"stall": {func(rank int) error {
			if rank == 3 {
				time.Sleep(3 * time.Second)
			}
			return nil
		}, []string{"rank 3 did not reach all_reduce #1 a.block over tp", "rank 2 has waited"}, 3, time.Second},
	} {
		m := hooked(t, Options{Threads: 1, Timeout: c.timeout}, c.hook)
		err := m.Step()
		var e *Error
		if !errors.As(err, &e) || e.ExitCode() != c.code {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
		if m.Step() == nil {
			t.Errorf("%s: the devices go on after a failure", name)
		}
	}
}

// TestTogether: devices run at the same time, however few the threads.
func TestTogether(t *testing.T) {
	var here sync.WaitGroup
	here.Add(4)
	var first [4]bool
	m := hooked(t, Options{Threads: 1, Timeout: 2 * time.Minute}, func(rank int) error {
		if !first[rank] {
			first[rank] = true
			here.Done()
			here.Wait()
		}
		return nil
	})
	if err := m.Step(); err != nil {
		t.Fatal(err)
	}
	var spans []string
	if err := m.Program("step").Trace(func(s Span) { spans = append(spans, fmt.Sprint(s.Rank, " ", s.Kernel, " ", s.Class)) }); err != nil {
		t.Fatal(err)
	}
	if len(spans) != 12 || spans[0] != "0 hook " || spans[4] != "1 all_reduce tp comm" || spans[11] != "3 hook " {
		t.Errorf("spans %q", spans)
	}
}

// TestCoordinates: a program finds its place in the mesh before every run.
func TestCoordinates(t *testing.T) {
	p := shardedPlan()
	d := &p.Devices[0]
	d.Arena = 448
	at := []program.Axis{{Name: "mesh", Size: 2, Global: 2}}
	d.Buffers = append(d.Buffers, program.Buffer{Space: program.Inputs, Offset: 384, Bytes: 8, DType: "i32", Axes: at},
		program.Buffer{Space: program.Params, Offset: 448, Bytes: 8, DType: "i32", Axes: at})
	d.Arena += 128
	d.Ports = append(d.Ports, program.Port{Program: "step", Role: program.RoleCoord, Buffer: 5})
	d.Tensors = append(d.Tensors, program.Tensor{Path: "at", Buffer: 6, Init: program.Init{Kind: "zeros"}})
	p.Kernels = append(p.Kernels, program.Kernel{Symbol: "copy", Args: []program.Arg{{Bytes: 8}, {Bytes: 8, Write: true}}},
		program.Kernel{Symbol: "double", Args: []program.Arg{{Bytes: 8, Write: true}}})
	d.Progs[0].Instrs = append(d.Progs[0].Instrs, program.Instr{Kernel: 3, Bufs: []int{5, 6}}, program.Instr{Kernel: 4, Bufs: []int{5}})
	m := machine(t, p, 1)
	for range 2 { // the buffer is used for something else behind the copy
		if err := errors.Join(m.Initialize(1), m.Step()); err != nil {
			t.Fatal(err)
		}
		for _, s := range slicesOf(t, m, "at") {
			if got := elements[int32](s.Bytes); !slices.Equal(got, []int32{int32(s.Rank / 2), int32(s.Rank % 2)}) {
				t.Errorf("rank %d is told to be at %v", s.Rank, got)
			}
		}
	}
}

// TestLossOfF64: what computes in f64 reports so.
func TestLossOfF64(t *testing.T) {
	p := exchangePlan(exchanges[0].comm, exchanges[0].src, exchanges[0].dst)
	d := &p.Devices[0]
	d.Buffers = append(d.Buffers, program.Buffer{Space: program.Params, Offset: d.Arena, Bytes: 8, DType: "f64"})
	d.Arena += 64
	d.Tensors = append(d.Tensors, program.Tensor{Path: "pi", Buffer: 2,
		Init: program.Init{Kind: "constant", Args: []program.KV{{Key: "value", Value: fmt.Sprint(math.Pi)}}}})
	d.Ports = []program.Port{{Program: "step", Role: program.RoleLoss, Buffer: 2}, {Program: "step", Role: program.RoleStat, Path: "lr", Buffer: 2}}
	m := machine(t, p, 1)
	if err := errors.Join(m.Initialize(1), m.Step()); err != nil {
		t.Fatal(err)
	}
	if lr, ok := m.Program("step").Stat("lr"); !ok || lr != math.Pi || m.Program("step").Loss() != math.Pi {
		t.Errorf("loss %v, lr %v", m.Program("step").Loss(), lr)
	}
}

// TestNativeDevices: a step of the toy on two devices, whose gradients are the
// same, is that of one device to the bit, and allocates nothing.
func TestNativeDevices(t *testing.T) {
	two := toyPlan(object(t))
	two.Mesh = []program.MeshAxis{{Name: "dp", Size: 2}}
	d := &two.Devices[0]
	max := program.Instr{Bufs: []int{bufG, bufG}, Comm: &program.Comm{Kind: collective.AllReduce, Over: []string{"dp"},
		Reduce: "max", DType: "f32", Outer: 1, Inner: 64}}
	d.Progs[0].Instrs = slices.Insert(d.Progs[0].Instrs, 1, max)
	for i := range d.Ports {
		if d.Ports[i].Role == program.RoleGrad {
			d.Ports[i].After = 2
		}
	}
	for _, threads := range []int{1, 4} {
		a, b := toy(t, threads), machine(t, two, threads)
		x := make([]float32, 64)
		for _, m := range []*Machine{a, b} {
			if err := m.Initialize(3); err != nil {
				t.Fatal(err)
			}
		}
		for s := 1; s <= 10; s++ {
			feed(s, x)
			for _, m := range []*Machine{a, b} {
				m.SetStep(int64(s))
				if err := errors.Join(m.Program("step").Feed("x", bytesOf(x)), m.Step()); err != nil {
					t.Fatal(err)
				}
			}
			if la, lb := a.Program("step").Loss(), b.Program("step").Loss(); la != lb {
				t.Fatalf("step %d: loss %v and %v", s, la, lb)
			}
		}
		p := b.Program("step")
		if n := testing.AllocsPerRun(50, func() {
			b.SetStep(11)
			_ = p.Feed("x", bytesOf(x))
			_ = p.Run()
		}); n != 0 && !raced && !onFake {
			t.Errorf("%d threads: %v allocations in a step of two devices", threads, n)
		}
	}
}
