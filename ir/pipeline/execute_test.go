package pipeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The executor runs a schedule as hardware would: real values in memory that nothing
// guards, channels that hand over whatever comes next, and devices that advance at
// random speeds. It shares no code with the proof or the simulation, and knows a
// wrong schedule only by its results.

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

// place is where a value is: an activation saved or a gradient kept for a stage, or
// what lies at a boundary on the device of a stage.
type place struct {
	what            string
	stage, boundary int
	microbatch      int
}

type executor struct {
	s      *Schedule
	room   int
	memory []map[place]uint64 // of each device
	queue  map[[2]int][]uint64
	next   []int // thirds of slots: receive, run, send
	out    outcome
	sums   []int // microbatches that each stage has added up
	mixed  bool  // they were out of order
}

func newExecutor(s *Schedule, room int) *executor {
	e := &executor{s: s, room: room, next: make([]int, len(s.Devices)), queue: map[[2]int][]uint64{}, sums: make([]int, s.Shape.Stages())}
	e.out.weights = make([]uint64, s.Shape.Stages())
	for range s.Devices {
		e.memory = append(e.memory, map[place]uint64{})
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
		if e.next[d] < 3*len(e.s.Devices[d]) {
			return false
		}
	}
	for _, q := range e.queue {
		if len(q) > 0 {
			return false
		}
	}
	return !e.mixed
}

// step does a third of a slot on device d, and tells whether it could.
func (e *executor) step(d int) bool {
	slots := e.s.Devices[d]
	if e.next[d] == 3*len(slots) {
		return false
	}
	slot := slots[e.next[d]/3]
	backward := slot.Kind == Backward || slot.Kind == BackwardInput
	from, to := slot.Stage-1, slot.Stage+1 // stages it reads of and makes for
	if backward {
		from, to = to, from
	}
	at := func(stage int) int { // the device of a stage, -1 where there is none
		if stage < 0 || stage >= e.s.Shape.Stages() || slot.Kind == BackwardWeight {
			return -1
		}
		return e.s.Place.Device(stage)
	}
	switch e.next[d] % 3 {
	case 0:
		if x := at(from); x >= 0 && x != d {
			q := e.queue[[2]int{from, slot.Stage}]
			if len(q) == 0 {
				return false
			}
			e.queue[[2]int{from, slot.Stage}] = q[1:]
			e.memory[d][place{"between", from, slot.Stage, slot.Microbatch}] = q[0]
		}
	case 1:
		e.compute(e.memory[d], slot)
	case 2:
		if x := at(to); x >= 0 && x != d {
			q := e.queue[[2]int{slot.Stage, to}]
			if len(q) >= e.room {
				return false
			}
			e.queue[[2]int{slot.Stage, to}] = append(q, e.memory[d][place{"between", slot.Stage, to, slot.Microbatch}])
		}
	}
	e.next[d]++
	return true
}

func (e *executor) compute(memory map[place]uint64, s Slot) {
	stage, i, last := s.Stage, s.Microbatch, e.s.Shape.Stages()-1
	saved, kept := place{"saved", stage, 0, i}, place{"kept", stage, 0, i}
	between := func(from, to int) place { return place{"between", from, to, i} }
	if s.Kind == Backward || s.Kind == BackwardWeight {
		e.mixed = e.mixed || e.sums[stage] != i
		e.sums[stage]++
	}
	switch s.Kind {
	case Forward:
		memory[saved] = example(i)
		if stage > 0 {
			memory[saved] = memory[between(stage-1, stage)]
		}
		if y := stageForward(stage, memory[saved]); stage < last {
			memory[between(stage, stage+1)] = y
		} else {
			e.out.losses += lossOf(y, i)
		}
	case Backward, BackwardInput:
		var g uint64
		if stage < last {
			g = memory[between(stage+1, stage)]
		} else {
			g = lossGrad(stageForward(stage, memory[saved]), i)
		}
		if x := inputGrad(stage, g, memory[saved]); stage > 0 {
			memory[between(stage, stage-1)] = x
		} else {
			e.out.inputs += x
		}
		if s.Kind == BackwardInput {
			memory[kept] = g
			return
		}
		e.out.weights[stage] += weightGrad(g, memory[saved])
	case BackwardWeight:
		e.out.weights[stage] += weightGrad(memory[kept], memory[saved])
	}
}

// wrong runs a schedule several times and says what went wrong, or nothing.
func wrong(s *Schedule, room int, rng *rand.Rand) string {
	want := reference(s.Shape).String()
	for range 4 {
		e := newExecutor(s, room)
		if !e.run(rng) {
			return "hangs"
		}
		if e.out.String() != want {
			return "changes the result"
		}
	}
	return ""
}

// TestSchedulesAreExecuted: every schedule of every shape computes what one device
// does, at any speed of its devices, whatever costs it was made for.
func TestSchedulesAreExecuted(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	everyShape(t, 5, 11, func(t *testing.T, s *Schedule) {
		costly, err := New(s.Name, s.Shape, randomCosts(rng, s.Shape))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []*Schedule{s, costly} {
			if err := Prove(x, s.Shape, Unbounded); err != nil {
				t.Errorf("%s, %s: %v", s.Name, s.Shape, err)
			}
			if w := wrong(x, Unbounded, rng); w != "" {
				t.Errorf("%s, %s: %s", s.Name, s.Shape, w)
			}
			row, _ := Lookup(s.Name)
			for d, peak := range simulate(t, x, Unit{1, 1, 1, 0}).Peak {
				if limit := row.Peak(s.Shape, d); peak > limit {
					t.Errorf("%s, %s: device %d holds %d activations, at most %d", s.Name, s.Shape, d, peak, limit)
				}
			}
		}
	})
}
