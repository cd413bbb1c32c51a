package pipeline

import (
	"fmt"
	"strconv"
)

// Kind says what a slot does with a microbatch at a stage.
type Kind uint8

// The kinds of slots. A backward pass is either one Backward slot, or a
// BackwardInput followed at any later time by a BackwardWeight.
const (
	// Forward computes the stage's output and saves its activations.
	Forward Kind = iota
	// Backward computes the gradients of the stage's input and of its weights
	// and releases the activations.
	Backward
	// BackwardInput computes only the gradient of the stage's input, which is
	// what the previous stage waits for.
	BackwardInput
	// BackwardWeight computes the gradients of the weights and releases the
	// activations.
	BackwardWeight

	kinds = 4
)

var kindNames = [kinds]string{"forward", "backward", "input backward", "weight backward"}

// String returns the kind in words.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// Letter returns the kind as timelines write it: F, B, I (input), W (weight).
func (k Kind) Letter() byte {
	if k < kinds {
		return "FBIW"[k]
	}
	return '?'
}

// Slot is one unit of work of a device.
type Slot struct {
	Kind Kind
	// Stage is the virtual stage, 0 ≤ Stage < p·v.
	Stage int
	// Microbatch is in [0, m).
	Microbatch int
}

// String names the slot in words.
func (s Slot) String() string {
	return fmt.Sprintf("%s of microbatch %d at stage %d", s.Kind, s.Microbatch, s.Stage)
}

// Shape is what a schedule is made for.
type Shape struct {
	// Devices is p, the size of the pipeline's mesh axis.
	Devices int
	// Microbatches is m, the number of pieces of the batch.
	Microbatches int
	// Chunks is v, the number of virtual stages on each device.
	Chunks int
	// ForwardOnly is whether there are no backward passes, as in validation.
	ForwardOnly bool
	// Waiting is how many input backwards of a virtual stage have a weight backward that is
	// still to come, at most; 0 is any number. Each keeps what its stage has computed again
	// and the gradients of that, which may be many times what waits for a backward pass.
	Waiting int
}

// maxSlots bounds a schedule so that a mistyped number is an error and not an
// exhausted memory.
const maxSlots = 1 << 22

// Validate returns an error unless every size is at least 1 and the schedule
// has a number of slots that can be held.
func (s Shape) Validate() error {
	for _, f := range []struct {
		n    int
		what string
	}{{s.Devices, "devices"}, {s.Microbatches, "microbatches"}, {s.Chunks, "chunks per device"}} {
		if f.n < 1 {
			return faultf(BadShape, "a pipeline needs at least 1 of its %s, found %d", f.what, f.n)
		}
		if f.n > maxSlots {
			return faultf(BadShape, "%d %s are too many: a schedule has at most %d slots", f.n, f.what, maxSlots)
		}
	}
	if s.Waiting < 0 {
		return faultf(BadShape, "%d weight backwards cannot wait", s.Waiting)
	}
	// Each factor is at most 2^22, so the product of two fits in 64 bits.
	if n := int64(s.Devices) * int64(s.Chunks); n > maxSlots || n*int64(s.Microbatches)*3 > maxSlots {
		return faultf(BadShape, "%d devices × %d chunks × %d microbatches are too many: a schedule has at most %d slots",
			s.Devices, s.Chunks, s.Microbatches, maxSlots)
	}
	return nil
}

// Stages returns p·v, the number of virtual stages.
func (s Shape) Stages() int { return s.Devices * s.Chunks }

// String says the shape in words.
func (s Shape) String() string {
	text := fmt.Sprintf("%d devices × %d chunks and %d microbatches", s.Devices, s.Chunks, s.Microbatches)
	if s.ForwardOnly {
		text += ", forward only"
	}
	return text
}

// Schedule assigns to each device the slots that it runs, in order.
type Schedule struct {
	// Name is the registered name, or empty.
	Name  string
	Shape Shape
	Place *Placement
	// Devices holds one ordered list for each device.
	Devices [][]Slot
}
