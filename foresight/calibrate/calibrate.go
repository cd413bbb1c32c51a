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

// Host measures the processors of this host.
func Host(ctx context.Context, o Options) (*Result, error) {
	if o.Threads < 1 || !(o.Seconds > 0) {
		return nil, fmt.Errorf("%d threads, %g seconds", o.Threads, o.Seconds)
	}
	memory, ok := host.Total()
	if !ok {
		return nil, errors.New("the system does not say how much memory it has")
	}
	c, err := ceilings.Measure(ceilings.Options{Threads: o.Threads, Bytes: o.Bytes})
	if err != nil {
		return nil, err
	}
	x, err := measureExchanges(max(2, o.Threads))
	if err != nil {
		return nil, err
	}
	m := base(&o, float64(memory), c, x)
	all, own, err := programs(ctx, &o, m)
	if err != nil {
		return nil, err
	}
	if err := fit(m, all); err != nil {
		return nil, err
	}
	bounded(m)
	return write(&o, c, m, all, table(m, own))
}

// programs measures the kernels of ptc's own program and of plans; own are those of the plans.
func programs(ctx context.Context, o *Options, m *machine.Machine) (all, own []launched, err error) {
	model := modelOf(m)
	add := func(name string, p *program.Plan) ([]launched, error) {
		list, err := run(ctx, p, o.Threads, o.Seconds, model)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if o.Done != nil {
			o.Done(name, len(list))
		}
		all = append(all, list...)
		return list, nil
	}
	for _, layout := range layouts {
		p, _, err := compiler.Compile(compiler.Options{File: "program.ptl", Source: source, Layout: layout, Target: "cpu"})
		if err != nil {
			return nil, nil, fmt.Errorf("compiling the program to measure: %w", err)
		}
		if _, err := add("ptc's own program, "+layout, p); err != nil {
			return nil, nil, err
		}
	}
	for _, p := range o.Plans {
		list, err := add(p.Name, p)
		if err != nil {
			return nil, nil, err
		}
		own = append(own, list...)
	}
	if len(all) == 0 {
		return nil, nil, errors.New("no kernel was measured")
	}
	return all, own, nil
}

// The start of what is fitted, as parts of what is measured, and the memory that the system keeps.
const (
	productShare   = 0.7
	attentionShare = 0.5
	cacheFactor    = 2
	reserved       = 512 << 20
)

// base is the machine before its rates are fitted.
func base(o *Options, memory float64, c *ceilings.Report, x *exchanges) *machine.Machine {
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
	by := fmt.Sprintf("measured by ptc machine calibrate: %s, %d threads, %s", orUnknown(c.CPU), o.Threads, c.Target)
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
