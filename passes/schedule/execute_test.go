package schedule

import (
	"fmt"
	"math/rand/v2"
)

// The executor runs a program as hardware would: real values in a given number
// of buffers that nothing guards, channels that hand over whatever comes next,
// and devices that advance at random speeds. It shares no code with the proof
// or the simulation, and knows a wrong program only by its results.

// outcome is what a step makes: sums of gradients, as optimizers see them.
type outcome struct {
	weights []uint64 // for each stage
	inputs  uint64   // gradients of the input of stage 0
	losses  uint64
}

func (o outcome) String() string { return fmt.Sprint(o.weights, o.inputs, o.losses) }

func mix(xs ...uint64) uint64 {
	h := uint64(14695981039346656037)
	for _, x := range xs {
		h ^= x + 0x9e3779b97f4a7c15
		h *= 1099511628211
		h ^= h >> 29
	}
	return h
}

// The model: each function is a hash, so that any mistake shows.
func stageForward(stage int, x uint64) uint64     { return mix(1, uint64(stage), x) }
func lossOf(y uint64, i int) uint64               { return mix(2, y, uint64(i)) }
func lossGrad(y uint64, i int) uint64             { return mix(3, y, uint64(i)) }
func inputGrad(stage int, g, saved uint64) uint64 { return mix(4, uint64(stage), g, saved) }
func weightGrad(g, saved uint64) uint64           { return mix(5, g, saved) }
func example(i int) uint64                        { return mix(6, uint64(i)) }

// reference computes the step without a pipeline.
func reference(s Shape) outcome {
	n := s.Stages()
	out := outcome{weights: make([]uint64, n)}
	for i := 0; i < s.Microbatches; i++ {
		saved := make([]uint64, n+1)
		saved[0] = example(i)
		for stage := 0; stage < n; stage++ {
			saved[stage+1] = stageForward(stage, saved[stage])
		}
		out.losses += lossOf(saved[n], i)
		g := lossGrad(saved[n], i)
		for stage := n - 1; stage >= 0; stage-- {
			out.weights[stage] += weightGrad(g, saved[stage])
			g = inputGrad(stage, g, saved[stage])
		}
		out.inputs += g
	}
	return out
}

// link is an array of buffers that microbatches share in turn; without any, what
// is written is lost.
type link []uint64

func (l link) at(i int) *uint64 {
	if len(l) == 0 {
		return new(uint64)
	}
	return &l[i%len(l)]
}

type executor struct {
	p              *Program
	sends          Sends
	saved, grads   []link // by stage: forward inputs; gradients kept for BackwardWeight
	received, sent [payloads][]link
	queue          [payloads][][]uint64 // values under way
	taken, offered [payloads][]int
	next           []int
	begun          [][]int // transfers of the action under way: -1 not begun, -2 done, else position
	memory         [2]map[[2]int]uint64
	out            outcome
}

func newExecutor(p *Program, b Buffers, sends Sends) *executor {
	e := &executor{p: p, sends: sends, next: make([]int, len(p.Devices)), begun: make([][]int, len(p.Devices))}
	e.out.weights = make([]uint64, p.Shape.Stages())
	e.memory = [2]map[[2]int]uint64{{}, {}}
	for _, n := range b.Saved {
		e.saved, e.grads = append(e.saved, make(link, n)), append(e.grads, make(link, n))
	}
	for k := range e.queue {
		nb := p.Shape.Boundaries()
		e.queue[k], e.taken[k], e.offered[k] = make([][]uint64, nb), make([]int, nb), make([]int, nb)
		for i := 0; i < nb; i++ {
			e.received[k] = append(e.received[k], make(link, b.Received[k][i]))
			e.sent[k] = append(e.sent[k], make(link, b.Sent[k][i]))
		}
	}
	return e
}

// run advances devices at random until none can; it tells whether all came to
// their end with nothing left under way.
func (e *executor) run(rng *rand.Rand) bool {
	for {
		moved := false
		for _, d := range rng.Perm(len(e.next)) {
			for steps := 1 + rng.IntN(4); steps > 0 && e.step(d); steps-- {
				moved = true
			}
		}
		if !moved {
			break
		}
	}
	for d := range e.next {
		if e.next[d] < len(e.p.Devices[d]) {
			return false
		}
	}
	for k := range e.queue {
		for b := range e.queue[k] {
			if len(e.queue[k][b]) != e.taken[k][b] {
				return false
			}
		}
	}
	return true
}

func (e *executor) step(d int) bool {
	if e.next[d] == len(e.p.Devices[d]) {
		return false
	}
	a := e.p.Devices[d][e.next[d]]
	if a.IsRun() {
		e.compute(a.Slot)
		e.next[d]++
		return true
	}
	if e.begun[d] == nil {
		for range a.Transfers {
			e.begun[d] = append(e.begun[d], -1)
		}
	}
	moved, done := false, true
	for i, t := range a.Transfers {
		if state := &e.begun[d][i]; *state != -2 {
			moved = e.transfer(t, state) || moved
			done = done && *state == -2
		}
	}
	if done {
		e.begun[d] = nil
		e.next[d]++
		return true
	}
	return moved
}

// transfer tries one transfer and tells whether something happened.
func (e *executor) transfer(t Transfer, state *int) bool {
	k, b, i := t.Message.Payload, t.Message.Boundary, t.Message.Microbatch
	queue, taken := &e.queue[k][b], &e.taken[k][b]
	switch {
	case !t.Send:
		if *taken == len(*queue) {
			return false
		}
		*e.received[k][b].at(i) = (*queue)[*taken]
		*taken++
		*state = -2
		return true
	case *state >= 0: // offered
		if *taken <= *state {
			return false
		}
		*state = -2
		return true
	case !e.sends.Synchronous && len(*queue)-*taken >= e.sends.Capacity:
		return false
	}
	*queue = append(*queue, *e.sent[k][b].at(i))
	*state = -2
	if e.sends.Synchronous {
		*state = len(*queue) - 1
	}
	return true
}

// read returns what a slot finds at a boundary: in a buffer, or in memory where
// both stages share a device. write is its counterpart.
func (e *executor) read(k Payload, boundary, i int) uint64 {
	if e.p.Shape.Devices == 1 {
		return e.memory[k][[2]int{boundary, i}]
	}
	return *e.received[k][boundary].at(i)
}

func (e *executor) write(k Payload, boundary, i int, x uint64) {
	if e.p.Shape.Devices == 1 {
		e.memory[k][[2]int{boundary, i}] = x
		return
	}
	*e.sent[k][boundary].at(i) = x
}

func (e *executor) compute(s Slot) {
	stage, i, last := s.Stage, s.Microbatch, e.p.Shape.Stages()-1
	saved, kept := e.saved[stage].at(i), e.grads[stage].at(i)
	switch s.Kind {
	case Forward:
		*saved = example(i)
		if stage > 0 {
			*saved = e.read(Activation, stage-1, i)
		}
		if y := stageForward(stage, *saved); stage < last {
			e.write(Activation, stage, i, y)
		} else {
			e.out.losses += lossOf(y, i)
		}
	case Backward, BackwardInput:
		var g uint64
		if stage < last {
			g = e.read(Gradient, stage, i)
		} else {
			g = lossGrad(stageForward(stage, *saved), i)
		}
		if x := inputGrad(stage, g, *saved); stage > 0 {
			e.write(Gradient, stage-1, i, x)
		} else {
			e.out.inputs += x
		}
		if s.Kind == BackwardInput {
			*kept = g
			return
		}
		e.out.weights[stage] += weightGrad(g, *saved)
	case BackwardWeight:
		e.out.weights[stage] += weightGrad(*kept, *saved)
	}
}

// wrong runs a program several times and says what went wrong, or nothing.
func wrong(p *Program, b Buffers, sends Sends, rng *rand.Rand) string {
	want := reference(p.Shape).String()
	for range 4 {
		e := newExecutor(p, b, sends)
		if !e.run(rng) {
			return "hangs"
		}
		if e.out.String() != want {
			return "changes the result"
		}
	}
	return ""
}
