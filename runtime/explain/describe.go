package explain

import "ptc/runtime/program"

// Version is that of the JSON form of a Description. Fields may be added within a
// version; none changes its name or meaning.
const Version = 1

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

	Parameters      Parameters `json:"parameters"`
	LaunchesPerStep int        `json:"launches_per_step"`
	OpsBeforeFusion int        `json:"ops_before_fusion"`
	FlopsPerStep    float64    `json:"flops_per_step"`
	TokensPerStep   int64      `json:"tokens_per_step"`

	Memory      Memory       `json:"memory"`
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
		Remarks: []Remark{}, Sources: []Source{},
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
	d.Devices = devices(p)
	d.Memory = memoryOf(p, d.Devices)
	d.LaunchesPerStep, d.Kernels = kernels(p)
	d.Collectives, d.Transfers = collectives(p), transfers(p)
	return d
}

// devices is how many devices the plan is for.
func devices(p *program.Plan) int {
	n := 0
	for i := range p.Devices {
		n += len(p.Devices[i].Ranks)
	}
	return n
}

// stepOf is what a device does in a training step.
func stepOf(d *program.Device) []program.Instr {
	for _, p := range d.Progs {
		if p.Name == "step" {
			return p.Instrs
		}
	}
	return nil
}

// countParameters counts the parameters, each tensor once.
func countParameters(p *program.Plan) Parameters {
	var out Parameters
	seen := map[string]bool{}
	for _, d := range p.Devices {
		for _, t := range d.Tensors {
			if b := d.Buffers[t.Buffer]; b.Space == program.Params && !seen[t.Path] {
				seen[t.Path] = true
				n := int64(1)
				for _, a := range b.Axes {
					n *= int64(max(a.Global, a.Size))
				}
				out.Tensors++
				out.Elements += n
				if !t.Train {
					out.Frozen.Tensors++
					out.Frozen.Elements += n
				}
			}
		}
	}
	return out
}
