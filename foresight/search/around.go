package search

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ptc/foresight/certificate"
)

// Loser is the best layout that differs from the winner in one dimension at least.
type Loser struct {
	Dimension string `json:"dimension"`
	Value     string `json:"value"`
	Won       string `json:"won"` // the winner's
	// PS is the simulated step of the best of these layouts or, where AtLeast is set, a bound that none of them is below.
	PS      int64 `json:"step_ps"`
	AtLeast bool  `json:"at_least,omitempty"`
}

// Point is a layout that no other evaluated one beats in step, memory and devices.
type Point struct {
	Layout  string  `json:"layout"` // its path
	PS      int64   `json:"step_ps"`
	Bytes   int64   `json:"memory_bytes"`
	Devices int     `json:"devices"`
	USD     float64 `json:"usd,omitempty"` // of a step; 0 if the machine has no price
}

// words are the parts of a path by dimension, with the sizes of the mesh apart.
func words(path string) map[string]string {
	out := map[string]string{}
	for i, w := range strings.Split(path, "/") {
		switch d := Dimensions[i]; d {
		case "mesh":
			for _, x := range strings.Fields(w) {
				out[x[:2]] = x[2:]
			}
		default:
			out[d] = w
		}
	}
	return out
}

// shown are the dimensions of a path that are compared, in their order.
var shown = []string{"devices", "dp", "pp", "cp", "ep", "tp", "tensor", "sequence", "rows", "recompute", "zero", "offload", "schedule", "stages", "placement"}

// Losers are, for each dimension in which the space has a choice, the best layouts with another value than the winner's, the
// nearest first.
func Losers(c *certificate.Certificate) (out []Loser) {
	if c.Winner < 0 {
		return nil
	}
	won := words(c.Leaves[c.Winner].At)
	best := map[string]*Loser{}
	for i := range c.Leaves {
		l := &c.Leaves[i]
		x := Loser{PS: l.PS}
		if l.Why == certificate.Bound {
			x.PS, x.AtLeast = l.Bound, true
		}
		if x.PS == 0 {
			continue
		}
		for d, v := range words(l.At) {
			if v == won[d] || d == "dp" {
				continue // the size of dp follows from the others
			}
			if b := best[d]; b == nil || x.PS < b.PS {
				y := x
				y.Dimension, y.Value, y.Won = d, v, won[d]
				best[d] = &y
			}
		}
	}
	for _, d := range shown {
		if b := best[d]; b != nil {
			out = append(out, *b)
		}
	}
	slices.SortStableFunc(out, func(a, b Loser) int { return cmp.Compare(a.PS, b.PS) })
	return out
}

// Front are the evaluated layouts that no other one beats: none is at least as good in step, memory, devices and money, the fastest
// first. Price is that of a device, in USD/s, 0 if it is not known. Layouts that the bounds excluded are not among them.
//
// Money is devices times seconds times price. So a layout that is not worse in step and devices is not worse in money either, and
// the front is that of the other three.
func Front(c *certificate.Certificate, price float64) (out []Point) {
	var all []Point
	for i := range c.Leaves {
		if l := &c.Leaves[i]; l.Why == certificate.Exact {
			devices, _ := strconv.Atoi(words(l.At)["devices"])
			all = append(all, Point{l.At, l.PS, l.Bytes, devices, price * float64(devices) * float64(l.PS) / 1e12})
		}
	}
	slices.SortStableFunc(all, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.PS, b.PS), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Devices, b.Devices))
	})
	for _, p := range all {
		if !slices.ContainsFunc(out, func(q Point) bool { return q.Bytes <= p.Bytes && q.Devices <= p.Devices }) {
			out = append(out, p)
		}
	}
	return out
}

// Counts are the leaves of a certificate by reason.
func Counts(c *certificate.Certificate) map[certificate.Why]int {
	out := map[certificate.Why]int{}
	for i := range c.Leaves {
		out[c.Leaves[i].Why]++
	}
	return out
}

// String is the loser as a phrase.
func (l *Loser) String() string {
	value, won := l.Value, l.Won
	if _, err := strconv.Atoi(won); err == nil || len(l.Dimension) == 2 {
		return fmt.Sprintf("%s = %s for %s", l.Dimension, value, won)
	}
	if value == "" {
		value = "none"
	}
	return fmt.Sprintf("%s %s", l.Dimension, value)
}
