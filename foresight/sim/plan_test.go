package sim

import (
	"math/rand/v2"

	"ptc/foresight/cost"
	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/ir/pipeline"
	"ptc/runtime/program"
)

func given(v float64) machine.Sourced { return machine.Sourced{Value: v, Source: "test"} }

// cluster is a machine of devices that do 10¹² operations a second, so that n operations take n picoseconds.
func cluster(r *rand.Rand, sizes ...int) *machine.Cluster {
	m := &machine.Machine{Name: "m", Device: machine.Device{
		Processors: 100, Vector: map[string]machine.Sourced{"f32": given(1e12)},
		Memory: given(80 << 30), Bandwidth: given(1e12), MemoryShare: given(1),
		Start: map[string]machine.Sourced{"simple": given(0)}, Occupies: given(0),
	}}
	for i := range sizes {
		l := machine.Level{
			Link: given(1e10), Share: map[string]machine.Sourced{"simple": given(1)},
			Latency: map[string]machine.Sourced{"simple": given(0)}, Oversubscription: given(1),
		}
		if r != nil {
			l.Link, l.Latency["simple"], l.Oversubscription = given(1e9*float64(1+r.IntN(100))), given(1e-6*float64(r.IntN(5))), given(float64(1+r.IntN(3)))
			m.Device.Occupies = given(float64(r.IntN(30)))
		}
		l.Name = string(rune('a' + i))
		m.Levels = append(m.Levels, l)
	}
	return &machine.Cluster{Machine: m, Sizes: sizes}
}

// shape is what a random plan is made of.
type shape struct {
	dp, pp, tp, micro int
	schedule          string
	bytes             int64 // of messages and collectives; 0: nothing is sent but messages of no bytes
	started           bool  // the reduction over dp is started in the last tasks, and hidden
	posted            bool  // receives are posted a turn ahead
}

// The kernels of a plan of a shape: of the phases of a stage, and the update.
const (
	forwardKernel = iota
	inputKernel
	weightKernel
	updateKernel
)

// planOf is a plan: a pipeline whose stages exchange over tp in each task and reduce over dp at the end.
func planOf(s shape) *program.Plan {
	x, err := pipeline.New(s.schedule, pipeline.Shape{Devices: s.pp, Microbatches: s.micro, Chunks: 1}, pipeline.Costs{})
	if err != nil {
		panic(err)
	}
	p := &program.Plan{
		Mesh: program.Mesh{{Name: "dp", Size: s.dp}, {Name: "pp", Size: s.pp}, {Name: "tp", Size: s.tp}}, By: []string{"pp"},
		Kernels: []program.Kernel{{Name: "f", Class: "gemm"}, {Name: "b", Class: "gemm"}, {Name: "w", Class: "gemm"}, {Name: "u", Class: "map"}},
	}
	for stage := range s.pp {
		p.Devices = append(p.Devices, program.Device{At: []int{stage}, Progs: []program.Program{stageOf(s, stage, x.Devices[stage])}})
	}
	return p
}

// stageOf is the program of a stage: a task for each kind of slot, and one at the end.
func stageOf(s shape, stage int, slots []pipeline.Slot) program.Program {
	g := program.Program{Name: "step", Micro: s.micro}
	tasks := map[pipeline.Kind]int{}
	for _, slot := range slots {
		n, ok := tasks[slot.Kind]
		if !ok {
			n = len(g.Tasks)
			tasks[slot.Kind] = n
			from := len(g.Instrs)
			g.Instrs = append(g.Instrs, s.task(slot.Kind, stage, from)...)
			g.Tasks = append(g.Tasks, program.Task{Name: "t", From: from, To: len(g.Instrs)})
		}
		g.Ticks = append(g.Ticks, program.Tick{Task: n, Micro: slot.Microbatch})
	}
	from := len(g.Instrs)
	if s.dp > 1 && s.bytes > 0 {
		reduce := &program.Comm{Kind: collective.AllReduce, Over: []string{"dp"}, Bytes: 7 * s.bytes, Start: s.started}
		g.Instrs = append(g.Instrs, program.Instr{Comm: reduce})
		if s.started {
			g.Instrs = append(g.Instrs, program.Instr{Kernel: updateKernel}, program.Instr{Comm: &program.Comm{Kind: collective.Done, Of: from}})
		}
	}
	g.Instrs = append(g.Instrs, program.Instr{Kernel: updateKernel})
	if s.pp > 1 && s.bytes > 0 { // as the norm of all gradients is
		g.Instrs = append(g.Instrs, program.Instr{Comm: &program.Comm{Kind: collective.AllReduce, Over: []string{"pp", "tp"}, Bytes: 4}})
	}
	g.Ticks = append(g.Ticks, program.Tick{Task: len(g.Tasks)})
	g.Tasks = append(g.Tasks, program.Task{Name: "after", From: from, To: len(g.Instrs), Once: true})
	return g
}

// task is the instructions of a kind of slot, from instruction number at on.
func (s shape) task(k pipeline.Kind, stage, at int) (out []program.Instr) {
	kernel, from, to, way := forwardKernel, stage-1, stage+1, 0
	switch k {
	case pipeline.BackwardWeight:
		return []program.Instr{{Kernel: weightKernel}}
	case pipeline.Forward:
	default:
		kernel, from, to, way = inputKernel, stage+1, stage-1, 1
	}
	there := func(stage int) bool { return stage >= 0 && stage < s.pp }
	message := func(kind string, peer int) *program.Comm {
		return &program.Comm{Kind: kind, Over: []string{"pp"}, Peer: peer, Tag: way, Each: 2, Bytes: s.bytes}
	}
	if there(from) {
		in := program.Instr{Comm: message(collective.Recv, from)}
		if s.posted {
			in.Comm.Start, in.Ahead = true, 1
			out = append(out, in, program.Instr{Comm: &program.Comm{Kind: collective.Done, Of: at}})
		} else {
			out = append(out, in)
		}
	}
	if s.tp > 1 && s.bytes > 0 {
		out = append(out, program.Instr{Comm: &program.Comm{Kind: collective.AllGather, Over: []string{"tp"}, Bytes: 3 * s.bytes}})
	}
	if out = append(out, program.Instr{Kernel: kernel}); k != pipeline.Forward && k != pipeline.BackwardInput {
		out = append(out, program.Instr{Kernel: weightKernel})
	}
	if there(to) {
		out = append(out, program.Instr{Comm: message(collective.Send, to)})
	}
	return out
}

// work is how many picoseconds the kernels take.
func work(times ...int64) Work {
	var out Work
	for _, t := range times {
		out = append(out, []cost.Part{{Class: "map", Flops: t}})
	}
	return out
}

// randomShape is a shape for at most so many devices, and the sizes of levels that hold them.
func randomShape(r *rand.Rand, most int) (s shape, sizes []int) {
	names := []string{"gpipe", "1f1b", "zb_h1"}
	for {
		s = shape{dp: 1 + r.IntN(4), pp: 1 + r.IntN(4), tp: 1 + r.IntN(4), schedule: names[r.IntN(3)], bytes: int64(r.IntN(1 << 20)), started: r.IntN(2) == 0, posted: r.IntN(2) == 0}
		s.micro = s.pp + r.IntN(5)
		n := s.dp * s.pp * s.tp
		if n > most {
			continue
		}
		inner := 1 + r.IntN(8)
		return s, []int{inner, (n + inner - 1) / inner}
	}
}
