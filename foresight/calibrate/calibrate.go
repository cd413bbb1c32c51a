package calibrate

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/compiler"
	"ptc/compiler/ceilings"
	"ptc/foresight/machine"
	"ptc/internal/units"
	"ptc/runtime/device/host"
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// Options of a calibration.
type Options struct {
	Name    string          // of the machine
	Threads int             // at least 1
	Seconds float64         // for each program that is measured, about
	Note    string          // added to each source, such as the date; may be empty
	Plans   []*program.Plan // of one device each, whose kernels are measured as well
	Bytes   int64           // of the arrays of [ceilings.Measure]; 0: larger than any cache
	// Done, if not nil, is called after each program.
	Done func(name string, kernels int)
}

// Result is a calibrated machine.
type Result struct {
	Machine *machine.Machine
	Text    string // of the file
	Kernels int    // that were measured
	// Deviation is the median of by how much the fitted model is off the measured time of a launch, as a share, each launch
	// counted by its time.
	Deviation float64
}

//go:embed program.ptl
var source []byte

// The layouts of the program that is always measured.
var layouts = []string{"f32", "bf16"}

// Host measures the processors of this host, and describes them.
func Host(ctx context.Context, o Options) (*Result, error) {
	m, err := Measure(ctx, o)
	if err != nil {
		return nil, err
	}
	return m.Machine(func(int) bool { return true })
}

// Measurement is what was measured of this host and of some programs.
type Measurement struct {
	o         Options
	memory    float64 // bytes
	ceilings  *ceilings.Report
	exchanges *exchanges
	own       []launched   // of ptc's own program
	plans     [][]launched // of Options.Plans
}

// Measure measures the processors of this host. The error says where libLLVM is missing, or why a plan cannot be run.
func Measure(ctx context.Context, o Options) (*Measurement, error) {
	if o.Threads < 1 || !(o.Seconds > 0) {
		return nil, fmt.Errorf("%d threads, %g seconds", o.Threads, o.Seconds)
	}
	memory, ok := host.Total()
	if !ok {
		return nil, errors.New("the system does not say how much memory it has")
	}
	m := &Measurement{o: o, memory: float64(memory)}
	var err error
	if m.ceilings, err = ceilings.Measure(ceilings.Options{Threads: o.Threads, Bytes: o.Bytes}); err != nil {
		return nil, err
	}
	if m.exchanges, err = measureExchanges(max(2, o.Threads)); err != nil {
		return nil, err
	}
	for _, layout := range layouts {
		p, _, err := compiler.Compile(compiler.Options{File: "program.ptl", Source: source, Layout: layout, Target: "cpu"})
		if err != nil {
			return nil, fmt.Errorf("compiling the program to measure: %w", err)
		}
		list, err := m.program(ctx, "ptc's own program, "+layout, p)
		if err != nil {
			return nil, err
		}
		m.own = append(m.own, list...)
	}
	for _, p := range o.Plans {
		list, err := m.program(ctx, p.Name, p)
		if err != nil {
			return nil, err
		}
		m.plans = append(m.plans, list)
	}
	return m, nil
}

// program measures the kernels of a plan.
func (m *Measurement) program(ctx context.Context, name string, p *program.Plan) ([]launched, error) {
	list, err := run(ctx, p, m.o.Threads, m.o.Seconds, modelOf(m.base()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if m.o.Done != nil {
		m.o.Done(name, len(list))
	}
	return list, nil
}

// Machine is the machine by ptc's own program, and by the plans that keep reports, by their numbers in Options.Plans.
func (m *Measurement) Machine(keep func(plan int) bool) (*Result, error) {
	x, all := m.base(), slices.Clone(m.own)
	var listed []launched
	for i, list := range m.plans {
		if keep(i) {
			all, listed = append(all, list...), append(listed, list...)
		}
	}
	if err := fit(x, all); err != nil {
		return nil, err
	}
	bounded(x)
	return write(&m.o, m.ceilings, x, all, table(x, listed))
}

// The start of what is fitted, as parts of what is measured, and the memory that the system keeps.
const (
	productShare   = 0.7
	attentionShare = 0.5
	cacheFactor    = 2
	reserved       = 512 << 20
)

// base is the machine before its rates are fitted.
func (r *Measurement) base() *machine.Machine {
	o, c, x, memory := &r.o, r.ceilings, r.exchanges, r.memory
	by := origin(o, c)
	given := func(v float64) machine.Sourced { return machine.Sourced{Value: v, Source: by} }
	cpu := native.DescribeCPU()
	bandwidth := 1e9 * max(c.Best(ceilings.Read), c.Best(ceilings.Copy), c.Best(ceilings.Update))
	m := &machine.Machine{Name: o.Name, Title: strings.TrimSpace(cpu.Model)}
	if m.Title == "" {
		m.Title = c.Target
	}
	peak := 1e9 * c.Best(ceilings.MultiplyAdd)
	m.Device = machine.Device{
		Target: c.Target, Processors: o.Threads, Serial: true,
		Peak: map[string]machine.Sourced{"f32": given(peak)}, Share: map[string]machine.Sourced{"f32": given(productShare)},
		Vector: map[string]machine.Sourced{"f32": given(peak / 4)},
		Memory: given(memory), Bandwidth: given(bandwidth), MemoryShare: given(1),
		Cache: given(float64(max(cpu.L2, 1<<18) * o.Threads)), CacheRate: given(cacheFactor * bandwidth),
		Attention: map[string]machine.Sourced{"f32": given(attentionShare), "bf16": given(attentionShare / 2)}, Launch: given(1e-6 * c.Best(ceilings.Launch)),
		Start: map[string]machine.Sourced{protocol: given(0)},
	}
	m.Device.Peak["bf16"], m.Device.Share["bf16"] = given(max(peak, 1e9*c.Best(ceilings.Dot))), given(productShare/4)
	m.Device.Reserve = machine.Sourced{Value: min(reserved, memory/4), Source: "estimate: system and runtime"}
	m.Host = machine.Host{
		Devices: hosted, Shared: true, Launch: m.Device.Launch, Link: given(1e9 * c.Best(ceilings.Copy)),
		LinkShare: machine.Sourced{Value: 1, Source: "estimate: a copy within the same memory"}, Memory: m.Device.Memory,
	}
	n := float64(max(2, o.Threads))
	m.Levels = []machine.Level{{
		Name: "node", Most: hosted, Memory: true, Link: given(x.rate / float64(o.Threads)),
		Share: map[string]machine.Sourced{protocol: given(1)}, Latency: map[string]machine.Sourced{protocol: given(x.start / n)},
		Oversubscription: machine.Sourced{Value: 1, Source: "estimate: processors that devices share are counted by `shared`"},
	}}
	return m
}

// protocol is how devices of one process exchange, and hosted how many of them a host may have.
const (
	protocol = "simple"
	hosted   = 1024
)

// bounded has each share of a peak at most 1: the peak of a dtype is at least what its products reach.
func bounded(m *machine.Machine) {
	d := &m.Device
	for _, t := range sorted(d.Share) {
		if s := d.Share[t]; s.Value > 1 {
			p := d.Peak[t]
			p.Value, s.Value = p.Value*s.Value, 1
			d.Peak[t], d.Share[t] = p, s
		}
	}
	for t, s := range d.Attention {
		s.Value = min(s.Value, 1)
		d.Attention[t] = s
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// origin is the source of what is measured.
func origin(o *Options, c *ceilings.Report) string {
	by := fmt.Sprintf("measured by ptc machine calibrate: %s, %s, %s", orUnknown(c.CPU), units.Plural(o.Threads, "thread"), c.Target)
	if o.Note != "" {
		by += ", " + o.Note
	}
	return by
}

func orUnknown(cpu string) string {
	if cpu == "" {
		return "unknown processor"
	}
	return cpu
}
