package exec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/llvm/target"
	"ptc/internal/dtype"
	"ptc/runtime/device/host"
	"ptc/runtime/program"
)

// kernels of a toy that trains: w has 64 elements, of which a task does 8.
//
//	grad    g = w·x              all of f32
//	update  w = w - lr(step)·g   lr = 1/(8·step); reports it
//	loss    loss = Σ w·w + seed  in one task
const toyKernels = `
define void @grad(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind {
entry:
  %w = load ptr, ptr %bufs
  %xp = getelementptr ptr, ptr %bufs, i64 1
  %x = load ptr, ptr %xp
  %gp = getelementptr ptr, ptr %bufs, i64 2
  %g = load ptr, ptr %gp
  %lo = shl i64 %begin, 3
  %hi = shl i64 %end, 3
  br label %head
head:
  %i = phi i64 [ %lo, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %hi
  br i1 %more, label %body, label %done
body:
  %wi = getelementptr float, ptr %w, i64 %i
  %xi = getelementptr float, ptr %x, i64 %i
  %gi = getelementptr float, ptr %g, i64 %i
  %a = load float, ptr %wi
  %b = load float, ptr %xi
  %c = fmul float %a, %b
  store float %c, ptr %gi
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}

define void @rate(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind {
  %s = load ptr, ptr %bufs
  %rp = getelementptr ptr, ptr %bufs, i64 1
  %r = load ptr, ptr %rp
  %step = load i32, ptr %s
  %f = sitofp i32 %step to float
  %d = fmul float %f, 8.0
  %lr = fdiv float 1.0, %d
  store float %lr, ptr %r
  ret void
}

define void @update(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind {
entry:
  %g = load ptr, ptr %bufs
  %rp = getelementptr ptr, ptr %bufs, i64 1
  %r = load ptr, ptr %rp
  %wp = getelementptr ptr, ptr %bufs, i64 2
  %w = load ptr, ptr %wp
  %lr = load float, ptr %r
  %lo = shl i64 %begin, 3
  %hi = shl i64 %end, 3
  br label %head
head:
  %i = phi i64 [ %lo, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %hi
  br i1 %more, label %body, label %done
body:
  %wi = getelementptr float, ptr %w, i64 %i
  %gi = getelementptr float, ptr %g, i64 %i
  %a = load float, ptr %wi
  %b = load float, ptr %gi
  %c = fmul float %lr, %b
  %d = fsub float %a, %c
  store float %d, ptr %wi
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}

define void @loss(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind {
entry:
  %w = load ptr, ptr %bufs
  %sp = getelementptr ptr, ptr %bufs, i64 1
  %s = load ptr, ptr %sp
  %lp = getelementptr ptr, ptr %bufs, i64 2
  %l = load ptr, ptr %lp
  %seed = load i32, ptr %s
  %from = sitofp i32 %seed to float
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %sum = phi float [ %from, %entry ], [ %sum1, %body ]
  %wi = getelementptr float, ptr %w, i64 %i
  %a = load float, ptr %wi
  %b = fmul float %a, %a
  %sum1 = fadd float %sum, %b
  store float %sum1, ptr %scratch
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 64
  br i1 %more, label %body, label %done
done:
  store float %sum1, ptr %l
  ret void
}
`

// Buffers of the toy.
const (
	bufW = iota
	bufX
	bufG
	bufStep
	bufSeed
	bufRate
	bufLoss
	bufM
)

// toyPlan is the toy as a plan for one device; code is its object, or nil for
// tests that do not run it.
func toyPlan(code []byte) *program.Plan {
	vector := []program.Axis{{Name: "row", Size: 4, Global: 4}, {Name: "col", Size: 16, Global: 16}}
	rows := []program.Arg{{Bytes: 256}, {Bytes: 256}, {Bytes: 256, Write: true}}
	at := int64(0)
	buf := func(space program.Space, dtype string, axes []program.Axis) program.Buffer {
		b := program.Buffer{Space: space, Offset: at, DType: dtype, Axes: axes}
		b.Bytes = int64(program.Elems(axes) * program.DTypeSize(dtype))
		at += (b.Bytes + 63) / 64 * 64
		return b
	}
	d := program.Device{
		Buffers: []program.Buffer{
			bufW:    buf(program.Params, "f32", vector),
			bufX:    buf(program.Inputs, "f32", vector),
			bufG:    buf(program.Grads, "f32", vector),
			bufStep: buf(program.Inputs, "i32", nil),
			bufSeed: buf(program.Inputs, "i32", nil),
			bufRate: buf(program.Activations, "f32", nil),
			bufLoss: buf(program.Activations, "f32", nil),
			bufM:    buf(program.Optimizer, "bf16", vector),
		},
		Tensors: []program.Tensor{
			{Path: "w", Buffer: bufW, Train: true, Init: program.Init{Kind: "normal"}},
			{Path: "w/m", Buffer: bufM, Init: program.Init{Kind: "zeros"}},
		},
		Progs: []program.Program{
			{Name: "step", Instrs: []program.Instr{
				{Kernel: 0, Bufs: []int{bufW, bufX, bufG}, Scope: "forward"},
				{Kernel: 1, Bufs: []int{bufStep, bufRate}, NoWait: true},
				{Kernel: 2, Bufs: []int{bufG, bufRate, bufW}, Scope: "optim"},
				{Kernel: 3, Bufs: []int{bufW, bufSeed, bufLoss}},
			}},
			{Name: "eval", Instrs: []program.Instr{{Kernel: 3, Bufs: []int{bufW, bufSeed, bufLoss}}}},
		},
		Ports: []program.Port{
			{Program: "step", Role: program.RoleData, Path: "x", Buffer: bufX},
			{Program: "step", Role: program.RoleStep, Buffer: bufStep},
			{Program: "step", Role: program.RoleSeed, Buffer: bufSeed},
			{Program: "step", Role: program.RoleLoss, Buffer: bufLoss},
			{Program: "step", Role: program.RoleStat, Path: "lr", Buffer: bufRate},
			{Program: "step", Role: program.RoleGrad, Path: "w", Buffer: bufG, After: 1},
			{Program: "eval", Role: program.RoleSeed, Buffer: bufSeed},
			{Program: "eval", Role: program.RoleLoss, Buffer: bufLoss},
		},
		Arena: at,
	}
	return &program.Plan{
		Name: "toy",
		Code: []program.Code{{Kind: host.KindELF, Data: code}},
		Kernels: []program.Kernel{
			{Name: "grad.0", Class: "map", Symbol: "grad", Tasks: 8, Args: rows},
			{Name: "rate.1", Class: "map", Symbol: "rate", Tasks: 1, Args: []program.Arg{{Bytes: 4}, {Bytes: 4, Write: true}}},
			{Name: "update.2", Class: "map", Symbol: "update", Tasks: 8, Args: []program.Arg{{Bytes: 256}, {Bytes: 4}, {Bytes: 256, Write: true}}},
			{Name: "loss.3", Class: "row", Symbol: "loss", Tasks: 1, Scratch: 4, Args: []program.Arg{{Bytes: 256}, {Bytes: 4}, {Bytes: 4, Write: true}}},
		},
		Devices: []program.Device{d},
	}
}

// toy compiles the plan for this host and opens it.
func toy(t testing.TB, threads int) *Machine {
	t.Helper()
	return machine(t, toyPlan(object(t)), threads)
}

func machine(t testing.TB, p *program.Plan, threads int) *Machine {
	t.Helper()
	m, err := Open(p, Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func object(t testing.TB) []byte {
	t.Helper()
	lib, err := llvm.Load()
	if err != nil {
		if errors.Is(err, llvm.ErrNone) {
			t.Skip("PTC_LLVM=none: object code is not made here")
		}
		t.Fatal(err)
	}
	host, err := target.Resolve("cpu")
	if err != nil {
		t.Fatal(err)
	}
	driver, err := llvm.Driver(host)
	if err != nil {
		t.Fatal(err)
	}
	code, err := lib.Compile(toyKernels+driver, host)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// feed fills x for a step.
func feed(step int, x []float32) {
	for i := range x {
		x[i] = float32((i*7+step*3)%11) / 11
	}
}

// expect is the toy in Go. w is updated.
type expect struct {
	w, g     [64]float32
	lr, loss float32
}

func (e *expect) step(step, seed int, x []float32) {
	e.lr = 1 / (float32(step) * 8)
	e.loss = float32(seed)
	for i := range e.w {
		e.g[i] = e.w[i] * x[i]
		p := e.lr * e.g[i]
		e.w[i] -= p
		q := e.w[i] * e.w[i]
		e.loss += q
	}
}

func TestSteps(t *testing.T) {
	for _, threads := range []int{1, 2, 5} {
		m := toy(t, threads)
		if err := m.Initialize(3); err != nil {
			t.Fatal(err)
		}
		var e expect
		if err := m.Read("w", e.w[:]); err != nil {
			t.Fatal(err)
		}
		p := m.Program("step")
		m.SetSeed(1<<32 + 9) // the low bits count
		for s := 1; s <= 20; s++ {
			m.SetStep(int64(s))
			x := p.Data("x")[0].F32
			feed(s, x)
			e.step(s, 9, x)
			run := m.Step
			if s%3 == 0 {
				run = func() error { return checkGradients(t, p, &e) }
			} else if s%4 == 0 {
				run = func() error { return checkTrace(t, p) }
			}
			if err := run(); err != nil {
				t.Fatal(err)
			}
			lr, ok := p.Stat("lr")
			if !ok || float32(lr) != e.lr || float32(p.Loss()) != e.loss {
				t.Fatalf("%d threads, step %d: loss %v, lr %v, want %v, %v", threads, s, p.Loss(), lr, e.loss, e.lr)
			}
		}
		var w [64]float32
		if err := m.Read("w", w[:]); err != nil || w != e.w {
			t.Fatalf("%d threads: w = %v, want %v (%v)", threads, w, e.w, err)
		}
		if err := m.Program("eval").Run(); err != nil || float32(m.Program("eval").Loss()) != e.loss {
			t.Errorf("eval: loss %v, want %v (%v)", m.Program("eval").Loss(), e.loss, err)
		}
	}
}

// checkGradients runs the program and compares its one gradient.
func checkGradients(t *testing.T, p *Program, e *expect) error {
	t.Helper()
	if gs := p.Gradients(); len(gs) != 1 || gs[0].Path != "w" || gs[0].DType != dtype.F32 {
		t.Errorf("gradients %v", gs)
	}
	calls := 0
	err := p.RunWithGradients(func(g Tensor, s Slice) error {
		calls++
		if !bytes.Equal(s.Bytes, bytesOf(e.g[:])) {
			t.Errorf("gradient of %s differs", g.Path)
		}
		return nil
	})
	if calls != 1 {
		t.Errorf("%d gradients read", calls)
	}
	return err
}

func checkTrace(t *testing.T, p *Program) error {
	t.Helper()
	var names []string
	err := p.Trace(func(s Span) {
		if s.Instr != len(names) || s.End.Before(s.Start) || s.Rank != 0 {
			t.Errorf("span %+v", s)
		}
		names = append(names, s.Kernel)
	})
	if want := []string{"grad.0", "rate.1", "update.2", "loss.3"}; len(names) != len(want) || names[0] != want[0] || names[3] != want[3] {
		t.Errorf("traced %v, want %v", names, want)
	}
	return err
}

// TestNoAllocation holds a step, with all that goes with it, to no allocation.
func TestNoAllocation(t *testing.T) {
	for _, threads := range []int{1, 2} {
		m := toy(t, threads)
		if err := m.Initialize(1); err != nil {
			t.Fatal(err)
		}
		p := m.Program("step")
		batch := make([]byte, 256)
		step := int64(0)
		n := testing.AllocsPerRun(50, func() {
			step++
			m.SetStep(step)
			m.SetSeed(4)
			if err := p.Feed("x", batch); err != nil {
				t.Fatal(err)
			}
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			if _, ok := p.Stat("lr"); !ok || math.IsNaN(p.Loss()) {
				t.Fatal("no lr or loss")
			}
		})
		if n != 0 && !onFake {
			t.Errorf("%d threads: %v allocations in a step", threads, n)
		}
	}
}

// TestFeed and Data are two ways to the same memory.
func TestFeed(t *testing.T) {
	m := toy(t, 1)
	p := m.Program("step")
	whole := make([]byte, 256)
	for i := range 64 {
		binary.LittleEndian.PutUint32(whole[4*i:], math.Float32bits(float32(i)/3))
	}
	if err := p.Feed("x", whole); err != nil {
		t.Fatal(err)
	}
	for i, v := range p.Data("x")[0].F32 {
		if v != float32(i)/3 {
			t.Fatalf("x[%d] = %v", i, v)
		}
	}
}

func TestRefusedCode(t *testing.T) {
	code := object(t)
	for name, change := range map[string]func(p *program.Plan){
		"not an object": func(p *program.Plan) { p.Code[0].Data = []byte("hello") },
		"symbol":        func(p *program.Plan) { p.Kernels[0].Symbol = "none" },
		"two objects": func(p *program.Plan) {
			p.Code = append(p.Code, p.Code[0])
			p.Kernels[1].Code = 1
		},
		"kind":    func(p *program.Plan) { p.Code[0].Kind = "cobol" },
		"feature": func(p *program.Plan) { p.Features = []string{"warp-drive"} },
	} {
		p := toyPlan(code)
		change(p)
		m, err := Open(p, Options{Threads: 1})
		if err == nil {
			m.Close()
		}
		wantError(t, name, err, ReasonHost)
	}
}
