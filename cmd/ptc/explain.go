package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"ptc/runtime/program"
)

func newExplain(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain PLAN [--json]",
		Short: "Show what a plan does, and what was decided on the way",
		Long: `Show a plan: its kernels and how often a step launches them, its arithmetic, its
memory by kind, what its devices tell each other and why, and the remarks of the
passes.

The bytes of a kind are those of the arena that ever hold it. Buffers that are
not alive at the same time share memory, so that the kinds can add up to more
than the arena.`,
		Example: `  ptc explain plan.bin
  ptc explain plan.bin --json | jq .memory`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
		RunE: func(_ *cobra.Command, args []string) error {
			plan, err := readPlan(args[0])
			if err != nil {
				return err
			}
			if !asJSON {
				return a.print([]byte(explainText(plan)))
			}
			text, err := json.MarshalIndent(describe(plan), "", "  ")
			if err != nil {
				return err
			}
			return a.print(append(text, '\n'))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// description is a plan for programs to read.
type description struct {
	Model    string            `json:"model"`
	Layout   string            `json:"layout"`
	Target   string            `json:"target"`
	Features []string          `json:"features"`
	Compiler string            `json:"compiler"`
	LLVM     string            `json:"llvm,omitempty"`
	Config   map[string]string `json:"config"`
	Mesh     []meshAxis        `json:"mesh"`
	Devices  int               `json:"devices"`

	Parameters      parameters `json:"parameters"`
	LaunchesPerStep int        `json:"launches_per_step"`
	OpsBeforeFusion int        `json:"ops_before_fusion"`
	FlopsPerStep    int64      `json:"flops_per_step"`
	TokensPerStep   int64      `json:"tokens_per_step"`

	Memory      memory       `json:"memory"`
	Kernels     []kernel     `json:"kernels"`
	Collectives []collective `json:"collectives"`
	Transfers   []moved      `json:"transfers"`
	Passes      []string     `json:"passes"`
	Remarks     []remark     `json:"remarks"`
	Sources     []source     `json:"sources"`
}

type meshAxis struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

type parameters struct {
	Tensors  int    `json:"tensors"`
	Elements int64  `json:"elements"` // of the whole model, however it is laid out
	Frozen   frozen `json:"frozen"`   // those of them that no step changes
}

type frozen struct {
	Tensors  int   `json:"tensors"`
	Elements int64 `json:"elements"`
}

type memory struct {
	Peak  []int64                 `json:"peak_bytes_per_device"` // by rank, of device memory
	Host  []int64                 `json:"host_bytes_per_device"` // what is offloaded, by rank
	Disk  []int64                 `json:"disk_bytes_per_device"`
	Arena map[program.Space]int64 `json:"arena"` // of the device with the largest
}

type kernel struct {
	Name     string `json:"name"`
	Class    string `json:"class"`
	Launches int    `json:"launches_per_step"`
	Tasks    int64  `json:"tasks"`
	Flops    int64  `json:"flops"` // of a launch, as the next three
	Bytes    int64  `json:"bytes"`
	Scratch  int64  `json:"scratch_bytes"`
}

type remark struct {
	Pass  string `json:"pass"`
	Pos   string `json:"pos,omitempty"`
	Scope string `json:"scope,omitempty"`
	Text  string `json:"text"`
}

type source struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// spaces are the kinds of memory in the order in which they are shown.
var spaces = []program.Space{program.Params, program.Grads, program.Optimizer,
	program.Activations, program.Scratch, program.Inputs}

func describe(p *program.Plan) *description {
	d := &description{
		Model: p.Name, Layout: p.Layout, Target: p.Target, Compiler: p.Compiler, LLVM: p.LLVM,
		Features: append([]string{}, p.Features...), Config: map[string]string{}, Mesh: []meshAxis{},
		OpsBeforeFusion: p.Stats.OpsBeforeFusion, FlopsPerStep: p.Stats.FlopsPerStep, TokensPerStep: p.Stats.TokensPerStep,
		Kernels: []kernel{}, Collectives: []collective{}, Transfers: []moved{}, Passes: append([]string{}, p.Passes...),
		Remarks: []remark{}, Sources: []source{},
	}
	for _, c := range p.Config {
		d.Config[c.Key] = c.Value
	}
	for _, m := range p.Declared() {
		d.Mesh = append(d.Mesh, meshAxis(m))
	}
	for _, r := range p.Remarks {
		d.Remarks = append(d.Remarks, remark(r))
	}
	for _, s := range p.Sources {
		d.Sources = append(d.Sources, source{s.Name, s.SHA256})
	}
	d.Parameters = countParameters(p)
	d.addDevices(p)
	return d
}

// addDevices adds launches, kernels and memory. Where devices differ, it takes
// the one with the most, since a step waits for it.
func (d *description) addDevices(p *program.Plan) {
	launches := make([]int, len(p.Kernels))
	var largest *program.Device
	for i := range p.Devices {
		dev := &p.Devices[i]
		d.Devices += len(dev.Ranks)
		own := make([]int, len(p.Kernels))
		all := 0
		for _, in := range stepOf(dev) {
			if in.Comm == nil {
				own[in.Kernel]++
				all++
			}
		}
		d.LaunchesPerStep = max(d.LaunchesPerStep, all)
		for k, n := range own {
			launches[k] = max(launches[k], n)
		}
		if largest == nil || dev.Arena > largest.Arena {
			largest = dev
		}
	}
	d.Collectives, d.Transfers = collectives(p), transfers(p)
	for i, k := range p.Kernels {
		d.Kernels = append(d.Kernels, kernel{Name: k.Name, Class: k.Class, Launches: launches[i],
			Tasks: k.Tasks, Flops: k.Flops, Bytes: k.Bytes, Scratch: k.Scratch})
	}
	d.Memory.Peak, d.Memory.Host, d.Memory.Disk = make([]int64, d.Devices), make([]int64, d.Devices), make([]int64, d.Devices)
	for _, dev := range p.Devices {
		for _, r := range dev.Ranks {
			if r >= 0 && r < d.Devices {
				d.Memory.Peak[r], d.Memory.Host[r], d.Memory.Disk[r] = dev.Arena, dev.Host, dev.Disk
			}
		}
	}
	d.Memory.Arena = map[program.Space]int64{}
	for _, s := range spaces {
		d.Memory.Arena[s] = covered(largest, s)
	}
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

// covered is how many bytes of the arena hold a buffer of the kind at some time.
func covered(d *program.Device, s program.Space) int64 {
	if d == nil {
		return 0
	}
	type span struct{ from, to int64 }
	var spans []span
	for _, b := range d.Buffers {
		if b.Space == s && b.Memory == "" {
			spans = append(spans, span{b.Offset, b.Offset + b.Bytes})
		}
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	var sum, end int64
	for _, x := range spans {
		if from := max(x.from, end); x.to > from {
			sum += x.to - from
			end = x.to
		}
	}
	return sum
}

// countParameters counts the parameters, each tensor once.
func countParameters(p *program.Plan) parameters {
	var out parameters
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

// overview writes what a plan is in a few lines.
func overview(b *strings.Builder, p *program.Plan) {
	d := describe(p)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(b, "  %-11s %s\n", label, fmt.Sprintf(format, args...))
	}
	by := ""
	if p.LLVM != "" {
		by = ", code by LLVM " + p.LLVM
	}
	line("model", "%s, layout %s", d.Model, d.Layout)
	line("target", "%s on %s%s", d.Target, plural(d.Devices, "device"), by)
	line("parameters", "%s in %s", countText(d.Parameters.Elements, ""), plural(d.Parameters.Tensors, "tensor"))
	if x := d.Parameters.Frozen; x.Tensors > 0 {
		line("frozen", "%s of them in %s", countText(x.Elements, ""), plural(x.Tensors, "tensor"))
	}
	line("step", "%s of %s, from %s; %s", plural(d.LaunchesPerStep, "launch"),
		plural(len(d.Kernels), "kernel"), plural(d.OpsBeforeFusion, "operation"), countText(d.FlopsPerStep, "FLOP"))
	elsewhere := ""
	if n := slices.Max(append([]int64{0}, d.Memory.Host...)); n > 0 {
		elsewhere += ", and " + bytesText(n) + " of the host"
	}
	if n := slices.Max(append([]int64{0}, d.Memory.Disk...)); n > 0 {
		elsewhere += ", and " + bytesText(n) + " on disk"
	}
	line("memory", "%s per device%s", bytesText(slices.Max(append([]int64{0}, d.Memory.Peak...))), elsewhere)
}

func explainText(p *program.Plan) string {
	var b strings.Builder
	d := describe(p)
	fmt.Fprintf(&b, "%s, compiled by ptc %s\n", d.Model, d.Compiler)
	overview(&b, p)
	var config []string
	for _, c := range p.Config {
		config = append(config, c.Key+"="+c.Value)
	}
	if len(config) > 0 {
		fmt.Fprintf(&b, "  %-11s %s\n", "config", strings.Join(config, " "))
	}
	for _, m := range d.Mesh {
		fmt.Fprintf(&b, "  %-11s %s = %d\n", "mesh", m.Name, m.Size)
	}

	b.WriteString("\nMemory of a device, in bytes of its arena that ever hold\n")
	for _, s := range spaces {
		fmt.Fprintf(&b, "  %-11s %10s\n", s, bytesText(d.Memory.Arena[s]))
	}
	for i, all := range [][]int64{d.Memory.Host, d.Memory.Disk} {
		if n := slices.Max(append([]int64{0}, all...)); n > 0 {
			fmt.Fprintf(&b, "  %-11s %10s\n", []string{"on the host", "on disk"}[i], bytesText(n))
		}
	}
	kernelTable(&b, d)
	collectiveTable(&b, d, p)
	transferTable(&b, d)
	if len(d.Remarks) > 0 {
		fmt.Fprintf(&b, "\nRemarks (%d)\n", len(d.Remarks))
	}
	for _, r := range d.Remarks {
		where := strings.TrimSpace(r.Scope + " " + r.Pos)
		if where != "" {
			where += ": "
		}
		fmt.Fprintf(&b, "  %s: %s%s\n", r.Pass, where, r.Text)
	}
	return b.String()
}

// kernelTable lists the kernels by their share of the step's arithmetic.
func kernelTable(b *strings.Builder, d *description) {
	order := append([]kernel(nil), d.Kernels...)
	work := func(k kernel) int64 { return k.Flops * int64(k.Launches) }
	sort.SliceStable(order, func(i, j int) bool { return work(order[i]) > work(order[j]) })
	total := int64(0)
	for _, k := range order {
		total += work(k)
	}
	fmt.Fprintf(b, "\nKernels (%d), by their work in a step\n", len(order))
	fmt.Fprintf(b, "  %8s  %11s  %11s  %6s  %-8s %s\n", "launches", "each", "moves", "share", "class", "kernel")
	for _, k := range order {
		fmt.Fprintf(b, "  %8d  %11s  %11s  %5.1f%%  %-8s %s\n", k.Launches, countText(k.Flops, "FLOP"), bytesText(k.Bytes),
			100*float64(work(k))/float64(max(total, 1)), k.Class, k.Name)
	}
}
