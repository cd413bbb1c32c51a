package forecast

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/internal/units"
)

// Text is the forecast for people.
func (f *Forecast) Text() string {
	var b strings.Builder
	line := lineOf(&b)
	name := f.Model
	if f.Layout != "" {
		name += ", layout " + f.Layout
	}
	line("plan", "%s, %s", name, units.Plural(f.Devices, "device"))
	unused := ""
	if f.Idle > 0 {
		unused = fmt.Sprintf(" (%d more are not used)", f.Idle)
	}
	line("machine", "%s%s", f.Machine, unused)
	f.lines(&b)
	f.causes(&b)
	b.WriteString("\nWhere the time goes, exchanges with the part that other work hides\n")
	for _, p := range f.Where {
		fmt.Fprintf(&b, "  %9s %5.1f%%  %s\n", seconds(p.Time), 100*p.Share, p.text())
	}
	f.changes(&b)
	return b.String()
}

// Summary is what `ptc explain` adds to a plan's summary.
func (f *Forecast) Summary() string {
	var b strings.Builder
	b.WriteString("\nForecast on " + f.Machine + "\n")
	f.lines(&b)
	f.causes(&b)
	return b.String()
}

// lineOf writes lines that begin with a name.
func lineOf(b *strings.Builder) func(name, format string, args ...any) {
	return func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
}

// lines are the figures of the step, and what bounds it.
func (f *Forecast) lines(b *strings.Builder) {
	line := lineOf(b)
	line("step", "%s, %.1f%% of the peak by the model's arithmetic (MFU), %.1f%% with what is rematerialized (HFU)", seconds(f.StepS), 100*f.MFU, 100*f.HFU)
	if f.Tokens > 0 {
		line("tokens", "%s/s", units.Count(f.Tokens, ""))
	}
	if p := f.Per; p != nil {
		line("10⁹ tokens", "%s", p.text())
	}
	line("memory", "%s", f.Memory.text())
	for _, a := range f.Advice {
		line("", "%s", a)
	}
	if g := f.Goodput; g != nil {
		line("goodput", "%.1f%%: a device fails every %s, a checkpoint of %s takes %s, one every %s is best", 100*g.Share, seconds(g.MTBF), units.Bytes(g.Bytes), seconds(g.Checkpoint), seconds(max(g.Daly, 0)))
	}
	line("bound by", "%s", f.Bound.text())
}

func (p *Per) text() string {
	out := []string{fmt.Sprintf("%.3g days", p.Days)}
	if p.USD > 0 {
		out = append(out, fmt.Sprintf("%.0f USD", p.USD))
	}
	if p.KWh > 0 {
		out = append(out, fmt.Sprintf("%.0f kWh", p.KWh))
	}
	return strings.Join(out, ", ")
}

func (m *Memory) text() string {
	verdict := "fits"
	if !m.Fits {
		verdict = "does not fit"
	}
	var by []string
	for _, u := range m.By[:min(len(m.By), 3)] {
		by = append(by, fmt.Sprintf("%s %s", u.Kind, units.Bytes(u.Bytes)))
	}
	return fmt.Sprintf("%s of %s per device: %s (%s)", units.Bytes(m.Bytes), units.Bytes(m.Capacity), verdict, strings.Join(by, ", "))
}

// text is a place in words.
func (p *Place) text() string {
	out := p.Cause
	if p.What != "" {
		out += " " + p.What
	}
	if p.Source != "" {
		out += ", " + p.Source
	}
	if p.Limit != "" {
		out += ", limited by " + p.Limit
	}
	return out
}

// causes lists the times by cause, the largest first.
func (f *Forecast) causes(b *strings.Builder) {
	b.WriteString("\nTime by cause, of the device that ends last\n")
	for _, n := range f.longest() {
		if t := f.Causes[n]; t > 0 {
			part := share(t, f.StepS)
			fmt.Fprintf(b, "  %9s %5.1f%%  %-20s %s\n", seconds(t), 100*part, n, strings.Repeat("#", int(40*part+.5)))
		}
	}
}

// longest are the causes, that with the most time first.
func (f *Forecast) longest() []string {
	return slices.SortedFunc(maps.Keys(f.Causes), func(x, y string) int {
		return cmp.Or(cmp.Compare(f.Causes[y], f.Causes[x]), strings.Compare(x, y))
	})
}

// changes lists how the step depends on the machine.
func (f *Forecast) changes(b *strings.Builder) {
	if len(f.Sensitivity) == 0 {
		return
	}
	b.WriteString("\nIf the machine were different, the step would change by\n")
	for i := 0; i < len(f.Sensitivity); {
		name := f.Sensitivity[i].Rate
		fmt.Fprintf(b, "  %-22s", name)
		for ; i < len(f.Sensitivity) && f.Sensitivity[i].Rate == name; i++ {
			c := &f.Sensitivity[i]
			fmt.Fprintf(b, "  ×%.1f: %+6.1f%%", c.Factor, 100*c.Change)
		}
		b.WriteString("\n")
	}
}

// seconds is a time in the unit that suits it, with three digits below two minutes.
func seconds(s float64) string {
	switch {
	case s >= 48*3600:
		return fmt.Sprintf("%.1f days", s/86400)
	case s >= 2*3600:
		return fmt.Sprintf("%.1f h", s/3600)
	case s >= 120:
		return fmt.Sprintf("%.1f min", s/60)
	}
	for _, u := range []struct {
		of   float64
		name string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}} {
		if s >= 0.9995*u.of { // what rounds up to 1000 has the next unit
			return fmt.Sprintf("%.3g %s", s/u.of, u.name)
		}
	}
	return fmt.Sprintf("%.3g ns", s*1e9)
}
