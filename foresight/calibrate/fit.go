package calibrate

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"ptc/foresight/cost"
	"ptc/foresight/machine"
)

// fitting finds the rates of a machine by which the model of kernels comes nearest to what was measured.
type fitting struct {
	m     *machine.Machine
	rates []rate
	all   []launched
}

// rate is a number of the machine that is fitted.
type rate struct {
	name string
	of   *machine.Sourced
	keep func(machine.Sourced) // writes an element of a map
}

// anchor holds a rate that kernels hardly depend on near where it was: the weight of the square of its logarithm's change.
const anchor = 1e-3

// fit changes the rates of m: of products by dtype, of other arithmetic, of memory and caches, and of attention.
func fit(m *machine.Machine, all []launched) error {
	f := &fitting{m: m, all: all}
	d := &m.Device
	for _, t := range sorted(d.Peak) {
		v := machine.Sourced{Value: d.Peak[t].Value * d.Share[t].Value, Source: d.Share[t].Source}
		f.rates = append(f.rates, rate{name: t, of: &v, keep: func(s machine.Sourced) {
			s.Value /= d.Peak[t].Value
			d.Share[t] = s
		}})
	}
	vector := d.Vector["f32"]
	f.rates = append(f.rates,
		rate{name: "vector", of: &vector, keep: func(s machine.Sourced) { d.Vector["f32"] = s }},
		rate{name: "bandwidth", of: &d.Bandwidth}, rate{name: "cache", of: &d.CacheRate})
	for _, t := range sorted(d.Attention) {
		v := d.Attention[t]
		f.rates = append(f.rates, rate{name: "attention " + t, of: &v, keep: func(s machine.Sourced) { d.Attention[t] = s }})
	}
	f.rates = slices.DeleteFunc(f.rates, func(r rate) bool { return !f.depends(r) })
	start := make([]float64, len(f.rates))
	for i, r := range f.rates {
		start[i] = math.Log(r.of.Value)
	}
	problem := optimize.Problem{Func: func(x []float64) float64 { return f.loss(x, start) }}
	r, err := optimize.Minimize(problem, start, &optimize.Settings{FuncEvaluations: 6000, MajorIterations: 6000}, &optimize.NelderMead{})
	if r == nil {
		return fmt.Errorf("fitting the rates of the processor: %w", err)
	}
	f.set(r.X)
	return nil
}

// depends reports whether the time of a launch depends on a rate: one without keeps its value.
func (f *fitting) depends(r rate) bool {
	times := func() (out []machine.PS) {
		model := modelOf(f.m)
		for i := range f.all {
			t, _ := model.Kernel(f.all[i].parts)
			out = append(out, t)
		}
		return out
	}
	before, value := times(), r.of.Value
	r.set(value / 2)
	after := times()
	r.set(value)
	return !slices.Equal(before, after)
}

// set gives the machine a rate.
func (r *rate) set(v float64) {
	r.of.Value = v
	if r.keep != nil {
		r.keep(*r.of)
	}
}

// set gives the machine rates, whose logarithms are x.
func (f *fitting) set(x []float64) {
	for i, r := range f.rates {
		r.set(math.Exp(x[i]))
	}
}

// loss is the sum of the deviations of launches, by the square root of the part that each has of its step.
func (f *fitting) loss(x, start []float64) float64 {
	f.set(x)
	model, sum, weights := modelOf(f.m), 0.0, 0.0
	for i := range f.all {
		l := &f.all[i]
		w := math.Sqrt(l.share)
		sum += w * math.Abs(math.Log(l.predicted(model)/l.seconds))
		weights += w
	}
	sum /= max(weights, 1e-9)
	for i := range x {
		sum += anchor * (x[i] - start[i]) * (x[i] - start[i])
	}
	return sum
}

// predicted is the time of a launch by the model.
func (l *launched) predicted(model *cost.Model) float64 {
	t, _ := model.Kernel(l.parts)
	return (t*machine.PS(l.instances) + model.Launch()).Seconds()
}

// modelOf is the model of one device.
func modelOf(m *machine.Machine) *cost.Model {
	return cost.New(&machine.Cluster{Machine: m, Sizes: []int{1}}, cost.Software{})
}

// table is the time of each part of the kernels, on all processors, by its key. A launch of several is divided as the model
// divides it.
func table(m *machine.Machine, all []launched) map[string]float64 {
	model := modelOf(m)
	lists := map[string][]float64{}
	for i := range all {
		l := &all[i]
		whole, _ := model.Kernel(l.parts)
		for j := range l.parts {
			part, _ := model.Kernel(l.parts[j : j+1])
			t := max(l.seconds-model.Launch().Seconds(), 0) / float64(l.instances)
			if len(l.parts) > 1 && whole > 0 {
				t *= float64(part) / float64(whole)
			}
			lists[l.parts[j].Key] = append(lists[l.parts[j].Key], t)
		}
	}
	out := map[string]float64{}
	for key, list := range lists {
		slices.Sort(list)
		out[key] = list[len(list)/2]
	}
	return out
}
