package schedule

import "math"

// Unit is the cost of one microbatch where all stages are alike, in any unit of
// time.
type Unit struct {
	Forward, Backward, Input, Weight float64
	// Latency is the time between the send of a message and its arrival.
	Latency float64
}

// Costs are the times that slots and messages take, in any unit of time: one
// entry for each virtual stage, and for Latency one for each boundary. A kind
// of slot that the schedule does not have needs none; no Latency is zero.
type Costs struct {
	Forward, Backward, Input, Weight []float64
	Latency                          []float64
}

// Uniform returns the costs where every stage and boundary costs the same.
func Uniform(s Shape, u Unit) Costs {
	fill := func(n int, x float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = x
		}
		return out
	}
	n := s.Stages()
	return Costs{fill(n, u.Forward), fill(n, u.Backward), fill(n, u.Input), fill(n, u.Weight), fill(s.Boundaries(), u.Latency)}
}

func (c Costs) of(k Kind) []float64 {
	return [kinds][]float64{c.Forward, c.Backward, c.Input, c.Weight}[k]
}

// slot returns the cost of a slot; check has seen that it exists.
func (c Costs) slot(s Slot) float64 { return c.of(s.Kind)[s.Stage] }

func (c Costs) latency(boundary int) float64 {
	if c.Latency == nil {
		return 0
	}
	return c.Latency[boundary]
}

// check returns an error unless there is a finite cost, not negative, for every
// stage and every kind that is used.
func (c Costs) check(s Shape, used [kinds]bool) error {
	for k := Kind(0); k < kinds; k++ {
		if err := checkCosts("costs of the "+k.String(), c.of(k), s.Stages(), "stages", used[k]); err != nil {
			return err
		}
	}
	return checkCosts("latencies", c.Latency, s.Boundaries(), "boundaries", false)
}

func checkCosts(what string, xs []float64, n int, of string, needed bool) error {
	if len(xs) != n && (needed || len(xs) != 0) {
		return faultf(BadShape, "%d %s for %d %s", len(xs), what, n, of)
	}
	for i, x := range xs {
		if !(x >= 0) || math.IsInf(x, 0) {
			return faultf(BadShape, "%s: entry %d is %v; a time is finite and not negative", what, i, x)
		}
	}
	return nil
}
