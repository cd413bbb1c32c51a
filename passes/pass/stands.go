package pass

import "ptc/ir/pipeline"

// Stands says which devices along the axis of a pipeline stand for others that do the same, so that a plan for all of them can be
// known from the programs of a few. Passes then compile the stages of those alone, with the numbers that they have among all.
type Stands struct {
	// Of is, by device along the axis, the device that stands for it, which stands for itself.
	Of []int
	// Place says on which device the virtual stages are.
	Place *pipeline.Placement
	// Blocks is the path of the repeated module, and First is, by virtual stage, the number of its first block.
	Blocks string
	First  []int
	// Programs are, by the name of a device's function, what its messages are, and when devices that it stands for do
	// its tasks.
	Programs map[string]*Stood
	// Irregular says why no device can stand for another after all; empty where they can.
	Irregular string
}

// Stood is what is known of a program that stands for those of other devices.
type Stood struct {
	// Hops are, by tag, the messages between stages that follow one another. All others have a device at one end that
	// stands for itself alone; the sends to devices that another one stands for are in its program.
	Hops map[int]Hop
	// Ticks are, by device, its ticks: the tasks by their place in the function.
	Ticks map[int][]Tick
}

// Hop is a message from a virtual stage to the next one, or to the one before it.
type Hop struct {
	Stage int // at this end
	To    int // 1 or −1: where the other end is
	Send  bool
	// Number tells hops of one stage, direction and end apart, in the order of tags.
	Number int
}

// Tick is a tick of a task, by its place among those of a function, for a microbatch.
type Tick struct{ Task, Micro int }

// Compiled reports whether the programs of a device along the axis are compiled; all of them for nil.
func (s *Stands) Compiled(device int) bool { return s == nil || s.Of[device] == device }

// Count is for how many devices one stands, itself among them; 1 for nil.
func (s *Stands) Count(device int) int64 {
	if s == nil {
		return 1
	}
	n := int64(0)
	for _, d := range s.Of {
		if d == device {
			n++
		}
	}
	return n
}

// For are the devices that one stands for, itself among them, in order.
func (s *Stands) For(device int) []int {
	if s == nil {
		return []int{device}
	}
	var out []int
	for d, of := range s.Of {
		if of == device {
			out = append(out, d)
		}
	}
	return out
}
