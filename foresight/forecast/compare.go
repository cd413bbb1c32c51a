package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ptc/foresight/machine"
	"ptc/foresight/sim"
	"ptc/runtime/profile"
	"ptc/runtime/program"
)

// Comparison is what a run of the plan measured beside what the forecast predicts. Times are in milliseconds of a step.
type Comparison struct {
	Machine   string  `json:"machine"`
	Hash      string  `json:"machine_sha256"`
	Predicted float64 `json:"predicted_step_ms"`
	Measured  float64 `json:"measured_step_ms"` // the median
	Ratio     float64 `json:"ratio"`            // measured to predicted
	// Rank is the device that Kernels are of: with a profile, the one that computes the longest.
	Rank    int           `json:"rank"`
	Kernels []KernelTimes `json:"kernels,omitempty"` // the longest first
}

// KernelTimes is the time of a kernel's launches in a step.
type KernelTimes struct {
	Kernel    string  `json:"kernel"`
	Class     string  `json:"class"`
	Launches  int     `json:"launches_per_step"`
	Predicted float64 `json:"predicted_ms"`
	Measured  float64 `json:"measured_ms"`
	Ratio     float64 `json:"ratio"`
}

// Compare puts the forecast of a plan beside the times of a run's steps, in milliseconds, and beside its profile, which may
// be nil. It is nil if no step was measured.
func (f *Forecast) Compare(p *program.Plan, job *sim.Job, steps []float64, measured *profile.Report) *Comparison {
	c := &Comparison{Machine: f.Machine, Hash: f.Hash, Predicted: 1e3 * f.StepS, Measured: median(steps)}
	if measured != nil && measured.StepMs > 0 {
		c.Measured = measured.StepMs // profiled steps take longer
	}
	if c.Measured <= 0 {
		return nil
	}
	c.Ratio = share(c.Measured, c.Predicted)
	if measured != nil && len(measured.Ranks) > 0 {
		most := slices.MaxFunc(measured.Ranks, func(a, b profile.Rank) int { return cmp.Compare(a.KernelMs, b.KernelMs) })
		c.Rank = most.Rank
		c.kernels(p, job, most.Kernels)
	}
	return c
}

// kernels puts the kernels of a profile beside those of the simulation.
func (c *Comparison) kernels(p *program.Plan, job *sim.Job, measured []profile.Kernel) {
	number := map[string]int{}
	for i := range p.Kernels {
		number[p.Kernels[i].Name] = i
	}
	for i := range measured {
		k := &measured[i]
		n, ok := number[k.Name]
		if !ok {
			continue // a communication
		}
		t := job.Kernels[n]
		each := t.Time*instances(k, &p.Kernels[n]) + t.Launch
		x := KernelTimes{Kernel: k.Name, Class: k.Class, Launches: k.Launches, Measured: k.Ms, Predicted: 1e3 * (each * machine.PS(k.Launches)).Seconds()}
		x.Ratio = share(x.Measured, x.Predicted)
		c.Kernels = append(c.Kernels, x)
	}
}

// instances is how many instances of a kernel a launch computes, by its work.
func instances(k *profile.Kernel, of *program.Kernel) machine.PS {
	switch {
	case of.Flops > 0:
		return machine.PS(max(k.Flops/of.Flops, 1))
	case of.Bytes > 0:
		return machine.PS(max(k.Bytes/of.Bytes, 1))
	}
	return 1
}

// shownKernels is how many kernels the text lists.
const shownKernels = 24

// Text is the comparison for people.
func (c *Comparison) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nForecast on %s\n  a step takes %s (median); %s were predicted: it takes %.2f times as long\n", c.Machine, seconds(c.Measured/1e3), seconds(c.Predicted/1e3), c.Ratio)
	if len(c.Kernels) == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "\n  Kernels of rank %d, times of a step\n  %10s  %10s  %6s  %8s  %-10s %s\n", c.Rank, "measured", "predicted", "ratio", "launches", "class", "kernel")
	for _, k := range c.Kernels[:min(len(c.Kernels), shownKernels)] {
		fmt.Fprintf(&b, "  %10s  %10s  %6.2f  %8d  %-10s %s\n", seconds(k.Measured/1e3), seconds(k.Predicted/1e3), k.Ratio, k.Launches, k.Class, k.Kernel)
	}
	if n := len(c.Kernels) - shownKernels; n > 0 {
		fmt.Fprintf(&b, "  … and %d more\n", n)
	}
	return b.String()
}

// median is 0 of nothing.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
