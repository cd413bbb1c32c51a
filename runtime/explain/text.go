package explain

import (
	"fmt"
	"strings"

	"ptc/internal/units"
	"ptc/runtime/program"
)

// section is a part of the text.
type section struct {
	name  string
	write func(*strings.Builder, *Description, *program.Plan)
}

// sections are all but the summary, in the order in which "all" has them.
var sections = []section{
	{"memory", func(b *strings.Builder, d *Description, _ *program.Plan) { stageTable(b, d); memoryTable(b, d) }},
	{"kernels", func(b *strings.Builder, d *Description, _ *program.Plan) { kernelTable(b, d, -1) }},
	{"communication", communicationTable},
	{"transfers", func(b *strings.Builder, d *Description, _ *program.Plan) { transferTable(b, d) }},
	{"schedule", func(b *strings.Builder, d *Description, _ *program.Plan) { schedule(b, d, -1, -1) }},
	{"turns", func(b *strings.Builder, d *Description, p *program.Plan) { tickTable(b, d, p) }},
	{"remarks", remarkList},
	{"config", configList},
	{"sources", sourceList},
}

// Sections are the names that Text takes, the default one first.
func Sections() []string {
	names := []string{"summary"}
	for _, s := range sections {
		names = append(names, s.name)
	}
	return append(names, "all")
}

// Text is a section of what there is to say of a plan; "summary" is the short
// form of it, "all" every section. The name is one of Sections.
func Text(p *program.Plan, name string) string {
	var b strings.Builder
	d := Describe(p)
	if name == "summary" {
		summary(&b, d, p)
		return b.String()
	}
	if name == "all" {
		head(&b, d)
	}
	for _, s := range sections {
		if name == s.name || name == "all" {
			s.write(&b, d, p)
		}
	}
	text := strings.TrimPrefix(b.String(), "\n")
	if text == "" {
		return fmt.Sprintf("this plan has no %s\n", name)
	}
	return text
}

func line(b *strings.Builder, label, format string, args ...any) {
	fmt.Fprintf(b, "  %-11s %s\n", label, fmt.Sprintf(format, args...))
}

// Overview is what a plan is, in a few lines.
func Overview(p *program.Plan) string {
	var b strings.Builder
	describe(p).overview(&b)
	return b.String()
}

func (d *Description) overview(b *strings.Builder) {
	by := ""
	if d.LLVM != "" {
		by = ", code by LLVM " + d.LLVM
	}
	line(b, "model", "%s, layout %s", d.Model, d.Layout)
	if len(d.Variants) > 0 {
		by += ", with code for " + strings.Join(d.Variants, ", ") + " as well"
	}
	line(b, "target", "%s on %s%s", d.Target, units.Plural(d.Devices, "device"), by)
	line(b, "parameters", "%s in %s", units.Count(d.Parameters.Elements, ""), units.Plural(d.Parameters.Tensors, "tensor"))
	if x := d.Parameters.Frozen; x.Tensors > 0 {
		line(b, "frozen", "%s of them in %s", units.Count(x.Elements, ""), units.Plural(x.Tensors, "tensor"))
	}
	line(b, "step", "%s", d.step())
	if r := d.Roofline; r != nil {
		line(b, "roofline", "a step takes at least %.3g ms on %s, kernel by kernel (%.3g ms to move its bytes, %.3g ms for its arithmetic)", r.StepMs, r.Device, r.MovesMs, r.MathMs)
	}
	if text := d.tasksText(); text != "" {
		line(b, "tasks", "%s", text)
	}
	if text := d.runsText(); text != "" {
		line(b, "runs", "%s", text)
	}
	if d.Schedules > 0 {
		line(b, "schedules", "%s cut as given", units.Plural(d.Schedules, "kernel"))
	}
	line(b, "memory", "%s", d.memoryText())
}

// runsText are the runs of a step, in one line: those of one stack add up, in either
// direction.
func (d *Description) runsText() string {
	type key struct {
		stack string
		count int
		down  bool
	}
	var groups folded[key, int]
	for _, r := range d.Runs {
		groups.add(key{r.Stack, r.Count, r.Down}, r.Launches*r.Ticks)
	}
	var out []string
	for i, k := range groups.keys {
		if i == rowsOfSummary {
			return strings.Join(append(out, "…"), "; ")
		}
		down, n := "", 0
		if k.down {
			down = " down"
		}
		for _, launches := range groups.items[k] {
			n += launches
		}
		out = append(out, fmt.Sprintf("for %s ×%d%s: %s", k.stack, k.count, down, units.Plural(n, "launch")))
	}
	return strings.Join(out, "; ")
}

func head(b *strings.Builder, d *Description) {
	fmt.Fprintf(b, "%s, compiled by ptc %s\n", d.Model, d.Compiler)
	d.overview(b)
	if len(d.Mesh) > 0 {
		var axes []string
		for _, m := range d.Mesh {
			axes = append(axes, fmt.Sprintf("%s = %d", m.Name, m.Size))
		}
		line(b, "mesh", "%s", strings.Join(axes, ", "))
	}
}

// configList is the resolved config, in the order of the file.
func configList(b *strings.Builder, _ *Description, p *program.Plan) {
	if len(p.Config) == 0 {
		return
	}
	b.WriteString("\nConfig\n")
	for _, c := range p.Config {
		fmt.Fprintf(b, "  %s = %s%s\n", c.Key, c.Value, port(p, c.Key))
	}
	for _, g := range p.Guards {
		not := ""
		if !g.Holds {
			not = "not "
		}
		fmt.Fprintf(b, "  for values of which %s is %strue\n", g.Text, not)
	}
}

// port says that a run can set a config entry, or what it is computed of then.
func port(p *program.Plan, name string) string {
	for _, s := range p.Settings {
		switch {
		case s.Name == name && s.Is == "":
			return "  (a port)"
		case s.Name == name:
			return "  (" + s.Is + ")"
		}
	}
	return ""
}

func sourceList(b *strings.Builder, d *Description, _ *program.Plan) {
	fmt.Fprintf(b, "\nSources (%d), by SHA-256\n", len(d.Sources))
	for _, s := range d.Sources {
		fmt.Fprintf(b, "  %s  %s\n", s.SHA256, s.Name)
	}
}

// step is the work of a step. Launches are those of the device with the most, arithmetic is
// that of all.
func (d *Description) step() string {
	launches, of, flops := units.Plural(d.LaunchesPerStep, "launch"), units.Plural(len(d.Kernels), "kernel"), units.Count(d.FlopsPerStep, "FLOP")
	from := units.Plural(d.OpsBeforeFusion, "operation")
	if d.Devices > 1 {
		return fmt.Sprintf("at most %s on a device, of %s, from %s; %s on all devices", launches, of, from, flops)
	}
	return fmt.Sprintf("%s of %s, from %s; %s", launches, of, from, flops)
}
