package explain

import (
	"math"

	"ptc/runtime/program"
	"ptc/runtime/timeline"
)

// Version is that of the JSON form of a Description. Fields may be added within a
// version; none changes its name or meaning.
const Version = 3

// Description is a plan for programs to read.
type Description struct {
	Version  int               `json:"version"`
	Model    string            `json:"model"`
	Layout   string            `json:"layout"`
	Target   string            `json:"target"`
	Variants []string          `json:"variants,omitempty"` // other architectures that it has code for
	Features []string          `json:"features"`
	Compiler string            `json:"compiler"`
	LLVM     string            `json:"llvm,omitempty"`
	Config   map[string]string `json:"config"`
	Ports    []string          `json:"ports,omitempty"` // entries of Config that a run may set
	Mesh     []MeshAxis        `json:"mesh"`
	Devices  int               `json:"devices"`
	// Classes are the devices that have one program each, in the order of the lists
	// "by class".
	Classes []Class `json:"device_classes"`

	Parameters      Parameters `json:"parameters"`
	LaunchesPerStep int        `json:"launches_per_step"`
	OpsBeforeFusion int        `json:"ops_before_fusion"`
	// Schedules is how many kernels, or sections of them, were cut as the compilation was told.
	Schedules     int     `json:"schedules"`
	FlopsPerStep  float64 `json:"flops_per_step"`
	TokensPerStep int64   `json:"tokens_per_step"`

	// Microbatches is how many the tasks of a pipeline are for; 0 where there are none.
	Microbatches int `json:"microbatches"`
	// Idle is the share of the devices' time in which they wait for one another, if all stages of the pipeline take the
	// same time; 0 without a pipeline.
	Idle        float64      `json:"idle_share"`
	Memory      Memory       `json:"memory"`
	Tasks       []Task       `json:"tasks"`
	Runs        []Run        `json:"runs"`
	Kernels     []Kernel     `json:"kernels"`
	Roofline    *Roofline    `json:"roofline,omitempty"`
	Collectives []Collective `json:"collectives"`
	Sends       Sends        `json:"sends"`
	// Communication is that of one device of each class.
	Communication []Level    `json:"communication"`
	Transfers     []Transfer `json:"transfers"`
	Passes        []string   `json:"passes"`
	Remarks       []Remark   `json:"remarks"`
	Sources       []Source   `json:"sources"`
}

// MeshAxis is an axis of the mesh as the layout declares it.
type MeshAxis struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

// Class is the devices that have one program.
type Class struct {
	Devices int            `json:"devices"` // how many
	At      map[string]int `json:"at"`      // their coordinates on mesh axes; on others they have any
	Ticks   []Pattern      `json:"turns"`   // of the step's tasks, in their order
}

// Run is a part of the step that is issued for every instance of what is repeated,
// such as a block, on the device with the most launches.
type Run struct {
	Stack    string `json:"stack"`
	Count    int    `json:"count"`
	Down     bool   `json:"down"`              // from the last instance to the first
	Launches int    `json:"launches"`          // of one instance
	Sends    int    `json:"communications"`    // of one instance
	From     int    `json:"first_instruction"` // in the plan, where it stands once
	Task     string `json:"task,omitempty"`    // that it is in
	Ticks    int    `json:"turns"`             // how often it is issued in a step: for each microbatch
	Together bool   `json:"together"`          // all instances are one launch
}

// Parameters counts the parameters of the model.
type Parameters struct {
	Tensors  int    `json:"tensors"`
	Elements int64  `json:"elements"` // of the whole model, however it is laid out
	Frozen   Frozen `json:"frozen"`
}

// Frozen counts the parameters that no step changes.
type Frozen struct {
	Tensors  int   `json:"tensors"`
	Elements int64 `json:"elements"`
}

// Source is a text that the plan was made of.
type Source struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Describe reads a plan.
func Describe(p *program.Plan) *Description {
	d := describe(p)
	d.Memory.Stages = stagesOf(p)
	return d
}

// describe is Describe but for what takes time.
func describe(p *program.Plan) *Description {
	d := &Description{
		Version: Version,
		Model:   p.Name, Layout: p.Layout, Target: p.Target, Compiler: p.Compiler, LLVM: p.LLVM,
		Features: append([]string{}, p.Features...), Config: map[string]string{}, Mesh: []MeshAxis{},
		OpsBeforeFusion: p.Stats.OpsBeforeFusion, Schedules: len(p.Schedules), FlopsPerStep: p.Stats.FlopsPerStep, TokensPerStep: p.Stats.TokensPerStep,
		Kernels: []Kernel{}, Collectives: []Collective{}, Transfers: []Transfer{}, Passes: append([]string{}, p.Passes...),
		Remarks: []Remark{}, Sources: []Source{}, Classes: []Class{}, Tasks: []Task{}, Runs: []Run{},
	}
	for _, c := range p.Config {
		d.Config[c.Key] = c.Value
	}
	d.Ports = p.Ports()
	for _, m := range p.Declared() {
		d.Mesh = append(d.Mesh, MeshAxis(m))
	}
	for _, r := range p.Remarks {
		d.Remarks = append(d.Remarks, Remark(r))
	}
	for _, s := range p.Sources {
		d.Sources = append(d.Sources, Source{s.Name, s.SHA256})
	}
	for i := range p.Variants {
		d.Variants = append(d.Variants, p.Variants[i].Arch)
	}
	d.Parameters = countParameters(p)
	for i := range p.Devices {
		c := Class{Devices: p.Copies(), At: map[string]int{}, Ticks: ticksOf(&p.Devices[i])}
		for j, axis := range p.By {
			c.At[axis] = p.Devices[i].At[j]
		}
		d.Classes = append(d.Classes, c)
		d.Devices += c.Devices
	}
	d.Memory = MemoryOf(p)
	var most *program.Device
	d.LaunchesPerStep, d.Kernels, most = kernels(p)
	d.Roofline = rooflineOf(p, d.Kernels)
	if s := step(most); s != nil {
		d.Microbatches, d.Tasks, d.Runs = s.Micro, tasks(most, s), runs(most, s)
	}
	d.Collectives, d.Communication, d.Transfers = collectives(p), levelsOf(p), transfers(p)
	d.Idle, _ = timeline.Idle(p)
	d.Sends.Count, d.Sends.Bytes = busiest(p)
	return d
}

// called is an instruction and how often it is issued: for each instance of a run, and
// for each microbatch; and in how many launches.
type called struct {
	*program.Instr
	times     int
	launches  int
	instances int
}

// step is the program of a training step, or, of a plan that samples, that of one
// position; of others their only one, or nil.
func step(d *program.Device) *program.Program {
	if d != nil {
		for i := range d.Progs {
			if d.Progs[i].Name == "step" || d.Progs[i].Name == "sample" || len(d.Progs) == 1 {
				return &d.Progs[i]
			}
		}
	}
	return nil
}

// stepOf is what a device does in a training step. What calls another kernel in the
// first tick of its task is two.
func stepOf(d *program.Device) []called {
	p := step(d)
	if p == nil {
		return nil
	}
	o, out := d.Order(p), make([]called, 0, len(p.Instrs))
	for j := range p.Instrs {
		in, n, times := &p.Instrs[j], o.Instances(j), o.Times(j)
		if in.First != nil {
			out = append(out, called{in.In(true), n, o.Launches(j, n), n})
			times -= n
		}
		if times > 0 {
			out = append(out, called{in.In(false), times, o.Launches(j, times), n})
		}
	}
	return out
}

// runs are those of a device's step.
func runs(d *program.Device, p *program.Program) []Run {
	o, out := d.Order(p), []Run{}
	for _, r := range p.Runs {
		s := d.Stacks[r.Stack-1]
		x := Run{Stack: s.Name, Count: s.Count, Down: r.Down, From: r.From, Ticks: 1, Together: r.Together}
		if len(p.Tasks) > 0 {
			t := &p.Tasks[o.TaskOf(r.From)]
			x.Task, x.Ticks = t.Name, ticksOfTask(p, t)
		}
		x.Launches, x.Sends = issues(p.Instrs[r.From:r.To])
		out = append(out, x)
	}
	return out
}

// issues counts launches and communications.
func issues(list []program.Instr) (launches, communications int) {
	for i := range list {
		if c := list[i].Comm; c == nil && !list[i].With {
			launches++
		} else if c != nil && sends(c) {
			communications++
		}
	}
	return launches, communications
}

// countParameters counts the parameters, each tensor once.
func countParameters(p *program.Plan) Parameters {
	var out Parameters
	seen := map[string]bool{}
	for i := range p.Devices {
		d := &p.Devices[i]
		for _, t := range d.Tensors {
			if b := d.Buffers[t.Buffer]; b.Space == program.Params && !seen[t.Path] {
				seen[t.Path] = true
				count, n := d.Count(b.Stack), int64(1)
				for _, a := range b.Axes {
					n = times(n, int64(max(a.Global, a.Size)))
				}
				n = times(n, int64(count))
				out.Tensors += count
				out.Elements = plus(out.Elements, n)
				if !t.Train {
					out.Frozen.Tensors += count
					out.Frozen.Elements = plus(out.Frozen.Elements, n)
				}
			}
		}
	}
	return out
}

// times is a product of what is not negative, at most the largest number.
func times(a, b int64) int64 {
	if b != 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// plus is a sum of what is not negative, at most the largest number.
func plus(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }
