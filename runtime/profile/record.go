package profile

import (
	"cmp"
	"slices"
	"time"

	"ptc/internal/collective"
	"ptc/runtime/exec"
	"ptc/runtime/program"
)

// Recorder takes the spans of steps.
type Recorder struct {
	plan     *program.Plan
	ceilings Ceilings // of each device of this process
	warmUp   int
	plain    []float64 // times of steps that ran as always, in nanoseconds
	profiled []float64
	devices  map[int]*device // by rank
}

// device is what is known of one device.
type device struct {
	prog    *program.Device
	kernels []program.Kernel
	on      string
	calls   map[int]*call // by instruction
	sums    []sums        // by step
}

// call is an instruction and its times, by step.
type call struct {
	span exec.Span
	work Work
	ns   []float64
}

// sums of a step, in nanoseconds.
type sums struct{ all, kernels, comm, waits float64 }

// New starts a record of a plan with every run written out, of which this process
// has so many devices.
func New(plan *program.Plan, devices int, c Ceilings) *Recorder {
	r := &Recorder{plan: plan, ceilings: c.of(max(1, devices)), devices: map[int]*device{}}
	for i := range plan.Devices {
		for _, rank := range plan.RanksOf(&plan.Devices[i]) {
			r.devices[rank] = &device{prog: &plan.Devices[i], kernels: plan.Kernels, calls: map[int]*call{}}
		}
	}
	return r
}

// On says what a device runs on.
func (r *Recorder) On(rank int, name string) { r.devices[rank].on = name }

// WarmUp counts a step that is left out.
func (r *Recorder) WarmUp() { r.warmUp++ }

// Plain takes the time of a step that ran as always.
func (r *Recorder) Plain(d time.Duration) { r.plain = append(r.plain, float64(d)) }

// Step takes the spans of a step, which took so long.
func (r *Recorder) Step(spans []exec.Span, d time.Duration) {
	r.profiled = append(r.profiled, float64(d))
	for from := 0; from < len(spans); {
		to := from
		for to < len(spans) && spans[to].Rank == spans[from].Rank {
			to++
		}
		r.devices[spans[from].Rank].step(spans[from:to])
		from = to
	}
}

// step takes the spans of a device.
func (d *device) step(spans []exec.Span) {
	s := sums{all: float64(spans[len(spans)-1].End.Sub(spans[0].Start))}
	for i := range spans {
		ns := float64(spans[i].End.Sub(spans[i].Start))
		switch c := spans[i].In.Comm; {
		case c == nil:
			s.kernels += ns
		case c.Kind == collective.Done:
			s.waits += ns
		default:
			s.comm += ns
		}
		x := d.calls[spans[i].Instr]
		if x == nil {
			x = &call{span: spans[i], work: d.work(&spans[i])}
			d.calls[spans[i].Instr] = x
		}
		x.ns = append(x.ns, ns)
	}
	d.sums = append(d.sums, s)
}

// work is what a span's launch does.
func (d *device) work(s *exec.Span) Work {
	w := Work{Flops: s.Flops, Bytes: s.Bytes, Comm: s.In.Comm != nil}
	if k := s.In.Kernel; !w.Comm && k < len(d.kernels) {
		w.Factors = d.kernels[k].Factors
	}
	if s.Class == "gemm" || s.Class == "horizontal" { // which may be of products
		for _, b := range s.In.Bufs {
			w.Dot = w.Dot || d.prog.Buffers[b].DType == "bf16"
		}
	}
	return w
}

// Rates are those of one span, for a trace.
func (r *Recorder) Rates(s *exec.Span) Rates {
	d := r.devices[s.Rank]
	return r.ceilings.Rates(d.work(s), float64(s.End.Sub(s.Start)))
}

// Report is the profile of what was taken; nil before the first step.
func (r *Recorder) Report() *Report {
	if len(r.profiled) == 0 {
		return nil
	}
	p := r.plan
	out := &Report{Version: Version, Model: p.Name, Layout: p.Layout, Target: p.Target, Steps: len(r.profiled), WarmUp: r.warmUp,
		ProfiledMs: median(r.profiled) / 1e6, StepMs: median(r.plain) / 1e6, Ranks: []Rank{}}
	for rank := range p.Mesh.Ranks() {
		if d := r.devices[rank]; len(d.sums) > 0 {
			out.Ranks = append(out.Ranks, d.report(rank, r.ceilings))
		}
	}
	return out
}

func (d *device) report(rank int, c Ceilings) Rank {
	of := func(f func(sums) float64) float64 {
		var list []float64
		for _, s := range d.sums {
			list = append(list, f(s))
		}
		return median(list) / 1e6
	}
	out := Rank{Rank: rank, On: d.on, Ceilings: c, Kernels: []Kernel{},
		StepMs:   of(func(s sums) float64 { return s.all }),
		KernelMs: of(func(s sums) float64 { return s.kernels }),
		CommMs:   of(func(s sums) float64 { return s.comm }),
		WaitMs:   of(func(s sums) float64 { return s.waits }),
		GapMs:    of(func(s sums) float64 { return s.all - s.kernels - s.comm - s.waits }),
	}
	type key struct{ name, class string }
	groups := map[key][]*call{}
	var keys []key
	for _, i := range sorted(d.calls) {
		x := d.calls[i]
		if x.work.Comm {
			out.Communications++
		} else {
			out.Launches++
			out.Flops += x.work.Flops
			out.Bytes += x.work.Bytes
		}
		k := key{x.span.Kernel, x.span.Class}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], x)
	}
	for _, k := range keys {
		out.Kernels = append(out.Kernels, group(groups[k], out.StepMs, c))
	}
	slices.SortStableFunc(out.Kernels, func(a, b Kernel) int { return cmp.Compare(b.Ms, a.Ms) })
	return out
}

func sorted(calls map[int]*call) []int {
	var list []int
	for i := range calls {
		list = append(list, i)
	}
	slices.Sort(list)
	return list
}

// group is a kernel function of its calls. A step in which one was left out, since
// it ended before, counts for the others.
func group(calls []*call, stepMs float64, c Ceilings) Kernel {
	first := calls[0]
	k := Kernel{Name: first.span.Kernel, Class: first.span.Class, Launches: len(calls), Flops: first.work.Flops, Bytes: first.work.Bytes,
		Module: first.span.In.Scope, Source: first.span.In.Pos, Calls: []Call{}}
	total, n := Work{Comm: first.work.Comm, Dot: first.work.Dot, Factors: first.work.Factors}, 0
	for _, x := range calls {
		n = max(n, len(x.ns))
		total.Flops += x.work.Flops
		total.Bytes += x.work.Bytes
		ns := median(x.ns)
		k.Calls = append(k.Calls, Call{Instruction: x.span.Instr, Module: x.span.In.Scope, Source: x.span.In.Pos, Ms: ns / 1e6, Rates: c.Rates(x.work, ns)})
	}
	steps := make([]float64, n)
	for _, x := range calls {
		for i, ns := range x.ns {
			steps[i] += ns
		}
	}
	ns := median(steps)
	k.Ms, k.Rates = ns/1e6, c.Rates(total, ns)
	if stepMs > 0 {
		k.Share = k.Ms / stepMs
	}
	return k
}

// median is the middle of the list, 0 of none.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}
