package pipeline

// Unit is the cost of one microbatch where all stages are alike, in any unit of
// time. A whole backward pass takes Input and Weight.
type Unit struct {
	Forward, Input, Weight float64
	// Message is the time between the send of a message and its arrival.
	Message float64
}

// Costs are the times that slots and messages take, in any unit of time: one
// entry for each virtual stage, and for Message one for each boundary; no Message
// is zero. They may be measured or modelled. They order the slots of schedules
// that are made by [New], and time those of all in [Simulate].
type Costs struct {
	Forward, Input, Weight []float64
	Message                []float64
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
	return Costs{fill(n, u.Forward), fill(n, u.Input), fill(n, u.Weight), fill(n-1, u.Message)}
}

// slot returns the cost of a slot; check has seen that it exists.
func (c Costs) slot(s Slot) float64 {
	switch s.Kind {
	case Forward:
		return c.Forward[s.Stage]
	case BackwardInput:
		return c.Input[s.Stage]
	case BackwardWeight:
		return c.Weight[s.Stage]
	}
	return c.Input[s.Stage] + c.Weight[s.Stage]
}

func (c Costs) message(boundary int) float64 {
	if c.Message == nil {
		return 0
	}
	return c.Message[boundary]
}

// maxTime bounds a cost so that the sum of all is finite.
const maxTime = 1e300

// check returns an error unless there is a cost for every stage.
func (c Costs) check(s Shape) error {
	n := s.Stages()
	for _, x := range []struct {
		what  string
		costs []float64
		n     int
		of    string
	}{
		{"costs of the forward", c.Forward, n, "stages"}, {"costs of the input backward", c.Input, n, "stages"},
		{"costs of the weight backward", c.Weight, n, "stages"}, {"costs of messages", c.Message, n - 1, "boundaries"},
	} {
		if len(x.costs) != x.n && (x.of == "stages" || x.costs != nil) {
			return faultf(BadShape, "%d %s for %d %s", len(x.costs), x.what, x.n, x.of)
		}
		for i, t := range x.costs {
			if !(t >= 0 && t <= maxTime) {
				return faultf(BadShape, "%s: entry %d is %v; a time is from 0 to %g", x.what, i, t, maxTime)
			}
		}
	}
	return nil
}
