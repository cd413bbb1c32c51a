package report

import (
	"cmp"
	"fmt"
	"slices"

	"ptc/runtime/explain"
	"ptc/runtime/profile"
	"ptc/runtime/program"
)

// Measured is what a run of the plan took, of a profile: medians over steps.
type Measured struct {
	Steps int `json:"steps"` // that were profiled
	// StepMs is a step that ran as always, 0 where there was none, and ProfiledMs one that
	// was profiled, instruction by instruction.
	StepMs     float64 `json:"step_ms"`
	ProfiledMs float64 `json:"profiled_step_ms"`
	// Roofline is of what the device was measured to do, where the plan does not know that.
	Roofline *MeasuredRoof  `json:"roofline,omitempty"`
	Ranks    []MeasuredRank `json:"ranks"`
	// Kernels are those of the plan that ran, and Communications are by kind and axes, the
	// longest first, each on the rank on which it took longest.
	Kernels        []MeasuredKernel `json:"kernels"`
	Communications []MeasuredKernel `json:"communications"`
}

// MeasuredRoof is what a device does at most, as kernels of ptc measured it.
type MeasuredRoof struct {
	Device    string  `json:"device"`
	Bandwidth float64 `json:"bytes_per_s"`
	Flops     float64 `json:"flops_per_s"`
}

// MeasuredRank is where the time of a device's step is, in milliseconds.
type MeasuredRank struct {
	Rank     int     `json:"rank"`
	On       string  `json:"on,omitempty"`
	StepMs   float64 `json:"step_ms"`
	KernelMs float64 `json:"kernel_ms"`
	CommMs   float64 `json:"communication_ms"`
	WaitMs   float64 `json:"wait_ms"` // for what was begun before
	GapMs    float64 `json:"gap_ms"`
}

// Computes is the share of the step in which the device computes.
func (r MeasuredRank) Computes() float64 {
	if r.StepMs <= 0 {
		return 0
	}
	return min(1, r.KernelMs/r.StepMs)
}

// MeasuredKernel is what the launches of a kernel took.
type MeasuredKernel struct {
	Kernel   int     `json:"kernel"` // its number in the document; -1: a communication
	Name     string  `json:"name"`
	Rank     int     `json:"rank"`
	Launches int     `json:"launches_per_step"`
	Ms       float64 `json:"ms_per_step"`
	LaunchMs float64 `json:"launch_ms"`
	Share    float64 `json:"share_of_step"`
	Flops    float64 `json:"flops_per_s"`
	Bytes    float64 `json:"bytes_per_s"`
	Roofline float64 `json:"roofline_share"` // 0: not known
}

// Measure adds what a profile measured, which has to be of this plan.
func (d *Document) Measure(plan *program.Plan, p *profile.Report) error {
	for _, x := range []struct{ what, plan, profile string }{
		{"model", plan.Name, p.Model}, {"layout", plan.Layout, p.Layout}, {"target", plan.Target, p.Target},
	} {
		if x.plan != x.profile {
			return fmt.Errorf("the profile is of another plan: its %s is %q, and the plan's is %q", x.what, x.profile, x.plan)
		}
	}
	m := &Measured{Steps: p.Steps, StepMs: p.StepMs, ProfiledMs: p.ProfiledMs, Ranks: []MeasuredRank{}, Kernels: []MeasuredKernel{}, Communications: []MeasuredKernel{}}
	number := map[string]int{}
	for i := range plan.Kernels {
		number[plan.Kernels[i].Name] = i
	}
	for i := range p.Ranks {
		r := &p.Ranks[i]
		if r.Rank >= plan.Mesh.Ranks() {
			return fmt.Errorf("the profile is of another plan: it has rank %d, and the plan has %d devices", r.Rank, plan.Mesh.Ranks())
		}
		m.Ranks = append(m.Ranks, MeasuredRank{r.Rank, r.On, r.StepMs, r.KernelMs, r.CommMs, r.WaitMs, r.GapMs})
		for j := range r.Kernels {
			if err := m.add(plan, number, r.Rank, &r.Kernels[j]); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(m.Ranks, func(a, b MeasuredRank) int { return a.Rank - b.Rank })
	longest := func(a, b MeasuredKernel) int {
		return cmp.Or(cmp.Compare(b.Ms, a.Ms), cmp.Compare(a.Name, b.Name))
	}
	slices.SortStableFunc(m.Kernels, longest)
	slices.SortStableFunc(m.Communications, longest)
	if d.Roofline == nil {
		m.Roofline = roofOf(plan, &p.Ranks[0])
	}
	d.Report.Measured = m
	return nil
}

// add takes a kernel of a rank, if it took no longer on another one.
func (m *Measured) add(plan *program.Plan, number map[string]int, rank int, k *profile.Kernel) error {
	x := MeasuredKernel{Kernel: -1, Name: k.Name, Rank: rank, Launches: k.Launches, Ms: k.Ms, LaunchMs: k.Ms / float64(k.Launches),
		Share: k.Share, Flops: 1e9 * k.GFlops, Bytes: 1e9 * k.GBytes, Roofline: k.Roofline}
	list := &m.Communications
	if k.Class != "comm" {
		n, ok := number[k.Name]
		if !ok || !multiple(k.Flops, plan.Kernels[n].Flops) || !multiple(k.Bytes, plan.Kernels[n].Bytes) {
			return fmt.Errorf("the profile is of another plan: this one has no kernel %s of %d FLOP and %d bytes", k.Name, k.Flops, k.Bytes)
		}
		x.Kernel, list = n, &m.Kernels
	}
	i := slices.IndexFunc(*list, func(y MeasuredKernel) bool { return y.Kernel == x.Kernel && y.Name == x.Name })
	switch {
	case i < 0:
		*list = append(*list, x)
	case (*list)[i].Ms < x.Ms:
		(*list)[i] = x
	}
	return nil
}

// stepMs is a step as it ran, or if none ran as always, as it was profiled.
func (m *Measured) stepMs() float64 {
	if m.StepMs > 0 {
		return m.StepMs
	}
	return m.ProfiledMs
}

// shareOf says what part of a step's time a roofline predicts.
func shareOf(r *explain.Roofline, ms float64) string {
	if r == nil || ms <= 0 {
		return ""
	}
	return ", of which the roofline predicts " + percent(r.StepMs/ms)
}

// multiple says whether work is that of so many launches, which a profile may have as one.
func multiple(n, of int64) bool { return n == of || of > 0 && n > 0 && n%of == 0 }

// roofOf is nil where the ceilings are not known. Of the dtypes that a device multiplies, those of the plan's products
// count.
func roofOf(plan *program.Plan, r *profile.Rank) *MeasuredRoof {
	c := &r.Ceilings
	out := &MeasuredRoof{Device: c.Device, Bandwidth: 1e9 * c.Bandwidth(), Flops: 1e9 * max(c.Flops, c.Dot)}
	for i, a := range c.Arithmetic {
		if i == 0 || slices.ContainsFunc(plan.Kernels, func(k program.Kernel) bool { return k.Factors == a.DType }) {
			out.Flops = max(out.Flops, 1e9*a.GFlops)
		}
	}
	if out.Device == "" {
		out.Device = "the machine of the run, measured"
	}
	if out.Bandwidth <= 0 || out.Flops <= 0 {
		return nil
	}
	return out
}
