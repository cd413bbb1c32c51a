package matrix

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
)

// Target is what cases are compiled for, and how much they may differ: of a loss
// its size, of a tensor its Euclidean norm.
type Target struct {
	Name      string
	Tolerance float64
	// Floor is the share of its tensor's root mean square below which the first
	// gradient of an element is rounding: Adam's first step is lr·g/(|g| + eps), of
	// size lr whatever the size of g, so that the relative error of g is that of the
	// step. Sums round to some part ε of the root mean square, and an element of the
	// share s has the relative error ε/s, which is to be below Tolerance: s ≥ ε/Tolerance.
	// Elements below are compared by their gradients alone.
	Floor float64
}

// Targets are native code in f32, and the reference in f64.
var Targets = []Target{{"cpu", 1e-5, 0x1p-23 / 1e-5}, {"ref:f64", 1e-10, 0}}

// Matrix compares runs with those of one device, which it keeps.
type Matrix struct {
	Root   string // folder of the module
	single map[string]*Run
}

// Result of a case: an error or what differs, the worst first; both empty if it
// agrees. Worst is the largest relative difference.
type Result struct {
	Devices int
	Worst   float64
	Diffs   []string
	Err     error
}

// OK says whether the case computed what one device does.
func (r Result) OK() bool { return r.Err == nil && len(r.Diffs) == 0 }

// String is one line for a report.
func (r Result) String() string {
	switch {
	case r.Err != nil:
		return "error: " + strings.TrimSpace(r.Err.Error())
	case len(r.Diffs) > 0:
		return fmt.Sprintf("%d differ: %s", len(r.Diffs), strings.Join(r.Diffs[:min(3, len(r.Diffs))], "; "))
	}
	return fmt.Sprintf("worst %.1e", r.Worst)
}

// Case runs a model under a layout and compares. A panic is an error of the
// case, so that the others are run.
func (x *Matrix) Case(m Model, l Layout, t Target) (r Result) {
	want, err := x.one(m, l, t)
	if err != nil {
		return Result{Err: fmt.Errorf("on one device: %w", err)}
	}
	got, err := x.run(m, l, t)
	if err != nil {
		return Result{Err: err}
	}
	return Compare(want, got, t)
}

// one is the run on one device at the layout's sizes.
func (x *Matrix) one(m Model, l Layout, t Target) (*Run, error) {
	key := m.Name + " " + l.Set + " " + t.Name
	if r := x.single[key]; r != nil {
		return r, nil
	}
	r, err := x.run(m, Layout{Spec: "single", Set: l.Set}, t)
	if err != nil {
		return nil, err
	}
	if x.single == nil {
		x.single = map[string]*Run{}
	}
	x.single[key] = r
	return r, nil
}

func (x *Matrix) run(m Model, l Layout, t Target) (r *Run, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	p, err := Compile(x.Root, m, l, t.Name)
	if err != nil {
		return nil, err
	}
	return Train(p)
}

// diff is the difference of one thing.
type diff struct {
	what string
	size float64
}

// Compare says what of got is further than the tolerance from want.
func Compare(want, got *Run, t Target) Result {
	var all []diff
	for i := range want.Losses {
		all = append(all, diff{fmt.Sprintf("loss %d", i+1), distance(want.Losses[i:i+1], got.Losses[i:i+1])})
	}
	if len(want.Valid) > 0 && len(got.Valid) > 0 {
		all = append(all, diff{"loss of validation", distance(want.Valid, got.Valid)})
	}
	for _, s := range []struct {
		what      string
		want, got map[string][]float64
	}{{"gradient of ", want.Grads, got.Grads}, {"parameter ", want.Params, got.Params}} {
		for path, v := range s.want {
			w := s.got[path]
			if g := want.Grads[path]; s.what == "parameter " && len(g) == len(w) {
				v, w = above(v, g, t.Floor), above(w, g, t.Floor)
			}
			all = append(all, diff{s.what + path, distance(v, w)})
		}
		for path := range s.got {
			if s.want[path] == nil {
				all = append(all, diff{s.what + path, math.Inf(1)})
			}
		}
	}
	slices.SortFunc(all, func(a, b diff) int {
		if a.size != b.size {
			if a.size > b.size {
				return -1
			}
			return 1
		}
		return strings.Compare(a.what, b.what)
	})
	r := Result{Devices: got.Devices, Worst: all[0].size}
	for _, d := range all {
		if d.size > t.Tolerance {
			r.Diffs = append(r.Diffs, fmt.Sprintf("%s by %.1e", d.what, d.size))
		}
	}
	return r
}

// above are the elements of v of which the gradient is not below the share of its
// root mean square.
func above(v, grad []float64, share float64) []float64 {
	var squares float64
	for _, g := range grad {
		squares += g * g
	}
	least := share * math.Sqrt(squares/float64(len(grad)))
	var out []float64
	for i, x := range v {
		if math.Abs(grad[i]) >= least {
			out = append(out, x)
		}
	}
	return out
}

// distance is |a − b| / |a|, infinite where it is not a number or the sizes
// differ, and |b| where a is zero.
func distance(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var norm, d float64
	for i := range a {
		norm += a[i] * a[i]
		d += (a[i] - b[i]) * (a[i] - b[i])
	}
	if d = math.Sqrt(d); norm > 0 {
		d /= math.Sqrt(norm)
	}
	if math.IsNaN(d) {
		return math.Inf(1)
	}
	return d
}
