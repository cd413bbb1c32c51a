package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Row is all there is to know about a schedule. Each schedule registers one in
// its own file; nothing else names it.
type Row struct {
	Name string
	// Summary is one line for users.
	Summary string
	// Source is where the schedule was published.
	Source string
	// Least and Most are the numbers of chunks that a device may have; Least is
	// what it has where nothing is said. Both are 1 where they are left empty, and
	// Any stands for no bound.
	Least, Most int
	// Split tells whether a backward pass may come as BackwardInput and
	// BackwardWeight.
	Split bool
	// Place lists the device of each virtual stage; nil is [Loop].
	Place func(devices, chunks int) []int
	// Slots returns the slots of each device. The shape and the costs have been
	// checked; schedules of a fixed order take no account of the costs.
	Slots func(s Shape, at *Placement, c Costs) [][]Slot
	// Bubble is the closed form of the idle share of the step, for any number of weight
	// backwards that wait, stages of equal cost and messages that take no time; nil or NaN where none is known. Each
	// file says for which costs it is exact.
	Bubble func(Shape, Unit) float64
	// Peak is the greatest number of activations (of one microbatch at one virtual
	// stage) that a device holds at once: never more, and where Bubble is known no
	// fewer.
	Peak func(s Shape, device int) int
}

// Any is a number of chunks without a bound.
const Any = maxSlots

var rows = map[string]*Row{}

// Register adds a schedule. It is called from init; a row that lacks a field or
// takes a name again is a mistake in the program and panics.
func Register(r Row) {
	if r.Name == "" || r.Summary == "" || r.Source == "" || r.Slots == nil || r.Peak == nil {
		panic(fmt.Sprintf("schedule %q: incomplete row", r.Name))
	}
	if rows[r.Name] != nil {
		panic(fmt.Sprintf("schedule %q is registered twice", r.Name))
	}
	r.Least = max(r.Least, 1)
	r.Most = max(r.Most, r.Least)
	if r.Place == nil {
		r.Place = Loop
	}
	rows[r.Name] = &r
}

// Names returns the names of all schedules, sorted.
func Names() []string {
	return slices.Sorted(maps.Keys(rows))
}

// Lookup returns the row of a schedule, or an error that lists the names.
func Lookup(name string) (*Row, error) {
	if r := rows[name]; r != nil {
		return r, nil
	}
	return nil, faultf(BadShape, "no pipeline schedule is called %q; there are %s", name, strings.Join(Names(), ", "))
}

// PlacementOf returns where a schedule has the virtual stages, or an error in terms
// of the user's numbers if it has none for so many chunks.
func PlacementOf(name string, devices, chunks int) (*Placement, error) {
	row, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if err := (Shape{Devices: devices, Microbatches: 1, Chunks: chunks}).Validate(); err != nil {
		return nil, err
	}
	if chunks < row.Least || chunks > row.Most {
		var others []string
		for _, n := range Names() {
			if rows[n].Least <= chunks && chunks <= rows[n].Most {
				others = append(others, n)
			}
		}
		return nil, faultf(BadShape, "schedule %s keeps %s on each device, found %d; schedules with so many: %s",
			name, row.chunks(), chunks, strings.Join(others, ", "))
	}
	return Place(row.Place(devices, chunks)), nil
}

// chunks says how many chunks a device has.
func (r *Row) chunks() string {
	switch {
	case r.Most == Any:
		return fmt.Sprintf("at least %d chunks", r.Least)
	case r.Least < r.Most:
		return fmt.Sprintf("%d to %d chunks", r.Least, r.Most)
	case r.Least == 1:
		return "1 chunk"
	}
	return fmt.Sprintf("%d chunks", r.Least)
}

// New returns the schedule of that name for a shape, or an error in terms of
// the user's numbers if there is none. No costs are the same for all stages: one
// unit for each of forward, input and weight gradients, and no time for messages.
// A schedule without backward passes has the forward passes of the one with them, in
// its order.
func New(name string, s Shape, c Costs) (*Schedule, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	place, err := PlacementOf(name, s.Devices, s.Chunks)
	if err != nil {
		return nil, err
	}
	if c.Forward == nil {
		c = Uniform(s, Unit{Forward: 1, Input: 1, Weight: 1})
	}
	if err := c.check(s); err != nil {
		return nil, err
	}
	devices := rows[name].Slots(s, place, c)
	if s.Waiting > 0 && rows[name].Split {
		for d := range devices {
			devices[d] = sooner(devices[d], s.Waiting)
		}
	}
	if s.ForwardOnly {
		for d := range devices {
			devices[d] = slices.DeleteFunc(devices[d], func(x Slot) bool { return x.Kind != Forward })
		}
	}
	return &Schedule{Name: name, Shape: s, Place: place, Devices: devices}, nil
}

// Rounds is s for rounds times as many microbatches: each device runs its slots over and
// over, each time for the next microbatches. What a device holds at once stays that of
// one round, since a device ends a round before it begins the next one.
func (s *Schedule) Rounds(rounds int) *Schedule {
	out := &Schedule{Name: s.Name, Shape: s.Shape, Place: s.Place, Devices: make([][]Slot, len(s.Devices))}
	out.Shape.Microbatches *= rounds
	for d, slots := range s.Devices {
		for r := range rounds {
			for _, x := range slots {
				x.Microbatch += r * s.Shape.Microbatches
				out.Devices[d] = append(out.Devices[d], x)
			}
		}
	}
	return out
}

// sooner has no more weight backwards of a stage wait: the oldest one comes before the input
// backward that would be one too many. What another device waits for keeps its order.
func sooner(slots []Slot, most int) []Slot {
	out := make([]Slot, 0, len(slots))
	waiting := map[int][]Slot{}
	done := map[Slot]bool{}
	for _, x := range slots {
		w := waiting[x.Stage]
		switch {
		case done[x]:
			continue
		case x.Kind == BackwardWeight:
			w = w[1:] // a stage takes microbatches in order
		case x.Kind == BackwardInput:
			if len(w) == most {
				out, done[w[0]], w = append(out, w[0]), true, w[1:]
			}
			w = append(w, Slot{BackwardWeight, x.Stage, x.Microbatch})
		}
		waiting[x.Stage] = w
		out = append(out, x)
	}
	return out
}

// each makes the slots of a schedule of a fixed order device by device.
func each(of func(s Shape, stages []int, device int) []Slot) func(Shape, *Placement, Costs) [][]Slot {
	return func(s Shape, at *Placement, _ Costs) [][]Slot {
		out := make([][]Slot, s.Devices)
		for d := range out {
			out[d] = slices.Clip(of(s, at.Stages(d), d))
		}
		return out
	}
}
