package host

import (
	"fmt"
	"sync/atomic"
	"time"

	"ptc/runtime/device"
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// KindELF is the kind of object code for a CPU: objects that together define
// the kernels and, in the first, the driver that package native replays with.
const KindELF = "elf"

func init() { Register(KindELF, loadELF) }

// nativeKernels replays object code on a team of threads.
type nativeKernels struct {
	img     *native.Image
	threads int
	team    *native.Team
	progs   []*native.Program
	at      [][]int           // by program: how many kernels are before an instruction
	tries   map[[3]int]*trial // by program, from and to
	prog    atomic.Int32
}

func loadELF(r device.Request, arena []byte) (Kernels, error) {
	e := &nativeKernels{threads: r.Threads, tries: map[[3]int]*trial{}}
	var err error
	if e.img, err = native.Load(objects(r.Plan)...); err != nil {
		return nil, err
	}
	if e.team, err = native.NewTeam(r.Threads); err != nil {
		e.Close()
		return nil, err
	}
	if r.Fault != nil {
		e.team.OnFault(func(f native.Fault) { r.Fault(int(e.prog.Load()), f.String()) })
	}
	for i := range r.Device.Progs {
		p, err := captureELF(r, arena, &r.Device.Progs[i], e.img)
		if err != nil {
			e.Close()
			return nil, fmt.Errorf("program %s: %w", r.Device.Progs[i].Name, err)
		}
		e.progs = append(e.progs, p)
		e.at = append(e.at, kernelsBefore(&r.Device.Progs[i]))
	}
	return e, nil
}

// objects are the plan's object files; the first defines the replay driver.
func objects(p *program.Plan) [][]byte {
	var out [][]byte
	for _, c := range p.Code {
		if c.Kind == KindELF {
			out = append(out, c.Data)
		}
	}
	return out
}

// kernelsBefore counts the kernels before each instruction, and all.
func kernelsBefore(p *program.Program) []int {
	at := make([]int, len(p.Instrs)+1)
	for i := range p.Instrs {
		at[i+1] = at[i]
		if p.Instrs[i].Comm == nil {
			at[i+1]++
		}
	}
	return at
}

// captureELF resolves a program's addresses.
func captureELF(r device.Request, arena []byte, p *program.Program, img *native.Image) (*native.Program, error) {
	base := native.Address(arena)
	instrs := make([]native.Instr, 0, len(p.Instrs))
	var scratch int64
	single := alone(r.Plan, p, r.Threads)
	for i := range p.Instrs {
		in := &p.Instrs[i]
		if in.Comm != nil {
			continue // a stop
		}
		k := &r.Plan.Kernels[in.Kernel]
		scratch = max(scratch, k.Scratch)
		bufs := make([]uintptr, len(in.Bufs))
		for j, b := range in.Bufs {
			bufs[j] = base + uintptr(r.Device.Buffers[b].Offset)
		}
		instrs = append(instrs, native.Instr{
			Kernel: k.Symbol, Bufs: bufs, Tasks: k.Tasks, Alone: single[i],
			// The plan says whether an instruction waits for those before it,
			// native code whether the next one need not wait.
			Independent: i+1 < len(p.Instrs) && p.Instrs[i+1].NoWait,
			With:        in.With,
		})
	}
	return native.NewProgram(img, instrs, r.Threads, int(scratch))
}

// Replay enters native code once on each thread, or on one where that was faster.
func (e *nativeKernels) Replay(prog, from, to int) error {
	e.prog.Store(int32(prog))
	p, first, end := e.progs[prog], e.at[prog][from], e.at[prog][to]
	if e.threads == 1 || end-first <= 1 { // a single one is looked at, or shared if that is worth it
		return e.team.Replay(p, first, end)
	}
	x := e.tries[[3]int{prog, from, to}]
	if x == nil {
		x = &trial{}
		e.tries[[3]int{prog, from, to}] = x
	}
	replay := e.team.Replay
	if x.next() {
		replay = e.team.ReplayAlone
	}
	if x.decided {
		return replay(p, first, end)
	}
	start := time.Now()
	err := replay(p, first, end)
	x.ended(time.Since(start))
	return err
}

func (e *nativeKernels) Close() {
	if e.team != nil {
		e.team.Close()
	}
	for _, p := range e.progs {
		p.Close()
	}
	e.img.Close()
}
