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

// flow is that of a schedule for a part's microbatches, of which four for each device suffice to fill the pipeline; nil if
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
//	m · (n · (F + B) + E) + w · F + w · B + after
//
// E counts on the device of the last stage. w · B does not count if backward passes are in two parts: their second halves may fill
// the time. After is what follows on the first device, whose backward pass ends last, or else on device d.
func (f *flow) time(blocks []int, m int64, t *certificate.Table, after func(blocks int64) int64) (most int64) {
	work, has := make([]int64, len(f.ahead)), make([]int64, len(f.ahead))
	for stage, n := range blocks {
		has[f.at[stage]] += int64(n)
		work[f.at[stage]] = wide.Add(work[f.at[stage]], wide.Mul(int64(n), t.Forward+t.Backward))
	}
	last := f.at[len(blocks)-1]
	work[last] = wide.Add(work[last], t.Ends)
	waits := t.Forward
	if f.whole {
		waits += t.Backward
	}
	w := int64(0)
	for d := range work {
		end := d
		if f.whole {
			end = 0
		}
		most = max(most, wide.Add(wide.Add(wide.Mul(m, work[d]), wide.Mul(w, waits)), after(has[end])))
		w += int64(blocks[d])
	}
	return most
}

// cut is how many blocks each stage of a pipeline has. With several stages on a device, or where `allow` says that stages are
// even, all have the same number, and those behind one more if there is a remainder, all but the last one. Else the last one has the number of blocks with
// the least time, the first of equal ones from 1 on, of those that leave the others at most twice their share and one.
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
			if time := f.time(x, m, t, func(int64) int64 { return 0 }); time < least {
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
