package explain

import (
	"math"

	"ptc/runtime/program"
)

// Version is that of the JSON form of a Description. Fields may be added within a
// version; none changes its name or meaning.
const Version = 2

// Description is a plan for programs to read.
type Description struct {
	Version  int               `json:"version"`
	Model    string            `json:"model"`
	Layout   string            `json:"layout"`
	Target   string            `json:"target"`
	Features []string          `json:"features"`
	Compiler string            `json:"compiler"`
	LLVM     string            `json:"llvm,omitempty"`
	Config   map[string]string `json:"config"`
	Mesh     []MeshAxis        `json:"mesh"`
	Devices  int               `json:"devices"`
	// Classes are the devices that have one program each, in the order of the lists
	// "by class".
	Classes []Class `json:"device_classes"`

	Parameters      Parameters `json:"parameters"`
	LaunchesPerStep int        `json:"launches_per_step"`
	OpsBeforeFusion int        `json:"ops_before_fusion"`
	FlopsPerStep    float64    `json:"flops_per_step"`
	TokensPerStep   int64      `json:"tokens_per_step"`

	Memory      Memory       `json:"memory"`
	Runs        []Run        `json:"runs"`
	Kernels     []Kernel     `json:"kernels"`
	Collectives []Collective `json:"collectives"`
	Transfers   []Transfer   `json:"transfers"`
	Passes      []string     `json:"passes"`
	Remarks     []Remark     `json:"remarks"`
	Sources     []Source     `json:"sources"`
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
	d := &Description{
		Version: Version,
		Model:   p.Name, Layout: p.Layout, Target: p.Target, Compiler: p.Compiler, LLVM: p.LLVM,
		Features: append([]string{}, p.Features...), Config: map[string]string{}, Mesh: []MeshAxis{},
		OpsBeforeFusion: p.Stats.OpsBeforeFusion, FlopsPerStep: p.Stats.FlopsPerStep, TokensPerStep: p.Stats.TokensPerStep,
		Kernels: []Kernel{}, Collectives: []Collective{}, Transfers: []Transfer{}, Passes: append([]string{}, p.Passes...),
		Remarks: []Remark{}, Sources: []Source{}, Classes: []Class{}, Runs: []Run{},
	}
	for _, c := range p.Config {
		d.Config[c.Key] = c.Value
	}
	for _, m := range p.Declared() {
		d.Mesh = append(d.Mesh, MeshAxis(m))
	}
	for _, r := range p.Remarks {
		d.Remarks = append(d.Remarks, Remark(r))
	}
	for _, s := range p.Sources {
		d.Sources = append(d.Sources, Source{s.Name, s.SHA256})
	}
	d.Parameters = countParameters(p)
	for i := range p.Devices {
		c := Class{Devices: p.Copies(), At: map[string]int{}}
		for j, axis := range p.By {
			c.At[axis] = p.Devices[i].At[j]
		}
		d.Classes = append(d.Classes, c)
		d.Devices += c.Devices
	}
	d.Memory = memoryOf(p)
	d.LaunchesPerStep, d.Kernels, d.Runs = kernels(p)
	d.Collectives, d.Transfers = collectives(p), transfers(p)
	return d
}

// called is an instruction and how often it is issued: for each instance of a run.
type called struct {
	*program.Instr
	times    int
	repeated bool // it is in a run
}

// stepOf is what a device does in a training step.
func stepOf(d *program.Device) []called {
	for i := range d.Progs {
		p := &d.Progs[i]
		if p.Name != "step" {
			continue
		}
		out := make([]called, len(p.Instrs))
		for j := range out {
			out[j] = called{&p.Instrs[j], d.Times(p, j), p.RunOf(j) != nil}
		}
		return out
	}
	return nil
}

// runs are those of a device's step.
func runs(d *program.Device) []Run {
	out := []Run{}
	for i := range d.Progs {
		p := &d.Progs[i]
		if p.Name != "step" {
			continue
		}
		for _, r := range p.Runs {
			s := d.Stacks[r.Stack-1]
			x := Run{Stack: s.Name, Count: s.Count, Down: r.Down, From: r.From}
			for _, in := range p.Instrs[r.From:r.To] {
				if in.Comm == nil {
					x.Launches++
				} else if sends(in.Comm) {
					x.Sends++
				}
			}
			out = append(out, x)
		}
	}
	return out
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
