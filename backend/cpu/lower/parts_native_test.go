package lower

import (
	"testing"

	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/llvm/target"
	machine "ptc/runtime/native"
)

// loaded has the kernels of the launches, and the driver that replays them.
func loaded(t *testing.T, tgt target.Target, list []Launch) *machine.Image {
	t.Helper()
	lib, err := llvm.Load()
	if err != nil {
		t.Fatal(err)
	}
	driver, err := llvm.Driver(tgt)
	if err != nil {
		t.Fatal(err)
	}
	text, err := emit.Module(tgt, list[0].Kernel, list[1].Kernel)
	if err != nil {
		t.Fatal(err)
	}
	object, err := lib.Compile(text+"\n"+driver, tgt)
	if err != nil {
		t.Fatal(err)
	}
	img, err := machine.Load(object)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// replay runs the launches, one behind the other, with so many threads.
func replay(t *testing.T, img *machine.Image, list []Launch, bufs [][]byte, threads int) {
	t.Helper()
	var addresses []uintptr
	var memory [][]byte
	for _, b := range bufs {
		mem, free, err := machine.Alloc(len(b))
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		copy(mem, b)
		memory, addresses = append(memory, mem), append(addresses, machine.Address(mem))
	}
	var instrs []machine.Instr
	scratch := 0
	for _, l := range list {
		in := machine.Instr{Kernel: l.Name, Tasks: l.Tasks}
		for _, n := range l.Bufs {
			in.Bufs = append(in.Bufs, addresses[n])
		}
		instrs, scratch = append(instrs, in), max(scratch, int(l.ScratchBytes()))
	}
	p, err := machine.NewProgram(img, instrs, threads, scratch)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	team, err := machine.NewTeam(threads)
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	if err := team.Replay(p, 0, len(instrs)); err != nil {
		t.Fatal(err)
	}
	for i, mem := range memory {
		copy(bufs[i], mem)
	}
}
