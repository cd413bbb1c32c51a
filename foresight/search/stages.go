package search

import (
	"fmt"
	"math"

	"ptc/foresight/certificate"
	"ptc/internal/wide"
	"ptc/ir/pipeline"
)

// flow is a schedule of a pipeline as bounds see it.
type flow struct {
	devices int
	split   bool    // a backward pass is in two parts
	at      []int   // the device of each virtual stage
	held    []int64 // by device, the most forward passes that it is ahead of its backward passes
}

// flow is that of a schedule for the microbatches of a choice; nil if there is none.
func (s *Space) flow(c *Choice, name string, chunks int) *flow {
	// The first microbatches fill a pipeline: four for each device.
	shape := pipeline.Shape{Devices: c.PP, Microbatches: min(c.microbatches(s.Facts), 4*c.PP), Chunks: chunks}
	key := fmt.Sprint(name, shape)
	if f, ok := s.flows[key]; ok {
		return f
	}
	s.flows[key] = nil
	x, err := pipeline.New(name, shape, pipeline.Costs{})
	if err != nil {
		return nil
	}
	row, _ := pipeline.Lookup(name)
	f := &flow{devices: c.PP, split: row.Split, held: make([]int64, c.PP)}
	for stage := range c.PP * chunks {
		f.at = append(f.at, x.Place.Device(stage))
	}
	for d, slots := range x.Devices {
		f.held[d] = ahead(slots)
	}
	s.flows[key] = f
	return f
}

// ahead is the most forward passes of a device whose backward passes have not begun.
func ahead(slots []pipeline.Slot) (most int64) {
	n := int64(0)
	for _, x := range slots {
		switch x.Kind {
		case pipeline.Forward:
			n++
		case pipeline.Backward, pipeline.BackwardInput:
			n--
		}
		most = max(most, n)
	}
	return most
}

// time is how long m microbatches take at least through stages with so many blocks. A device does its own work, and waits for the
// stages before its first one: for their forward passes of the first microbatch, and with backward passes in one part also for
// their backward passes of the last one. After that the first device exchanges its gradients, or else each its own.
func (f *flow) time(blocks []int, m int64, t *certificate.Table, reduce func(blocks int64) int64) (most int64) {
	block := t.Forward + t.Backward
	own, has := make([]int64, f.devices), make([]int64, f.devices)
	for stage, n := range blocks {
		own[f.at[stage]] += wide.Mul(int64(n), block)
		has[f.at[stage]] += int64(n)
	}
	own[f.at[len(blocks)-1]] += t.Ends
	before := int64(0)
	for d := range f.devices { // whose first stage is d
		wait, last := wide.Mul(before, t.Forward), d
		if !f.split {
			wait, last = wide.Add(wait, wide.Mul(before, t.Backward)), 0
		}
		if reduce != nil {
			wait = wide.Add(wait, reduce(has[last]))
		}
		most = max(most, wide.Add(wide.Mul(m, own[d]), wait))
		before += int64(blocks[d])
	}
	return most
}

// cut is how many blocks each stage has: with one stage on each device as many in the last one, which has the ends of the model
// too, as take the least time; the others as equal as may be, those with one more behind those with one less.
func (s *Space) cut(f *flow, m int64, t *certificate.Table) []int {
	all, stages := s.Facts.Instances, len(f.at)
	if stages > f.devices || s.even() {
		return spread(all, stages, all/stages)
	}
	var best []int
	least := int64(math.MaxInt64)
	for n := 1; n <= all-stages+1; n++ {
		if (all-n)/max(stages-1, 1) > 2*(all/stages)+1 {
			continue // the others would have twice their share
		}
		x := spread(all, stages, n)
		if time := f.time(x, m, t, nil); time < least {
			best, least = x, time
		}
	}
	return best
}

// even reports whether stages have equal numbers of blocks whatever they take.
func (s *Space) even() bool {
	w := s.words("stages", "balanced")
	return len(w) == 1 && w[0] == "even"
}

// spread is all blocks in so many stages, n of them in the last one.
func spread(all, stages, n int) []int {
	out := make([]int, stages)
	out[stages-1] = n
	if stages == 1 {
		out[0] = all
		return out
	}
	each, more := (all-n)/(stages-1), (all-n)%(stages-1)
	for i := range stages - 1 {
		out[i] = each
		if i >= stages-1-more {
			out[i]++
		}
	}
	return out
}

// overSchedules calls do for the schedule of a choice or, before that is chosen, for each that there may be.
func (s *Space) overSchedules(c *Choice, do func(f *flow)) {
	one := func(name string, chunks int) {
		if f := s.flow(c, name, chunks); f != nil {
			do(f)
		}
	}
	if c.Depth > scheduleAt {
		one(c.Schedule, c.Chunks)
		return
	}
	s.schedules(c, one)
}

// pipelined is the least time of a step whose blocks take what a table says.
func (s *Space) pipelined(c *Choice, t *certificate.Table, reduce func(blocks int64) int64) int64 {
	m := int64(c.microbatches(s.Facts))
	if c.PP == 1 {
		step := wide.Mul(m, wide.Add(wide.Mul(int64(s.Facts.Instances), t.Forward+t.Backward), t.Ends))
		if reduce != nil {
			step = wide.Add(step, reduce(int64(s.Facts.Instances)))
		}
		return step
	}
	least := int64(math.MaxInt64)
	s.overSchedules(c, func(f *flow) { least = min(least, f.time(s.cut(f, m, t), m, t, reduce)) })
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// fullest is the least memory of the fullest device, if a block has persistent bytes besides what a table says.
func (s *Space) fullest(c *Choice, t *certificate.Table, persistent int64) int64 {
	kept := t.Kept
	if c.Recompute == "auto" {
		kept = 0 // which may keep nothing
	}
	block := wide.Add(persistent, t.Shared)
	if c.PP == 1 {
		return wide.Mul(int64(s.Facts.Instances), wide.Add(block, kept))
	}
	m := int64(c.microbatches(s.Facts))
	least := int64(math.MaxInt64)
	s.overSchedules(c, func(f *flow) {
		blocks, few, most := make([]int64, f.devices), make([]int64, f.devices), int64(0)
		for stage, n := range s.cut(f, m, t) {
			d := f.at[stage]
			if blocks[d] += int64(n); few[d] == 0 || int64(n) < few[d] {
				few[d] = int64(n)
			}
		}
		for d := range f.devices {
			most = max(most, wide.Add(wide.Mul(blocks[d], block), wide.Mul(wide.Mul(f.held[d], few[d]), kept)))
		}
		least = min(least, most)
	})
	if least == math.MaxInt64 {
		return 0
	}
	return least
}
