package forecast

import (
	"fmt"
	"strings"

	"ptc/foresight/cost"
	"ptc/foresight/machine"
	"ptc/foresight/sim"
	"ptc/foresight/stack"
	"ptc/runtime/program"
)

// Version is that of the JSON form of a Forecast. Fields may be added within a version; none changes its name or
// meaning.
const Version = 1

// Forecast is what a training step of a plan takes on a cluster.
type Forecast struct {
	Version int    `json:"version"`
	Model   string `json:"model"`
	Layout  string `json:"layout"`
	Machine string `json:"machine"`
	Stack   string `json:"stack,omitempty"`
	Hash    string `json:"machine_sha256"`
	Devices int    `json:"devices"`        // of the plan
	Idle    int    `json:"unused_devices"` // that the cluster has besides

	// StepPS is the simulated step. StepS is that times the scalar of the stack, and so are the times by cause; Unscaled is
	// without it.
	StepPS   int64   `json:"step_ps"`
	StepS    float64 `json:"step_s"`
	Unscaled float64 `json:"step_s_without_scalar"`
	// MFU is the share of the devices' peak that the mathematics of the model takes; HFU counts rematerialized
	// operations too. Peak is that of the dtype that most of the work is in.
	MFU    float64 `json:"mfu"`
	HFU    float64 `json:"hfu"`
	Tokens float64 `json:"tokens_per_s"`
	// Causes are seconds of the class of devices that ends last; they add up to the step.
	Causes map[string]float64 `json:"time_by_cause"`
	Where  []Place            `json:"where"`
	Bound  Place              `json:"bound"`  // what takes the most of the step
	Class  int                `json:"device"` // a rank of that class
	// Classes is how many classes of devices were simulated.
	Classes int `json:"device_classes"`

	Memory
	Per     *Per        `json:"per_1e9_tokens,omitempty"`
	Goodput *Resilience `json:"goodput,omitempty"`
	// Sensitivity is nil unless it was asked for.
	Sensitivity []Change `json:"sensitivity,omitempty"`
}

// Place is time that has one cause and comes from one place in the source.
type Place struct {
	Cause  string  `json:"cause"`
	What   string  `json:"what,omitempty"`   // the kernel with the most of it, or the kind of exchange
	Source string  `json:"source,omitempty"` // "gpt.ptl:63:9", or the rule that asked for an exchange
	Limit  string  `json:"limit,omitempty"`  // of a kernel: compute, memory, launch
	Time   float64 `json:"seconds"`          // of exchanges, with the part that other work hides
	Share  float64 `json:"share"`            // of the step
}

// Per is what training on 10⁹ tokens takes. What the machine's file does not give is left out.
type Per struct {
	Days float64 `json:"days"`
	USD  float64 `json:"usd,omitempty"`
	KWh  float64 `json:"kwh,omitempty"`
}

// Options say what is assumed.
type Options struct {
	Sim         sim.Options
	How         sim.How
	Sensitivity bool
	Restart     float64      // seconds from a failure until training goes on from the last checkpoint
	Stack       *stack.Stack // that executes the plan; nil: ptc
}

// Of simulates a step of a plan on a cluster, and returns the job that it simulated too. The error says why the plan cannot
// run there; that memory is short is no error.
func Of(p *program.Plan, c *machine.Cluster, o Options) (*Forecast, *sim.Job, error) {
	if o.Stack != nil {
		slow := o.Sim.Slow
		o.Sim = Simulated(o.Stack)
		o.Sim.Slow = slow
	}
	x := &subject{plan: p, options: o}
	m := cost.New(c, Software(o.Stack))
	var err error
	if x.work, err = sim.WorkOf(p, m); err != nil {
		return nil, nil, err
	}
	job, r, err := x.run(m, o.Sim)
	if err != nil {
		return nil, nil, err
	}
	devices := p.Mesh.Ranks()
	f := &Forecast{
		Version: Version, Model: p.Name, Layout: p.Layout, Machine: Spec(c), Hash: c.Hash, Devices: devices, Idle: c.Devices() - devices,
		StepPS: int64(r.Step), Causes: map[string]float64{}, Class: job.Classes[r.Last].Rank, Classes: len(job.Classes),
		Memory: memoryOf(p, c, o.Stack),
	}
	for _, name := range []string{"wait", "bubble", "copy", "host"} {
		f.Causes[name] = 0
	}
	scalar := 1.0
	if o.Stack != nil {
		f.Stack = o.Stack.Name
		scalar = o.Stack.Scalar.Of(1)
	}
	f.StepS, f.Unscaled = r.Step.Seconds()*scalar, r.Step.Seconds()
	for _, x := range r.ByCause {
		f.Causes[x.Name] = x.Time.Seconds() * scalar
	}
	f.utilization(p, m, x.work)
	f.places(job, r)
	if f.StepS > 0 && p.Stats.TokensPerStep > 0 {
		f.Tokens = float64(p.Stats.TokensPerStep) / f.StepS
		f.Per = perTokens(f.Tokens, devices, c)
	}
	f.Goodput = resilience(p, c, o.Restart)
	if o.Sensitivity {
		f.Sensitivity, err = x.sensitivity(c, job, r)
	}
	return f, job, err
}

// Simulated is how the simulator executes a plan as a stack does.
func Simulated(s *stack.Stack) sim.Options {
	return sim.Options{
		Blocking: s.SendsWait, Narrow: s.Narrow, NarrowGradients: s.NarrowGradients, Autograd: s.Autograd, Again: s.Again,
		FlatGradients: s.FlatGradients, UpdateAtOnce: s.UpdateAtOnce,
	}
}

// Software is what a stack adds to a machine; nil is ptc itself.
func Software(s *stack.Stack) (w cost.Software) {
	if s != nil {
		w = cost.Software{
			Products: s.Products.Of(1), Sweeps: s.Sweeps.Of(1), Unaligned: s.Unaligned.Of(1),
			Library: s.Library, ProductStart: s.ProductStart.Of(0), HostLaunch: s.HostLaunch,
			HostKernel: s.HostKernel.Of(0), HostBackward: s.HostBackward.Of(0),
		}
	}
	return w
}

// subject is a plan that is simulated on several machines.
type subject struct {
	plan    *program.Plan
	options Options
	work    sim.Work
}

func (x *subject) run(m *cost.Model, o sim.Options) (*sim.Job, *sim.Result, error) {
	job, err := sim.New(x.plan, x.work, m, o)
	if err != nil {
		return nil, nil, err
	}
	r, err := sim.Run(job, x.options.How)
	return job, r, err
}

// utilization fills in MFU and HFU.
func (f *Forecast) utilization(p *program.Plan, m *cost.Model, work sim.Work) {
	peak := m.Device.Peak[dominant(p, work)].Value
	if peak <= 0 {
		peak = m.Device.Vector["f32"].Value
	}
	if all := float64(peak * float64(f.Devices) * f.StepS); all > 0 {
		f.HFU = p.Stats.FlopsPerStep / all
		f.MFU = f.HFU
		if p.Stats.ModelFlops > 0 {
			f.MFU = p.Stats.ModelFlops / all
		}
	}
}

// dominant is the dtype of the factors of most of the products' work, each kernel of the plan once.
func dominant(p *program.Plan, work sim.Work) string {
	sums, best := map[string]int64{}, ""
	for i := range work {
		for _, x := range work[i] {
			if x.DType == "" {
				continue
			}
			if sums[x.DType] += x.Flops; best == "" || sums[x.DType] > sums[best] {
				best = x.DType
			}
		}
	}
	return best
}

// shownPlaces is how many places a Forecast lists.
const shownPlaces = 24

// places fills in where the time goes, and what bounds the step: the largest cause, with the place that has the most of it.
func (f *Forecast) places(job *sim.Job, r *sim.Result) {
	for _, l := range job.Classes[r.Last].Lines {
		if len(f.Where) < shownPlaces && l.Time > 0 {
			f.Where = append(f.Where, f.place(l))
		}
	}
	if len(r.ByCause) == 0 {
		return
	}
	f.Bound = Place{Cause: r.ByCause[0].Name, Time: r.ByCause[0].Time.Seconds(), Share: share(r.ByCause[0].Time.Seconds(), f.StepS)}
	for _, l := range job.Classes[r.Last].Lines {
		if l.Cause == f.Bound.Cause {
			f.Bound.What, f.Bound.Source, f.Bound.Limit = l.Kernel, l.Pos, string(l.Bound)
			return
		}
	}
	if f.Bound.Cause == "bubble" {
		f.Bound.Source = ruleOf(job, r)
	}
}

// ruleOf is the rule of the layout that sends messages between stages.
func ruleOf(job *sim.Job, r *sim.Result) string {
	for _, l := range job.Classes[r.Last].Lines {
		if l.Kernel == "send" || l.Kernel == "recv" {
			return l.Pos
		}
	}
	return ""
}

func (f *Forecast) place(l sim.Line) Place {
	return Place{Cause: l.Cause, What: l.Kernel, Source: l.Pos, Limit: string(l.Bound), Time: l.Time.Seconds(), Share: share(l.Time.Seconds(), f.StepS)}
}

func share(part, all float64) float64 {
	if all <= 0 {
		return 0
	}
	return part / all
}

// perTokens is what 10⁹ tokens take.
func perTokens(rate float64, devices int, c *machine.Cluster) *Per {
	seconds := 1e9 / rate
	p := &Per{Days: seconds / 86400}
	if c.Price.Given() {
		p.USD = float64(c.Price.Value*float64(devices)) * seconds
	}
	if c.Power.Given() {
		p.KWh = float64(c.Power.Value*float64(devices)) * seconds / 3.6e6
	}
	return p
}

// Spec is how a cluster is called: h100:128x8.
func Spec(c *machine.Cluster) string {
	var sizes []string
	for i := len(c.Sizes) - 1; i >= 0; i-- {
		if c.Sizes[i] > 1 || len(sizes) > 0 {
			sizes = append(sizes, fmt.Sprint(c.Sizes[i]))
		}
	}
	if len(sizes) == 0 {
		return c.Name
	}
	return c.Name + ":" + strings.Join(sizes, "x")
}
