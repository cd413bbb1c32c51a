package certify

import (
	"math"

	"ptc/foresight/certificate"
	"ptc/internal/wide"
	"ptc/ir/pipeline"
)

// flow is what formulas need of a schedule.
type flow struct {
	at     []int   // the device of each stage, in the model's order
	ahead  []int64 // by device: forward passes of stages whose backward passes have not begun, at most
	whole  bool    // backward passes are not in two parts
	chunks int
}

type flowKey struct {
	name                  string
	devices, micro, parts int
}

// flow is that of a schedule for a part's microbatches, the first four for each device, which fill the pipeline; nil if
// there is no such schedule.
func (s *space) flow(p *part, name string, chunks int) *flow {
	key := flowKey{name, p.size[pp], min(s.microbatches(p), 4*p.size[pp]), chunks}
	if f, ok := s.flows[key]; ok {
		return f
	}
	s.flows[key] = nil
	plan, err := pipeline.New(name, pipeline.Shape{Devices: key.devices, Microbatches: key.micro, Chunks: chunks}, pipeline.Costs{})
	row, missing := pipeline.Lookup(name)
	if err != nil || missing != nil {
		return nil
	}
	f := &flow{at: make([]int, key.devices*chunks), ahead: make([]int64, key.devices), whole: !row.Split, chunks: chunks}
	for d, slots := range plan.Devices {
		for _, stage := range plan.Place.Stages(d) {
			f.at[stage] = d
		}
		under := int64(0)
		for _, x := range slots {
			if x.Kind == pipeline.Forward {
				under++
				f.ahead[d] = max(f.ahead[d], under)
			}
			if x.Kind == pipeline.Backward || x.Kind == pipeline.BackwardInput {
				under--
			}
		}
	}
	s.flows[key] = f
	return f
}

// each calls do for the schedule of a part or, before one is chosen, for all that may be.
func (s *space) each(p *part, do func(f *flow)) {
	one := func(name string, chunks int) {
		if f := s.flow(p, name, chunks); f != nil {
			do(f)
		}
	}
	if p.chose(scheduleLevel) {
		one(p.schedule, p.chunks)
	} else {
		s.eachSchedule(p, one)
	}
}

// time is the least time of m microbatches through stages with so many blocks, each of which takes what t says. Of device d, with
// n blocks and w blocks on the first stages of the devices before it:
//
//	m · (n · (F + B) + E) + w · F + w · B + R
//
// E counts on the device of the last stage. R is the reduction of the gradients of the first device, which has the last backward
// pass. If backward passes are in two parts, w · B does not count, since their second halves may fill the time, and R is that of
// device d itself.
func (f *flow) time(blocks []int, m int64, t *certificate.Table, reduce func(blocks int64) int64) (most int64) {
	has := make([]int64, len(f.ahead))
	for stage, n := range blocks {
		has[f.at[stage]] += int64(n)
	}
	w, last := int64(0), f.at[len(blocks)-1]
	for d, n := range has {
		work := wide.Mul(n, t.Forward+t.Backward)
		if d == last {
			work = wide.Add(work, t.Ends)
		}
		time := wide.Add(wide.Mul(m, work), wide.Mul(w, t.Forward))
		if f.whole {
			time = wide.Add(time, wide.Add(wide.Mul(w, t.Backward), reduce(has[0])))
		} else {
			time = wide.Add(time, reduce(n))
		}
		most = max(most, time)
		w += int64(blocks[d])
	}
	return most
}

// cut is how many blocks each stage of a pipeline has. With several stages on a device, or where `allow` says that stages are
// even, each has the same share, rounded down, and if blocks are left, the stages before the last one have one more. Else the
// last stage has the number of blocks with the least time, apart from reductions: the first of equal ones, from 1 on. The others
// share the rest, at most twice an equal share and one block each.
func (s *space) cut(f *flow, m int64, t *certificate.Table) (best []int) {
	stages := len(f.at)
	share := s.Instances / stages
	if words := s.said("stages", "balanced"); f.chunks > 1 || len(words) == 1 && words[0] == "even" {
		return deal(s.Instances-share, stages-1, share)
	}
	least := int64(math.MaxInt64)
	for last := 1; last <= s.Instances-(stages-1); last++ {
		if rest := s.Instances - last; rest/(stages-1) <= 2*share+1 {
			x := deal(rest, stages-1, last)
			if time := f.time(x, m, t, nothing); time < least {
				best, least = x, time
			}
		}
	}
	return best
}

// deal is n blocks on so many stages, as equal as may be with the smaller ones first, and the last stage behind them.
func deal(n, stages, last int) []int {
	out := make([]int, 0, stages+1)
	for left := stages; left > 0; left-- {
		out = append(out, n/left)
		n -= n / left
	}
	return append(out, last)
}
