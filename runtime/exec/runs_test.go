package exec

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"ptc/runtime/program"
)

// stackedPlan has three blocks, whose program is in it once, on two devices: a step
// copies the w of each block into its gradient, for which there are two places, and
// doubles w, from the last block to the first.
func stackedPlan() *program.Plan {
	p := shardedPlan()
	d := &p.Devices[0]
	d.Arena = 1024
	d.Stacks = []program.Stack{{Name: "blocks", Count: 3}}
	for i, at := range []int64{512, 768, 960} {
		b := []program.Buffer{d.Buffers[0], d.Buffers[1], d.Buffers[4]}[i]
		b.Offset, b.Stack = at, 1
		if i < 2 {
			b.Step, b.Ring = 64, 3-i
		}
		d.Buffers = append(d.Buffers, b)
	}
	d.Arena = 1280
	d.Buffers[7].Step, d.Buffers[7].Ring = 64, 3
	d.Tensors = append(d.Tensors, program.Tensor{Path: "blocks.{i}.w", Buffer: 5, Train: true, Init: program.Init{Kind: "ones"}})
	d.Ports = append(d.Ports, program.Port{Program: "step", Role: program.RoleGrad, Path: "blocks.{i}.w", Buffer: 6, After: 5},
		program.Port{Program: "step", Role: program.RoleIndex, Path: "blocks.{i}", Buffer: 7})
	prog := &d.Progs[0]
	prog.Instrs = append(prog.Instrs, program.Instr{Kernel: 0, Bufs: []int{5, 6}, Scope: "blocks.{i}", Ahead: 1},
		program.Instr{Kernel: 1, Bufs: []int{5}, Scope: "blocks.{i}"})
	prog.Runs = []program.Run{{Stack: 1, From: 4, To: 6, Down: true}}
	return p
}

// TestStacked: what the plan has once, the machine has for each block: tensors,
// gradients at their moment, numbers, and instructions in the order of the run.
func TestStacked(t *testing.T) {
	m := machine(t, stackedPlan(), 2)
	var paths []string
	for _, x := range m.Tensors() {
		paths = append(paths, x.Path)
	}
	if !slices.Equal(paths, []string{"w", "blocks.0.w", "blocks.1.w", "blocks.2.w"}) {
		t.Fatalf("tensors %v", paths)
	}
	for i, path := range paths {
		whole := count(24)
		for j := range whole {
			whole[j] += float32(100 * i)
		}
		if err := m.Write(path, whole); err != nil {
			t.Fatal(err)
		}
	}
	var order []string
	p := m.Program("step")
	err := p.RunWithGradients(func(g Tensor, s Slice) error {
		if s.Rank == 0 {
			order = append(order, fmt.Sprint(g.Path, " ", elements[float32](s.Bytes)[0]))
		}
		return nil
	})
	if want := []string{"w 0", "blocks.2.w 300", "blocks.1.w 200", "blocks.0.w 100"}; err != nil || !slices.Equal(order, want) {
		t.Errorf("gradients %v, %v; want %v", order, err, want)
	}
	for i, path := range paths {
		got := make([]float32, 24)
		if err := m.Read(path, got); err != nil || got[1] != 2*float32(100*i+1) {
			t.Errorf("%s = %v, %v", path, got, err)
		}
	}
	var scopes []string
	if err := p.Trace(func(s Span) {
		if s.Rank == 0 && s.Instr > 3 {
			scopes = append(scopes, s.In.Scope+" "+s.Kernel)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"blocks.2 copy", "blocks.1 copy", "blocks.2 double", "blocks.0 copy", "blocks.1 double", "blocks.0 double"}; !slices.Equal(scopes, want) {
		t.Errorf("instructions %v, want %v", scopes, want)
	}
}

// TestTooLong: a plan that is right, and written out larger than what runs, says so.
func TestTooLong(t *testing.T) {
	p := stackedPlan()
	d := &p.Devices[0]
	d.Stacks = append(d.Stacks, program.Stack{Name: "layers", Count: 1 << 20})
	prog := &d.Progs[0]
	from := len(prog.Instrs)
	for range 17 {
		prog.Instrs = append(prog.Instrs, program.Instr{Kernel: 1, Bufs: []int{1}})
	}
	prog.Runs = append(prog.Runs, program.Run{Stack: 2, From: from, To: len(prog.Instrs)})
	_, err := Open(p, Options{})
	var e *Error
	var limit *program.LimitError
	if !errors.As(err, &e) || e.Reason != ReasonPlan || !errors.As(err, &limit) {
		t.Errorf("%v", err)
	}
	many := shardedPlan()
	many.Mesh[0].Size = 1 << 21
	for _, b := range []int{2} {
		many.Devices[0].Buffers[b].Axes[0].Global = 2 << 21
	}
	if _, err := Open(many, Options{}); err == nil || !errors.As(err, &e) || e.Reason != ReasonPlan {
		t.Errorf("four million devices: %v", err)
	}
}
