package profile

import (
	"fmt"
	"strings"

	"ptc/internal/units"
)

// rows of the table; the others are summed.
const rows = 24

// Text is the report for people: of each device what its time went to, and of the
// one that computes the longest the kernels.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nProfile of %s, medians", units.Plural(r.Steps, "step"))
	if r.WarmUp > 0 {
		fmt.Fprintf(&b, " (%s before left out)", units.Plural(r.WarmUp, "step"))
	}
	b.WriteString("\n")
	if r.StepMs > 0 {
		fmt.Fprintf(&b, "  a step takes %s ms, and %s ms instruction by instruction, as it is profiled\n", ms(r.StepMs), ms(r.ProfiledMs))
	} else {
		fmt.Fprintf(&b, "  a step takes %s ms instruction by instruction, as it is profiled; without a profile none was run\n", ms(r.ProfiledMs))
	}
	if len(r.Ranks) == 0 {
		return b.String()
	}
	most := &r.Ranks[0]
	fmt.Fprintf(&b, "\n  %4s  %9s  %9s  %6s  %13s  %9s  %9s  %8s  %8s\n", "rank", "ms a step", "kernels", "", "communication", "waits", "between", "launches", "GFLOP/s")
	for i := range r.Ranks {
		x := &r.Ranks[i]
		if x.KernelMs > most.KernelMs {
			most = x
		}
		fmt.Fprintf(&b, "  %4d  %9s  %9s  %6s  %13s  %9s  %9s  %8d  %8.1f\n", x.Rank, ms(x.StepMs), ms(x.KernelMs), percent(x.KernelMs, x.StepMs),
			ms(x.CommMs), ms(x.WaitMs), ms(x.GapMs), x.Launches, float64(x.Flops)/max(x.StepMs, 1e-9)/1e6)
	}
	most.text(&b, len(r.Ranks) > 1)
	return b.String()
}

// text is the table of a device's kernels.
func (x *Rank) text(b *strings.Builder, several bool) {
	c := &x.Ceilings
	of := ""
	if several {
		of = fmt.Sprintf(" of rank %d", x.Rank)
	}
	if x.On != "" {
		of += ", " + x.On
	}
	switch {
	case c.Device != "":
		fmt.Fprintf(b, "\n  Ceilings%s, by the figures of %s: ", of, c.Device)
		for i, r := range c.Arithmetic {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "%.1f GFLOP/s of %s", r.GFlops, r.DType)
		}
		fmt.Fprintf(b, "; memory %.1f GB/s\n", c.Memory)
	case c.Flops > 0:
		fmt.Fprintf(b, "\n  Ceilings%s, %s: %.1f GFLOP/s", of, units.Plural(c.Threads, "thread"), c.Flops)
		if c.Dot > 0 {
			fmt.Fprintf(b, ", %.1f of dot products of bf16", c.Dot)
		}
		fmt.Fprintf(b, "; read %.1f, copy %.1f, update %.1f GB/s\n", c.Read, c.Copy, c.Update)
	default:
		fmt.Fprintf(b, "\n  No ceilings, and so no shares of a roofline: %s\n", c.Why)
	}
	fmt.Fprintf(b, "\n  Kernels%s\n", of)
	fmt.Fprintf(b, "  %9s  %6s  %8s  %8s  %7s  %8s  %-7s  %-8s %-12s %s\n", "ms a step", "share", "launches", "GFLOP/s", "GB/s", "roofline", "bound", "class", "kernel", "where")
	rest, launches := 0.0, 0
	for i := range x.Kernels {
		k := &x.Kernels[i]
		if i >= rows && len(x.Kernels) > rows+1 {
			rest, launches = rest+k.Ms, launches+k.Launches
			continue
		}
		roof := ""
		if k.Roofline > 0 {
			roof = percent(k.Roofline, 1)
		}
		where := strings.TrimSpace(k.Module + " " + k.Source)
		if n := k.Launches - 1; n > 0 {
			where += fmt.Sprintf(" and %d more", n)
		}
		row := fmt.Sprintf("  %9s  %6s  %8d  %8.1f  %7.2f  %8s  %-7s  %-8s %-12s %s", ms(k.Ms), percent(k.Share, 1), k.Launches, k.GFlops, k.GBytes, roof, k.Bound, k.Class, k.Name, where)
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	if launches > 0 {
		fmt.Fprintf(b, "  %9s  %6s  %8d  of %d others\n", ms(rest), percent(rest, x.StepMs), launches, len(x.Kernels)-rows)
	}
}

// ms writes milliseconds with three digits or more.
func ms(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func percent(part, whole float64) string {
	if whole <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*part/whole)
}
