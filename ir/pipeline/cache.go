package pipeline

// mostCached is how many schedules a [Cache] keeps.
const mostCached = 64

// Cache keeps schedules that were made, since those of a greedy order take long. Nil keeps none. Only one goroutine at a time may
// use it.
type Cache struct{ made map[key]*cached }

type key struct {
	name  string
	shape Shape
}

type cached struct {
	schedule *Schedule
	err      error
	needs    []Needs
}

// New is the schedule of a name and shape with uniform costs, as that of the function [New]. It is not to be changed.
func (c *Cache) New(name string, s Shape) (*Schedule, error) {
	x := c.of(name, s)
	return x.schedule, x.err
}

// Needs are those of a schedule's devices.
func (c *Cache) Needs(name string, s Shape) ([]Needs, error) {
	x := c.of(name, s)
	if x.err == nil && x.needs == nil {
		x.needs = x.schedule.Needs()
	}
	return x.needs, x.err
}

func (c *Cache) of(name string, s Shape) *cached {
	k := key{name, s}
	if c != nil && c.made[k] != nil {
		return c.made[k]
	}
	x := &cached{}
	x.schedule, x.err = New(name, s, Costs{})
	if c == nil {
		return x
	}
	if len(c.made) >= mostCached {
		c.made = nil
	}
	if c.made == nil {
		c.made = map[key]*cached{}
	}
	c.made[k] = x
	return x
}
