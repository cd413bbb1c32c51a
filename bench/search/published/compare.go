package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"ptc/bench/recipes"
	"ptc/compiler"
	"ptc/foresight/cost"
	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/foresight/search"
	"ptc/foresight/sim"
	"ptc/ir/auto"
)

// result is what came of a row.
type result struct {
	Name      string  `json:"name"`
	Source    string  `json:"source"`
	Machine   string  `json:"machine"`
	Devices   int     `json:"devices"`
	Published string  `json:"published"`             // the path of the published layout
	Lacks     string  `json:"space_lacks,omitempty"` // the dimension in which it is not in the space
	StepS     float64 `json:"published_s"`
	Bytes     int64   `json:"published_bytes"`
	Fits      bool    `json:"published_fits"`
	Refused   string  `json:"published_refused,omitempty"` // the compiler's error
	Winner    string  `json:"winner"`
	WinnerS   float64 `json:"winner_s"`
	WinnerB   int64   `json:"winner_bytes"`
	Ratio     float64 `json:"ratio"` // of the winner's step to the published one; 0 if the published layout does not fit
	Gap       float64 `json:"gap"`   // 0: the search ended
	Probes    int     `json:"probes"`
	CPU       float64 `json:"search_cpu_s"`
}

func (x *result) String() string {
	out := fmt.Sprintf("%s: published %.6g s, winner %.6g s, ratio %.4f, gap %.2g, %d probes, %.0f CPU-s\n  %s\n  %s", x.Name, x.StepS, x.WinnerS, x.Ratio, x.Gap, x.Probes, x.CPU, x.Published, x.Winner)
	if x.Lacks != "" {
		out += "\n  the space has not its " + x.Lacks
	}
	if x.Refused != "" || !x.Fits {
		out += fmt.Sprintf("\n  the published layout does not fit: %d bytes. %s", x.Bytes, x.Refused)
	}
	return out
}

// given is a row that was read.
type given struct {
	*row
	options compiler.Options
	prober  *compiler.Prober
	auto    *auto.Layout
	cluster *machine.Cluster
	facts   *facts.Facts
}

// open reads the source of a row.
func (r *row) open() (*given, error) {
	source, err := recipes.Models.ReadFile(r.file())
	if err != nil {
		return nil, err
	}
	m, err := machine.Named(r.machine)
	if err != nil {
		return nil, err
	}
	g := &given{row: r}
	if g.cluster, err = m.On(fmt.Sprintf("%dx8", r.Devices()/8)); err != nil {
		return nil, err
	}
	g.options = compiler.Options{File: r.file(), Source: append(append(source, '\n'), r.auto()...), Read: recipes.Models.ReadFile, Set: r.Settings(),
		Target: "ref", Forms: g.cluster.Device.Target}
	if g.prober, _, err = compiler.NewProber(g.options); err != nil {
		return nil, err
	}
	if g.auto, err = g.prober.Auto("best"); err != nil {
		return nil, err
	}
	mod, err := g.prober.Model("layout one { " + r.Precision() + " }")
	if err != nil {
		return nil, err
	}
	g.facts, err = facts.Of(mod)
	return g, err
}

// compare searches the space of a row, and simulates both layouts. Most is the processor time that the search may take, in seconds.
func (r *row) compare(most float64) (*result, error) {
	g, err := r.open()
	if err != nil {
		return nil, err
	}
	x := &result{Name: r.Name, Source: r.Source, Machine: r.machine, Devices: r.Devices(), Published: r.path(g.facts)}
	space := &search.Space{Facts: g.facts, Cluster: g.cluster, Auto: g.auto}
	x.Lacks = search.Lacks(space, x.Published)
	if err := g.published(x); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	before := used()
	go func() { // ends the search
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				if used()-before > most {
					cancel()
				}
			}
		}
	}()
	found, _, err := search.Find(ctx, g.prober, space, "best", nil)
	x.CPU = float64(int(used() - before + 0.5))
	switch {
	case err != nil:
		return nil, err
	case found.Best == nil && ctx.Err() != nil:
		return nil, fmt.Errorf("left out: the search had no layout after %.0f CPU-s", x.CPU)
	case found.Best == nil:
		return nil, fmt.Errorf("no layout was found: the least memory is %d bytes, of %s", found.Needs, found.Closest)
	}
	x.Winner, x.Gap, x.Probes = found.Best.Path(), found.Gap(), found.Probes
	step, bytes, refused, err := g.full(found.Layout)
	switch {
	case err != nil:
		return nil, err
	case refused != "" || step != found.Step || bytes != found.Bytes:
		return nil, fmt.Errorf("the winner takes %d ps and %d bytes, and compiled in full %d ps and %d bytes %s", found.Step, found.Bytes, step, bytes, refused)
	}
	x.WinnerS, x.WinnerB = step.Seconds(), bytes
	if x.Fits {
		x.Ratio = x.WinnerS / x.StepS
	}
	return x, nil
}

// published simulates the published layout: the faster one of the orders of its mesh.
func (g *given) published(x *result) error {
	for _, text := range g.placed() {
		step, bytes, refused, err := g.full(text)
		if err != nil {
			return err
		}
		if x.Refused = refused; refused != "" {
			return nil
		}
		if s := step.Seconds(); x.StepS == 0 || s < x.StepS {
			x.StepS, x.Bytes = s, bytes
		}
	}
	x.Fits = x.Bytes <= search.Room(g.cluster, g.auto)
	return nil
}

// full compiles a layout in full and simulates it: its step, and the bytes of the device that needs the most. Refused is the
// compiler's error if it refuses the layout.
func (g *given) full(text string) (step machine.PS, most int64, refused string, err error) {
	o := g.options
	_, name, _ := strings.Cut(text, "layout ")
	o.Layout = strings.Fields(name)[0]
	o.Source = []byte(g.prober.With("best", text))
	p, _, err := compiler.Compile(o)
	if err != nil {
		if bug := (*compiler.Bug)(nil); errors.As(err, &bug) {
			return 0, 0, "", err
		}
		return 0, 0, err.Error(), nil
	}
	for i := range p.Devices {
		most = max(most, p.Devices[i].Arena)
	}
	model := cost.New(g.cluster, cost.Software{})
	work, err := sim.WorkOf(p, model)
	if err != nil {
		return 0, 0, "", err
	}
	job, err := sim.New(p, work, model, sim.Options{})
	if err != nil {
		return 0, 0, "", err
	}
	r, err := sim.Run(job, sim.How{})
	if err != nil {
		return 0, 0, "", err
	}
	return r.Step, most, "", nil
}

// used is the processor time of this process so far, in seconds.
func used() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it is on Linux
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
