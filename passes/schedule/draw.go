package schedule

import (
	"strings"

	"ptc/ir/pipeline"
	"ptc/passes/pass"
)

// drawn is the greatest number of columns of a timeline in the remarks.
const drawn = 100

// draw says, in remarks, what each device does when if all stages take the same
// time and a backward pass twice that of a forward pass, the times of the usual
// figures (Narayanan et al., 2021, figures 3 and 4): the idle share, the most
// activations that each device holds, and the timeline, a column for a forward
// pass, unless it is wide.
func draw(c *pass.Context, x *pipeline.Schedule) error {
	unit := pipeline.Unit{Forward: 1, Input: 1, Weight: 1}
	r, err := pipeline.Simulate(x, pipeline.Uniform(x.Shape, unit), pipeline.Unbounded)
	if err != nil {
		return err
	}
	c.Remarkf(nil, "@step: a bubble of %.1f%% if all stages take the same time and a backward pass takes twice as long as a forward pass; most activations held, by device: %v",
		100*r.Bubble, r.Peak)
	if x.Shape.Chunks > 1 {
		stages := make([][]int, x.Shape.Devices)
		for d := range stages {
			stages[d] = x.Place.Stages(d)
		}
		c.Remarkf(nil, "@step: stages, by device: %v", stages)
	}
	if r.Makespan > drawn {
		return nil
	}
	text, err := r.Timeline(1)
	if err != nil {
		return err
	}
	for _, row := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		c.Remarkf(nil, "%s", row)
	}
	return nil
}
