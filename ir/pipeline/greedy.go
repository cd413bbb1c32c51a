package pipeline

import (
	"math"
	"slices"
)

// rule is how urgent the passes are that a device could start at one moment.
// Weight gradients come last, since nobody waits for them: they fill what would be
// idle time, and give memory back when there is none left.
type rule struct {
	ahead  bool // forward passes come before input gradients
	early  bool // weight gradients come first where one more activation fills the memory, or as many of a stage wait as may
	oldest bool // of input gradients those of the first chunk come first
}

// greedy makes slots by list scheduling, under a limit of the activations (of one
// microbatch at one virtual stage) that a device holds: whichever device can start
// something first does, the most urgent of what it can start. Which rule is best
// depends on placement, memory and costs: it takes the shortest of what all give.
//
// A chunk leaves room for one activation of each later chunk of its device, so that
// what is under way always comes to its end: of all forward passes that wait for
// memory look at the one of the latest stage. What is past it does not wait, and
// gives its memory back; so its device holds activations of earlier chunks alone,
// and these have left room for it.
func greedy(s Shape, at *Placement, c Costs, limit int) [][]Slot {
	var best [][]Slot
	shortest := math.Inf(1)
	for i := range 8 {
		r := rule{ahead: i&1 > 0, early: i&2 > 0, oldest: i&4 > 0}
		g := &lister{rule: r, at: at, c: c, limit: max(limit, s.Chunks), devices: make([]listed, s.Devices),
			waiting: s.Waiting, forward: make([][]float64, s.Stages()), backward: make([][]float64, s.Stages()), done: make([][kinds]int, s.Stages())}
		g.forward[0] = make([]float64, s.Microbatches)
		if end := g.list(3 * s.Stages() * s.Microbatches); end < shortest {
			shortest, best = end, nil
			for _, d := range g.devices {
				best = append(best, d.slots)
			}
		}
	}
	return best
}

// lister is the state of the list scheduler. By virtual stage it knows when the
// inputs of forward passes and the gradients of outputs are there, of the
// microbatches for which they were made, and how many passes of each kind have run.
type lister struct {
	rule
	at                *Placement
	c                 Costs
	limit, waiting    int
	devices           []listed
	forward, backward [][]float64
	done              [][kinds]int
}

// listed is a device: its slots, when it is free, how many activations it holds,
// and what it runs next, from when on.
type listed struct {
	slots []Slot
	free  float64
	held  int
	next  Slot
	start float64
}

// list runs so many slots and returns when the last one ends.
func (g *lister) list(slots int) (end float64) {
	for d := range g.devices {
		g.choose(d)
	}
	for range slots {
		first := 0
		for d := range g.devices {
			if g.devices[d].start < g.devices[first].start {
				first = d
			}
		}
		g.run(first)
		end = max(end, g.devices[first].free)
	}
	return end
}

// choose finds what a device runs next: of what it can start first the most
// urgent, and of that the latest chunk or the oldest.
func (g *lister) choose(d int) {
	dev, stages := &g.devices[d], g.at.Stages(d)
	dev.start = math.Inf(1)
	order := []Kind{BackwardInput, Forward, BackwardWeight}
	if g.ahead {
		order = []Kind{Forward, BackwardInput, BackwardWeight}
	}
	if g.early && (dev.held >= g.limit-1 || slices.ContainsFunc(stages, g.full)) {
		order = []Kind{BackwardWeight, order[0], order[1]}
	}
	for _, kind := range order {
		for k := range stages {
			chunk := k
			if kind != BackwardInput || !g.oldest {
				chunk = len(stages) - 1 - k
			}
			s, there := stages[chunk], math.Inf(1)
			switch i := g.done[s][kind]; {
			case kind == Forward && i < len(g.forward[s]) && dev.held+len(stages)-chunk <= g.limit && !g.ends(s):
				there = g.forward[s][i]
			case kind == BackwardInput && i < len(g.backward[s]) && !g.full(s):
				there = g.backward[s][i]
			case kind == BackwardWeight && i < g.done[s][BackwardInput]:
				there = 0
			}
			if start := max(dev.free, there); start < dev.start {
				dev.next, dev.start = Slot{kind, s, g.done[s][kind]}, start
			}
		}
	}
}

// full reports whether as many weight gradients of stage s wait as may.
func (g *lister) full(s int) bool {
	return g.waiting > 0 && g.done[s][BackwardInput]-g.done[s][BackwardWeight] >= g.waiting
}

// ends reports whether s is the last stage and has the outcome of a microbatch, the loss
// and what it is made of, which goes back before another one comes.
func (g *lister) ends(s int) bool {
	return s == len(g.done)-1 && g.done[s][Forward] > g.done[s][BackwardInput]
}

// run does what a device has chosen, and brings what it makes to where it is read.
func (g *lister) run(d int) {
	dev := &g.devices[d]
	slot, s := dev.next, dev.next.Stage
	dev.slots = append(dev.slots, slot)
	dev.free = dev.start + g.c.slot(slot)
	g.done[s][slot.Kind]++
	switch last := len(g.done) - 1; {
	case slot.Kind == BackwardWeight:
		dev.held--
	case slot.Kind == Forward:
		dev.held++
		if s == last {
			g.backward[s] = append(g.backward[s], dev.free)
		} else {
			g.forward[s+1] = append(g.forward[s+1], g.arrival(slot, dev.free))
			g.choose(g.at.Device(s + 1))
		}
	case s > 0:
		g.backward[s-1] = append(g.backward[s-1], g.arrival(slot, dev.free))
		g.choose(g.at.Device(s - 1))
	}
	g.choose(d)
}

// arrival is when what a slot has made is where it is read.
func (g *lister) arrival(slot Slot, made float64) float64 {
	if m, crosses := g.at.Output(slot); crosses {
		return made + g.c.message(m.Boundary)
	}
	return made
}
