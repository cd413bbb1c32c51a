package forecast

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/foresight/machine"
	"ptc/foresight/sim"
	"ptc/internal/units"
	"ptc/runtime/program"
	"ptc/runtime/report"
)

// Report is the forecast as a report shows it. The job is that of the forecast, which is simulated once more for its timeline.
func (f *Forecast) Report(p *program.Plan, c *machine.Cluster, job *sim.Job, how sim.How) (*report.Forecast, error) {
	timing, err := f.timing(p, job, how)
	if err != nil {
		return nil, err
	}
	out := &report.Forecast{
		Machine: f.Machine, StepS: f.StepS, Step: seconds(f.StepS), Figures: f.figures(),
		Fits: f.Fits, Memory: units.Bytes(f.Memory.Bytes) + " of " + units.Bytes(f.Capacity), Advice: append([]string{}, f.Advice...),
		Causes: f.waterfall(), Bound: f.Bound.report(), Places: []report.ForecastPlace{}, Timing: timing, Roof: roofOf(c),
	}
	for i := range f.Where {
		out.Places = append(out.Places, f.Where[i].report())
	}
	return out, nil
}

func (p *Place) report() report.ForecastPlace {
	return report.ForecastPlace{Cause: p.Cause, What: p.What, Source: p.Source, Limit: p.Limit, Time: seconds(p.Time), Share: p.Share}
}

// figures are those of the forecast in words.
func (f *Forecast) figures() []report.Figure {
	out := []report.Figure{
		{Name: "step", Value: seconds(f.StepS)}, {Name: "MFU", Value: percent(f.MFU)}, {Name: "HFU", Value: percent(f.HFU)},
	}
	add := func(name string, value float64, format string, args ...any) {
		if value > 0 {
			out = append(out, report.Figure{Name: name, Value: fmt.Sprintf(format, args...)})
		}
	}
	add("tokens/s", f.Tokens, "%s", units.Count(f.Tokens, ""))
	if p := f.Per; p != nil {
		add("days per 10⁹ tokens", p.Days, "%.3g", p.Days)
		add("USD per 10⁹ tokens", p.USD, "%.3g", p.USD)
		add("kWh per 10⁹ tokens", p.KWh, "%.3g", p.KWh)
	}
	if g := f.Goodput; g != nil {
		add("goodput", g.Share, "%s", percent(g.Share))
	}
	return out
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// kinds are the kinds of causes in the order of the waterfall: work, communication, then waits.
var kinds = []string{"compute", "comm", "copy", "bubble", "wait", "host"}

// waterfall is the causes that take time: by kind, and of one kind the longest first.
func (f *Forecast) waterfall() []report.ForecastCause {
	out, begin := []report.ForecastCause{}, 0.0
	for _, kind := range kinds {
		for _, name := range f.longest() {
			if of, _, _ := strings.Cut(name, "."); of != kind || f.Causes[name] <= 0 {
				continue
			}
			part := share(f.Causes[name], f.StepS)
			out = append(out, report.ForecastCause{Name: name, Kind: kind, Time: seconds(f.Causes[name]), Begin: begin, Share: part})
			begin += part
		}
	}
	return out
}

// roofOf is what a device of the machine does at most; the first rate is that of f32.
func roofOf(c *machine.Cluster) *program.Roof {
	d := &c.Device
	first := d.Peak["f32"].Value
	if first <= 0 {
		first = d.Vector["f32"].Value
	}
	out := &program.Roof{Device: c.Title, Bytes: d.Bandwidth.Value, Rates: []program.Rate{{DType: "f32", Flops: first}}}
	for _, dtype := range slices.Sorted(maps.Keys(d.Peak)) {
		if dtype != "f32" {
			out.Rates = append(out.Rates, program.Rate{DType: dtype, Flops: d.Peak[dtype].Value})
		}
	}
	return out
}
