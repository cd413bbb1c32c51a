package forecast

import (
	"fmt"
	"maps"
	"slices"

	"ptc/foresight/cost"
	"ptc/foresight/machine"
	"ptc/foresight/sim"
)

// Change is how a step changes when one number of the machine does.
type Change struct {
	Rate   string  `json:"rate"`   // "device peak bf16", "node link", "one device"
	Factor float64 `json:"factor"` // of the number; of one device, how many times as long its kernels take
	StepS  float64 `json:"step_s"`
	Change float64 `json:"change"` // of the step, as a share of it
}

// The factors of a rate, and of the time of a slow device.
var (
	factors   = []float64{0.5, 0.9, 1.1}
	straggler = 1.1
)

// sensitivity simulates the step with each number of the machine changed, and each of the stack.
func (x *subject) sensitivity(c *machine.Cluster, job *sim.Job, base *sim.Result) (out []Change, err error) {
	add := func(name string, factor float64, m *cost.Model, o sim.Options) error {
		_, r, err := x.run(m, o)
		if err != nil {
			return err
		}
		out = append(out, Change{name, factor, r.Step.Seconds(), share(r.Step.Seconds()-base.Step.Seconds(), base.Step.Seconds())})
		return nil
	}
	for _, k := range knobs(c.Machine, dominant(x.plan, x.work)) {
		for _, f := range factors {
			m := k.times(c, f)
			if err := add(k.name, f, cost.New(m, Software(x.options.Stack)), x.options.Sim); err != nil {
				return nil, err
			}
		}
	}
	for _, k := range numbers {
		for _, f := range factors {
			w := Software(x.options.Stack)
			if n := k.of(&w); *n > 0 {
				*n = float64(*n * f)
				if err := add(k.name, f, cost.New(c, w), x.options.Sim); err != nil {
					return nil, err
				}
			}
		}
	}
	slow := x.options.Sim
	slow.Slow = map[int]float64{job.Classes[base.Last].Rank: straggler}
	maps.Copy(slow.Slow, x.options.Sim.Slow)
	return out, add("one device", straggler, cost.New(c, Software(x.options.Stack)), slow)
}

// numbers are those of a stack that are changed, and 0 without a stack.
var numbers = []struct {
	name string
	of   func(w *cost.Software) *float64
}{
	{"stack products", func(w *cost.Software) *float64 { return &w.Products }},
	{"stack product_start", func(w *cost.Software) *float64 { return &w.ProductStart }},
	{"stack sweeps", func(w *cost.Software) *float64 { return &w.Sweeps }},
	{"stack unaligned_products", func(w *cost.Software) *float64 { return &w.Unaligned }},
	{"stack host_kernel", func(w *cost.Software) *float64 { return &w.HostKernel }},
	{"stack host_backward", func(w *cost.Software) *float64 { return &w.HostBackward }},
}

// knob is a number of a machine that is changed.
type knob struct {
	name string
	of   func(m *machine.Machine, change func(machine.Sourced) machine.Sourced)
}

// times is a cluster with the number times a factor.
func (k *knob) times(c *machine.Cluster, factor float64) *machine.Cluster {
	m := copied(c)
	k.of(m.Machine, func(s machine.Sourced) machine.Sourced {
		s.Value = float64(s.Value * factor)
		return s
	})
	return m
}

// knobs are the rates that a step may depend on.
func knobs(m *machine.Machine, dtype string) []knob {
	type change = func(machine.Sourced) machine.Sourced
	out := []knob{
		{"device peak " + dtype, func(m *machine.Machine, f change) { m.Device.Peak[dtype] = f(m.Device.Peak[dtype]) }},
		{"device bandwidth", func(m *machine.Machine, f change) { m.Device.Bandwidth = f(m.Device.Bandwidth) }},
		{"device launch", func(m *machine.Machine, f change) { m.Device.Launch = f(m.Device.Launch) }},
	}
	if _, ok := m.Device.Peak[dtype]; !ok {
		out[0] = knob{"device vector f32", func(m *machine.Machine, f change) { m.Device.Vector["f32"] = f(m.Device.Vector["f32"]) }}
	}
	for l := range m.Levels {
		out = append(out,
			knob{fmt.Sprintf("%s link", m.Levels[l].Name), func(m *machine.Machine, f change) { m.Levels[l].Link = f(m.Levels[l].Link) }},
			knob{fmt.Sprintf("%s latency", m.Levels[l].Name), func(m *machine.Machine, f change) {
				for p, s := range m.Levels[l].Latency {
					m.Levels[l].Latency[p] = f(s)
				}
			}})
	}
	return append(out, knob{"host link", func(m *machine.Machine, f change) { m.Host.Link = f(m.Host.Link) }})
}

// copied is a cluster whose numbers can be changed.
func copied(c *machine.Cluster) *machine.Cluster {
	m := *c.Machine
	m.Device.Peak, m.Device.Vector, m.Levels = maps.Clone(m.Device.Peak), maps.Clone(m.Device.Vector), slices.Clone(m.Levels)
	for l := range m.Levels {
		m.Levels[l].Latency = maps.Clone(m.Levels[l].Latency)
	}
	return &machine.Cluster{Machine: &m, Sizes: c.Sizes}
}

// Variant is a cluster with one number changed.
type Variant struct {
	Rate    string
	Factor  float64
	Cluster *machine.Cluster
}

// Varied are clusters with each number of the machine times each of the factors. DTypes are those of products, the one with the
// highest peak counts.
func Varied(c *machine.Cluster, dtypes []string, factors ...float64) (out []Variant) {
	best := ""
	for _, d := range dtypes {
		if best == "" || c.Device.Peak[d].Value > c.Device.Peak[best].Value {
			best = d
		}
	}
	for _, k := range knobs(c.Machine, best) {
		for _, f := range factors {
			out = append(out, Variant{k.name, f, k.times(c, f)})
		}
	}
	return out
}
