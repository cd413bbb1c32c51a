package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ptc/internal/units"
)

// Search is what a search over layouts of the plan's model found. Whoever made the search fills it in: the runtime lies below.
type Search struct {
	Machine string        `json:"machine"` // h100:16x8
	Text    string        `json:"text"`    // of the best layout, as a block of a source
	Gap     float64       `json:"gap"`     // by which share of its step the best of the space may be faster; 0 if the search ended
	Best    SearchPoint   `json:"best"`
	Plan    SearchPoint   `json:"plan"`  // the plan of the page, as a simulation predicts it
	Front   []SearchPoint `json:"front"` // layouts that no other one beats in step, memory, devices and money
	Nearest []SearchLoser `json:"nearest"`
}

// SearchPoint is a layout with what it takes.
type SearchPoint struct {
	Layout  string  `json:"layout"` // in short
	StepS   float64 `json:"step_s"`
	Bytes   int64   `json:"memory_bytes"` // of the device that needs the most
	Devices int     `json:"devices"`
	USD     float64 `json:"usd,omitempty"` // of a step; 0 if the machine has no price
}

// SearchLoser is the best layout with another choice in one dimension.
type SearchLoser struct {
	Choice  string  `json:"choice"`
	StepS   float64 `json:"step_s"`
	AtLeast bool    `json:"at_least,omitempty"` // StepS is a bound
}

// found is a search as the page shows it.
type found struct {
	*Search
	Verdict string // in words
	Figures []differenceRow
	Plots   []scatter
}

// scatter is a picture of the front: the step over another figure. Places are in the units of the picture.
type scatter struct {
	Title, Less, More string // the figure, and the ends of its axis
	Fast, Slow        string // ends of the axis of the step
	Line              string // that joins the front: points of a polyline
	Dots              []dot
}

type dot struct {
	Class, Text string
	X, Y        float64
}

// newFound compares a plan with what a search found.
func newFound(s *Search) *found {
	f := &found{Search: s}
	a, b := &s.Plan, &s.Best
	switch change := a.StepS/b.StepS - 1; {
	case math.Abs(change) < 5e-4:
		f.Verdict = "This plan takes as long."
	case change > 0:
		f.Verdict = fmt.Sprintf("This plan takes %.3g%% longer.", 100*change)
	default:
		f.Verdict = fmt.Sprintf("This plan takes %.3g%% less: it is outside of the space that was searched.", -100*change)
	}
	f.Figures = []differenceRow{lower("step", a.StepS, b.StepS, inSeconds), lower("memory of a device", float64(a.Bytes), float64(b.Bytes), inBytes),
		lower("devices", float64(a.Devices), float64(b.Devices), number)}
	if a.USD > 0 && b.USD > 0 {
		f.Figures = append(f.Figures, lower("a step costs", a.USD, b.USD, inDollars))
	}
	f.plot("memory of a device", func(p *SearchPoint) float64 { return float64(p.Bytes) }, inBytes)
	several := slices.ContainsFunc(s.Front, func(p SearchPoint) bool { return p.Devices != b.Devices }) || a.Devices != b.Devices
	if several {
		f.plot("devices", func(p *SearchPoint) float64 { return float64(p.Devices) }, number)
	}
	if several && a.USD > 0 && b.USD > 0 { // else money is as the step
		f.plot("money a step", func(p *SearchPoint) float64 { return p.USD }, inDollars)
	}
	return f
}

func inSeconds(v float64) string { return fmt.Sprintf("%.4g s", v) }
func inDollars(v float64) string { return fmt.Sprintf("%.4g USD", v) }

// The picture of a front: its size, and the room around the axes.
const plotWide, plotHigh, plotLeft, plotRest = 620.0, 220.0, 70.0, 24.0

// plot adds a picture. The front is what no layout beats in the step and this figure; others of it are dots off the line.
func (f *found) plot(title string, of func(*SearchPoint) float64, text func(float64) string) {
	all := append(slices.Clone(f.Front), f.Plan, f.Best)
	var xs, ys []float64
	for i := range all {
		xs, ys = append(xs, of(&all[i])), append(ys, all[i].StepS)
	}
	x0, x1, y0, y1 := slices.Min(xs), slices.Max(xs), slices.Min(ys), slices.Max(ys)
	at := func(v, from, to, begin, length float64) float64 {
		if to == from {
			return begin + length/2
		}
		return math.Round(10*(begin+length*(v-from)/(to-from))) / 10
	}
	s := scatter{Title: title, Less: text(x0), More: text(x1), Fast: inSeconds(y0), Slow: inSeconds(y1)}
	place := func(p *SearchPoint) (x, y float64) {
		return at(of(p), x0, x1, plotLeft, plotWide-plotLeft-plotRest), plotHigh - plotRest - at(p.StepS, y0, y1, 0, plotHigh-2*plotRest)
	}
	var line []string
	least := math.Inf(1)
	for i := range f.Front { // the fastest first
		p := &f.Front[i]
		x, y := place(p)
		s.Dots = append(s.Dots, dot{"front", spoken(p, p.Layout), x, y})
		if v := of(p); v < least {
			least = v
			line = append(line, fmt.Sprintf("%g,%g", x, y))
		}
	}
	for _, x := range []struct {
		class, name string
		p           *SearchPoint
	}{{"best", "best: " + f.Best.Layout, &f.Best}, {"own", "this plan", &f.Plan}} {
		px, py := place(x.p)
		s.Dots = append(s.Dots, dot{x.class, spoken(x.p, x.name), px, py})
	}
	s.Line = strings.Join(line, " ")
	f.Plots = append(f.Plots, s)
}

// spoken is a point in words.
func spoken(p *SearchPoint, name string) string {
	out := fmt.Sprintf("%s: %s, %s, %s", name, inSeconds(p.StepS), units.Bytes(p.Bytes), units.Plural(p.Devices, "device"))
	if p.USD > 0 {
		out += ", " + inDollars(p.USD)
	}
	return out
}
