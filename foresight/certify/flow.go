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
	slots  [][]pipeline.Slot // by device, in order
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
	f := &flow{at: make([]int, key.devices*chunks), ahead: make([]int64, key.devices), whole: !row.Split, chunks: chunks, slots: plan.Devices}
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

// exchanging is how long devices exchange at least: gradients of so many blocks, and others, at the end of a step; and one message
// between two stages.
type exchanging struct {
	gradients func(blocks int64, others others) int64
	message   int64
}

// apart are devices whose exchanges take no time.
var apart = &exchanging{gradients: func(int64, others) int64 { return 0 }}

// time is the least time of m microbatches through stages with so many blocks, each of which takes what t says. Of device d, with
// n blocks:
//
//	m · (n · (F + B) + E) + before + after + R
//
// E counts on the device of the last stage. Before it works, and between its first forward passes, the device waits for the first
// microbatch; after and between its last backward passes, for the last one to come back to the first stage (waits). R is the
// reduction of the gradients of the first stage's device, which has the last backward pass. If backward passes are in two parts,
// nothing is after, since their second halves may fill the time, and R is that of device d itself.
func (f *flow) time(blocks []int, m int64, t *certificate.Table, x *exchanging) (most int64) {
	has := make([]int64, len(f.ahead))
	for stage, n := range blocks {
		has[f.at[stage]] += int64(n)
	}
	first, last := f.at[0], f.at[len(blocks)-1]
	for d, n := range has {
		work := wide.Mul(n, t.Forward+t.Backward)
		if d == last {
			work = wide.Add(work, t.Ends)
		}
		time := wide.Add(wide.Mul(m, work), f.waits(d, blocks, t.Forward, x.message, false))
		ends := d
		if f.whole {
			ends, time = first, wide.Add(time, f.waits(d, blocks, t.Backward, x.message, true))
		}
		of := none
		if ends == first {
			of = before
		}
		most = max(most, wide.Add(time, x.gradients(has[ends], of)))
	}
	return most
}

// waits is how long device d waits at least for forward passes of the first microbatch, or counted from the end of the step for
// backward passes of the last one. At the first slot of one of its stages a microbatch has been through all stages before that,
// and has been sent wherever the next stage is on another device; the device has only had the slots until then, all of that kind.
func (f *flow) waits(d int, blocks []int, pass, message int64, end bool) (most int64) {
	reached := make([]int64, len(blocks)) // the least time at which a microbatch is at a stage
	for s := 1; s < len(blocks); s++ {
		reached[s] = wide.Add(reached[s-1], wide.Mul(int64(blocks[s-1]), pass))
		if f.at[s] != f.at[s-1] {
			reached[s] = wide.Add(reached[s], message)
		}
	}
	slots, kind := f.slots[d], pipeline.Forward
	if end {
		kind = pipeline.Backward
	}
	worked := int64(0)
	for i := range slots {
		x := slots[i]
		if end {
			x = slots[len(slots)-1-i]
		}
		if x.Kind != kind {
			break
		}
		most = max(most, reached[x.Stage]-worked)
		worked = wide.Add(worked, wide.Mul(int64(blocks[x.Stage]), pass))
	}
	return most
}

// cut is how many blocks each stage of a pipeline has. With several stages on a device, or where `allow` says that stages are
// even, each has the same share, rounded down, and if blocks are left, the stages before the last one have one more. Else the
// last stage has the number of blocks with the least time, apart from exchanges: the first of equal ones, from 1 on. The others
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
			if time := f.time(x, m, t, apart); time < least {
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
