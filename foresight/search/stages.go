package search

import (
	"fmt"
	"iter"
	"math"
	"slices"

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
	stages  [][]int // by device, its virtual stages
	hops    []int64 // by virtual stage, how many messages a microbatch is sent before it
	begins  [][]way // by device, to its stages
	ends    [][]way // and from them, back to the first stage
}

// way is from the first stage to the first forward pass of a stage, or the other way, of backward passes. By then its device has done
// own passes of each of its stages, and no others.
type way struct {
	stage int
	own   []int64
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
	hops := int64(0)
	for stage := range c.PP * chunks {
		if f.at = append(f.at, x.Place.Device(stage)); stage > 0 && f.at[stage] != f.at[stage-1] {
			hops++
		}
		f.hops = append(f.hops, hops)
	}
	for d, slots := range x.Devices {
		f.held[d] = ahead(slots)
		f.stages = append(f.stages, x.Place.Stages(d))
		f.begins = append(f.begins, ways(slices.Values(slots), f.stages[d], pipeline.Forward))
		f.ends = append(f.ends, ways(backward(slots), f.stages[d], pipeline.Backward))
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

// backward yields slots from the last one to the first.
func backward(slots []pipeline.Slot) iter.Seq[pipeline.Slot] {
	return func(yield func(pipeline.Slot) bool) {
		for _, x := range slices.Backward(slots) {
			if !yield(x) {
				return
			}
		}
	}
}

// ways are those to the slots of a kind that come before any of another kind, the first one of each stage.
func ways(slots iter.Seq[pipeline.Slot], stages []int, kind pipeline.Kind) (out []way) {
	own := make([]int64, len(stages))
	for x := range slots {
		if x.Kind != kind {
			break
		}
		at := slices.Index(stages, x.Stage)
		if own[at] == 0 {
			out = append(out, way{x.Stage, slices.Clone(own)})
		}
		own[at]++
	}
	return out
}

// idle is how long a device does nothing at least before it begins, or after it ends: a microbatch is on its way through other
// stages, each message takes so long, and the device has no more to do in the meantime than its own passes by then.
func (f *flow) idle(d int, ways []way, blocks []int, pass, message int64) (most int64) {
	for _, w := range ways {
		t := wide.Mul(f.hops[w.stage], message)
		for _, n := range blocks[:w.stage] {
			t = wide.Add(t, wide.Mul(int64(n), pass))
		}
		for i, n := range w.own {
			t -= wide.Mul(wide.Mul(n, int64(blocks[f.stages[d][i]])), pass)
		}
		most = max(most, t)
	}
	return most
}

// links are what bounds know of exchanges between devices: how long the reduction of gradients takes, and a message between stages.
type links struct {
	reduce  func(blocks int64, others outer) int64
	message int64
}

// unlinked is a pipeline whose exchanges take no time.
var unlinked = &links{reduce: func(int64, outer) int64 { return 0 }}

// time is how long m microbatches take at least through stages with so many blocks. A device does its own work, and is idle until
// the first microbatch has come to it, and, if backward passes are in one part, while the last one goes back to the first stage. After
// that the first device exchanges its gradients, or else each its own.
func (f *flow) time(blocks []int, m int64, t *certificate.Table, x *links) (most int64) {
	block := t.Forward + t.Backward
	own, has := make([]int64, f.devices), make([]int64, f.devices)
	for stage, n := range blocks {
		own[f.at[stage]] += wide.Mul(int64(n), block)
		has[f.at[stage]] += int64(n)
	}
	own[f.at[len(blocks)-1]] += t.Ends
	for d := range f.devices {
		wait, last := f.idle(d, f.begins[d], blocks, t.Forward, x.message), d
		if !f.split {
			wait, last = wide.Add(wait, f.idle(d, f.ends[d], blocks, t.Backward, x.message)), f.at[0]
		}
		others := noOuter
		if last == f.at[0] {
			others = beforeOuter
		}
		wait = wide.Add(wait, x.reduce(has[last], others))
		most = max(most, wide.Add(wide.Mul(m, own[d]), wait))
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
		if time := f.time(x, m, t, unlinked); time < least {
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
func (s *Space) pipelined(c *Choice, t *certificate.Table, x *links) int64 {
	m := int64(c.microbatches(s.Facts))
	if c.PP == 1 {
		n := int64(s.Facts.Instances)
		return wide.Add(wide.Mul(m, wide.Add(wide.Mul(n, t.Forward+t.Backward), t.Ends)), x.reduce(n, allOuter))
	}
	least := int64(math.MaxInt64)
	s.overSchedules(c, func(f *flow) { least = min(least, f.time(s.cut(f, m, t), m, t, x)) })
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
