package main

import (
	"math"

	"ptc/foresight/cost"
	"ptc/foresight/machine"
	"ptc/internal/collective"

	"gonum.org/v1/gonum/mat"
)

// reductions is how predictions of NCCL's all-reduces fare.
type reductions struct {
	Rows int     `json:"rows"`
	Mean float64 `json:"kfold_mean"`
	Max  float64 `json:"kfold_max"`
	// Groups are the numbers that were fitted, for each size of a group.
	Groups []group `json:"groups"`

	marks   []mark
	machine *machine.Machine // whose collectives are rings with numbers fitted to all rows
}

type group struct {
	Devices int     `json:"devices"`
	Start   float64 `json:"start_us"`
	Share   float64 `json:"link_share"` // of the link, that the ring reaches
	Mean    float64 `json:"kfold_mean"`
}

// validateReductions predicts each all-reduce by the machine's ring, with the start and the share of the link that are
// fitted to other sizes.
func validateReductions(folder string, m *machine.Machine) (*reductions, error) {
	out := &reductions{}
	var errs []float64
	var all []point
	for _, n := range []int{2, 4, 8} {
		points, err := readReductions(folder, n)
		if err != nil {
			return nil, err
		}
		var of []float64
		for fold := range folds {
			var train []point
			for i, p := range points {
				if foldOf(i) != fold {
					train = append(train, p)
				}
			}
			start, share := fitRing(train, m)
			c, err := ringOf(m, start, 0, share).Sized(8)
			if err != nil {
				return nil, err
			}
			model := cost.New(c, cost.Software{})
			lies := c.Spread(0, machine.Axis{Size: n, Stride: 1})
			for i, p := range points {
				if foldOf(i) == fold {
					t := model.Collective(collective.AllReduce, lies, p.bytes).Time.Seconds()
					of = append(of, t/p.seconds-1)
					out.marks = append(out.marks, mark{p.seconds, t})
				}
			}
		}
		all = append(all, points...)
		g := group{Devices: n}
		g.Start, g.Share = fitRing(points, m)
		g.Start *= 1e6
		g.Mean, _, _ = summary(of)
		out.Groups = append(out.Groups, g)
		errs = append(errs, of...)
	}
	start, step, share := fitRings(all, m)
	out.machine = ringOf(m, start, step, share)
	out.Rows = len(errs)
	out.Mean, _, out.Max = summary(errs)
	return out, nil
}

// fitRing is the start in seconds and the share of the link for which a ring's times have the least squares of relative errors.
func fitRing(points []point, m *machine.Machine) (start, share float64) {
	var one, x, xx, y, xy float64 // weighted sums
	for _, p := range points {
		w, b := 1/p.seconds, float64(p.bytes)
		one, x, xx, y, xy = one+w*w, x+w*w*b, xx+w*w*b*b, y+w, xy+w*b
	}
	slope := (one*xy - x*y) / (one*xx - x*x) // seconds a byte
	n := float64(points[0].devices)
	return max((y-slope*x)/one, 0), min(2*(n-1)/n/(slope*m.Levels[0].Link.Value), 1)
}

// fitRings is the start and the time of a step in seconds, and the share of the link, for which rings of all sizes of groups have the
// least squares of relative errors.
func fitRings(points []point, m *machine.Machine) (start, step, share float64) {
	a, b := mat.NewDense(len(points), 3, nil), mat.NewVecDense(len(points), nil)
	for i, p := range points {
		steps := 2 * float64(p.devices-1)
		a.SetRow(i, []float64{1 / p.seconds, steps / p.seconds, steps / float64(p.devices) * float64(p.bytes) / p.seconds})
		b.SetVec(i, 1)
	}
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil {
		return 0, 0, 1
	}
	return max(x.AtVec(0), 0), max(x.AtVec(1), 0), min(1/(x.AtVec(2)*m.Levels[0].Link.Value), 1)
}

// ringOf is a machine with one protocol, with this start, time of a step and share of its innermost links.
func ringOf(m *machine.Machine, start, step, share float64) *machine.Machine {
	const source = "fitted by make foresight"
	only := func(v float64) map[string]machine.Sourced {
		return map[string]machine.Sourced{"simple": {Value: v, Source: source}}
	}
	out := *m
	out.Device.Start = only(math.Max(start, 0))
	out.Levels = nil
	for i, l := range m.Levels {
		if i == 0 {
			l.Share, l.Latency = only(share), only(step)
		}
		out.Levels = append(out.Levels, l)
	}
	return &out
}
