package schedule

import (
	"fmt"
	"sort"
	"strings"
)

// Row is all there is to know about a schedule. Each schedule registers one in
// its own file.
type Row struct {
	Name string
	// Summary is one line for users.
	Summary string
	// Source is where the schedule was published.
	Source string
	// Chunks tells whether a device may hold more than one chunk.
	Chunks bool
	// Split tells whether the backward pass comes as BackwardInput and
	// BackwardWeight.
	Split bool
	// Check rejects shapes the schedule is not defined for, beyond what Shape
	// itself demands. May be nil.
	Check func(Shape) error
	// Device returns the slots of one device. The shape has been checked.
	Device func(s Shape, device int) []Slot
	// Bubble is the published closed form of the idle share of the step, for
	// stages of equal cost, free transfers and asynchronous sends; each file
	// says for which costs it is exact.
	Bubble func(Shape, Unit) float64
	// Peak is the closed form of the greatest number of activations (of one
	// microbatch at one virtual stage) that a device holds at once.
	Peak func(s Shape, device int) int
}

var rows = map[string]*Row{}

// Register adds a schedule. It is called from init; a row that lacks a field or
// takes a name again is a mistake in the program and panics.
func Register(r Row) {
	if r.Name == "" || r.Summary == "" || r.Source == "" || r.Device == nil || r.Bubble == nil || r.Peak == nil {
		panic(fmt.Sprintf("schedule %q: incomplete row", r.Name))
	}
	if rows[r.Name] != nil {
		panic(fmt.Sprintf("schedule %q is registered twice", r.Name))
	}
	rows[r.Name] = &r
}

// Names returns the names of all schedules, sorted.
func Names() []string {
	names := make([]string, 0, len(rows))
	for n := range rows {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Lookup returns the row of a schedule, or an error that lists the names.
func Lookup(name string) (*Row, error) {
	if r := rows[name]; r != nil {
		return r, nil
	}
	return nil, faultf(BadShape, "no pipeline schedule is called %q; there are %s", name, strings.Join(Names(), ", "))
}

// New returns the schedule of that name for a shape, or an error in terms of
// the user's numbers if there is none.
func New(name string, s Shape) (*Schedule, error) {
	row, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.Chunks > 1 && !row.Chunks {
		return nil, faultf(BadShape, "schedule %s keeps 1 chunk on each device, found %d; schedules with chunks: %s",
			name, s.Chunks, strings.Join(withChunks(), ", "))
	}
	if row.Check != nil {
		if err := row.Check(s); err != nil {
			return nil, err
		}
	}
	out := &Schedule{Name: name, Shape: s, Devices: make([][]Slot, s.Devices)}
	for d := range out.Devices {
		out.Devices[d] = row.Device(s, d)
	}
	return out, nil
}

func withChunks() []string {
	var names []string
	for _, n := range Names() {
		if rows[n].Chunks {
			names = append(names, n)
		}
	}
	return names
}
