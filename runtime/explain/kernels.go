package explain

import (
	"fmt"
	"sort"
	"strings"

	"ptc/internal/units"
	"ptc/runtime/program"
)

// Kernel is a kernel function and its launches in a training step, of the device
// that has the most of them.
type Kernel struct {
	Name     string `json:"name"`
	Class    string `json:"class"`
	Launches int    `json:"launches_per_step"`
	Tasks    int64  `json:"tasks"`
	Flops    int64  `json:"flops"` // of a launch, as the next two
	Bytes    int64  `json:"bytes"`
	Scratch  int64  `json:"scratch_bytes"`
	// Threads and Shared are of a block of a GPU's grid, which a task is there.
	Threads int64 `json:"threads,omitempty"`
	Shared  int64 `json:"shared_bytes,omitempty"`
	// Product says that the kernel is products that a library may compute in its place.
	Product bool `json:"product,omitempty"`
	// LeastMs is what a launch takes at least, see Roofline.
	LeastMs float64 `json:"least_ms,omitempty"`
	// Where are the places in the model that it computes, in program order.
	Where []Site `json:"where"`
}

// Site is a place in the model and its source that a kernel is launched for. A
// kernel is fused of several operations; this is the one that names it.
type Site struct {
	Module   string `json:"module"` // folded: blocks.0..31.attn
	Source   string `json:"source"` // file:line:column
	Launches int    `json:"launches_per_step"`
}

func (k *Kernel) work() float64  { return float64(k.Flops) * float64(k.Launches) }
func (k *Kernel) moves() float64 { return float64(k.Bytes) * float64(k.Launches) }

// kernels are those of the plan, and the launches of the device with the most:
// a step waits for it; with that device.
func kernels(p *program.Plan) (launches int, out []Kernel, busiest *program.Device) {
	out = make([]Kernel, len(p.Kernels))
	for i, k := range p.Kernels {
		out[i] = Kernel{Name: k.Name, Class: k.Class, Tasks: k.Tasks, Flops: k.Flops, Bytes: k.Bytes, Scratch: k.Scratch, Threads: k.Threads, Shared: k.Shared, Product: len(k.Products) > 0, Where: []Site{}}
	}
	for i := range p.Devices {
		calls, counts, issued := make([][]called, len(p.Kernels)), make([]int, len(p.Kernels)), make([]int, len(p.Kernels))
		all := 0
		for _, in := range stepOf(&p.Devices[i]) {
			if in.Comm == nil {
				calls[in.Kernel] = append(calls[in.Kernel], in)
				counts[in.Kernel] += in.launches
				issued[in.Kernel] += in.times
				all += in.launches
			}
		}
		if all > launches {
			launches, busiest = all, &p.Devices[i]
		}
		for k, list := range calls {
			if counts[k] > out[k].Launches {
				out[k].Launches, out[k].Where = counts[k], sites(list)
				out[k].of(&p.Kernels[k], int64(issued[k]))
			}
		}
	}
	return launches, out, busiest
}

func sites(calls []called) []Site {
	type key struct{ module, source string }
	var groups folded[key, place]
	launches := map[key]int{}
	for _, in := range calls {
		k := key{template(in.Scope), in.Pos}
		groups.add(k, place{in.Scope, in.instances})
		launches[k] += in.launches
	}
	out := []Site{}
	for _, k := range groups.keys {
		out = append(out, Site{fold(groups.items[k]), k.source, launches[k]})
	}
	return out
}

// where is the first place that a kernel computes, and how many more there are.
func (k *Kernel) where() string {
	if len(k.Where) == 0 {
		return ""
	}
	text := strings.TrimSpace(k.Where[0].Module + " " + k.Where[0].Source)
	if n := len(k.Where) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// of sets what a launch is of where the kernel is issued so often in all: several instances
// of a stack may be one launch, and a figure is then the mean of all launches.
func (k *Kernel) of(one *program.Kernel, issued int64) {
	n := int64(k.Launches)
	mean := func(one int64) int64 { return issued/n*one + issued%n*one/n }
	k.Tasks, k.Flops, k.Bytes = mean(one.Tasks), mean(one.Flops), mean(one.Bytes)
}

// by are the kernels in the order of a figure, the largest first, and its total.
func (d *Description) by(figure func(*Kernel) float64) (order []*Kernel, total float64) {
	for i := range d.Kernels {
		order = append(order, &d.Kernels[i])
		total += figure(&d.Kernels[i])
	}
	sort.SliceStable(order, func(i, j int) bool { return figure(order[i]) > figure(order[j]) })
	return order, total
}

// kernelTable lists kernels by their share of the step's arithmetic, at most so
// many of them; where the plan says what its device does at most, by the time that they take at
// least.
func kernelTable(b *strings.Builder, d *Description, limit int) {
	order, total := d.by((*Kernel).work)
	_, moved := d.by((*Kernel).moves)
	by, bounds := "work in a step", d.Roofline != nil
	least := func(*Kernel) string { return "" }
	if bounds {
		by = "least time in a step"
		var all float64
		order, all = d.by(func(k *Kernel) float64 { return k.LeastMs * float64(k.Launches) })
		least = func(k *Kernel) string {
			return fmt.Sprintf("  %9.2f  %6s", 1e3*k.LeastMs, share(k.LeastMs*float64(k.Launches), all))
		}
	}
	fmt.Fprintf(b, "\nKernels (%d), by their %s\n", len(order), by)
	columns := ""
	if bounds {
		columns = fmt.Sprintf("  %9s  %6s", "µs each", "time")
	}
	fmt.Fprintf(b, "  %8s  %11s  %11s  %6s  %6s%s  %-10s %-13s %s\n", "launches", "each", "moves", "work", "bytes", columns, "class", "kernel", "where")
	for i, k := range order {
		if i == limit {
			fmt.Fprintf(b, "  … %d more: --section kernels\n", len(order)-i)
			return
		}
		row := fmt.Sprintf("  %8d  %11s  %11s  %6s  %6s%s  %-10s %-13s %s", k.Launches, units.Count(k.Flops, "FLOP"), units.Bytes(k.Bytes),
			share(k.work(), total), share(k.moves(), moved), least(k), k.Class, k.Name, k.where())
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
}

func percent(part, whole int64) string {
	return share(float64(part), float64(whole))
}

func share(part, whole float64) string {
	if whole <= 0 {
		return "0.0%"
	}
	return fmt.Sprintf("%.1f%%", 100*part/whole)
}

// KernelText is what there is to say of one kernel; empty where the plan has none of that name.
func KernelText(p *program.Plan, name string) string {
	d := Describe(p)
	for i := range d.Kernels {
		k := &d.Kernels[i]
		if k.Name != name {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n", k.Name)
		line(&b, "class", "%s", k.Class)
		line(&b, "launch", "%s, moves %s, %d tasks", units.Count(k.Flops, "FLOP"), units.Bytes(k.Bytes), k.Tasks)
		if k.Threads > 0 {
			line(&b, "block", "%d threads, %s of shared memory", k.Threads, units.Bytes(k.Shared))
		}
		if k.LeastMs > 0 {
			line(&b, "roofline", "at least %.3g µs", k.LeastMs*1e3)
		}
		line(&b, "in a step", "%d launches on a device", k.Launches)
		for _, w := range k.Where {
			fmt.Fprintf(&b, "  %6d  %s %s\n", w.Launches, w.Module, w.Source)
		}
		return b.String()
	}
	return ""
}
