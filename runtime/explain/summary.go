package explain

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"ptc/runtime/program"
	"ptc/runtime/timeline"
)

// Bounds of the summary, so that it is short for every plan: rows of a table,
// devices and columns of the timeline, columns of a line of prose.
const (
	rowsOfSummary    = 12
	devicesOfSummary = 16
	columnsOfSummary = 150
)

// summary is what one wants to know of a plan first, in less than 120 lines.
func summary(b *strings.Builder, d *Description, p *program.Plan) {
	head(b, d)
	if len(p.Config) > 0 {
		var config []string
		for _, c := range p.Config {
			config = append(config, c.Key+"="+c.Value)
		}
		line(b, "config", "%s", strings.Join(config, " "))
	}
	if ports := p.Ports(); len(ports) > 0 {
		line(b, "ports", "%s: of these `ptc run --set` takes other values", strings.Join(ports, ", "))
	}
	stageTable(b, d)
	memoryTable(b, d)
	kernelTable(b, d, rowsOfSummary)
	communicationTotals(b, d, p)
	transferTable(b, d)
	schedule(b, d, devicesOfSummary, columnsOfSummary)
	remarkCounts(b, d, columnsOfSummary)
	b.WriteString("\nMore: --section " + strings.Join(Sections()[1:], ", ") + "; --json for programs\n")
}

// schedule shows what the pass of that name says of a pipeline: its bubble, its
// activations and its timeline, of at most so many devices and so wide; below 0
// is without bounds.
func schedule(b *strings.Builder, d *Description, devices, width int) {
	var drawn, said []string
	if d.Idle > mostIdle {
		said = append(said, d.idleText())
	}
	for _, r := range d.Remarks {
		if r.Pass != "schedule" {
			continue
		}
		if strings.HasPrefix(r.Text, "device ") {
			drawn = append(drawn, r.Text)
		} else if !strings.HasPrefix(r.Text, "@eval") {
			said = append(said, r.Text)
		}
	}
	if len(said)+len(drawn) == 0 {
		return
	}
	b.WriteString("\nSchedule of the pipeline\n")
	for _, s := range said {
		fmt.Fprintf(b, "  %s\n", s)
	}
	for i, s := range drawn {
		if i == devices && len(drawn) > devices+1 {
			fmt.Fprintf(b, "  … %d more devices: --section schedule\n", len(drawn)-i)
			break
		}
		fmt.Fprintf(b, "  %s\n", clip(s, width))
	}
}

// mostIdle is the idle share above which a pipeline is probably laid out otherwise than meant.
const mostIdle = 0.25

// idleText warns of devices that wait for one another for long.
func (d *Description) idleText() string {
	return fmt.Sprintf("warning: devices are idle for %.1f%% of a step, if all stages take the same time: more microbatches than %d, or fewer stages, make it less",
		100*d.Idle, d.Microbatches)
}

// IdleWarning is what a user should know of a pipeline whose devices are idle for more than a quarter of a step, or empty.
func IdleWarning(p *program.Plan) string {
	idle, micro := timeline.Idle(p)
	if idle <= mostIdle {
		return ""
	}
	d := Description{Idle: idle, Microbatches: micro}
	return strings.TrimPrefix(d.idleText(), "warning: ")
}

// clip shortens a line to so many columns; below 0 it stays as it is.
func clip(s string, columns int) string {
	if columns < 0 || utf8.RuneCountInString(s) <= columns {
		return s
	}
	return string([]rune(s)[:columns-1]) + "…"
}
