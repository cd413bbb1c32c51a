package train

import (
	"fmt"
	"slices"

	"ptc/runtime/checkpoint"
	"ptc/runtime/data"
)

// A run is fed in phases: steps with the same data and the same batch. A checkpoint says
// which there were, so that a run that goes on from it, with whatever batch and data, is fed
// what was not fed yet.

// phasesOf are the phases that a checkpoint says of, which was saved after its step. Of an
// older program's no more is known than the data's fingerprint; then batches are taken to
// have been of that size.
func phasesOf(c *checkpoint.Checkpoint, size int) []checkpoint.Phase {
	if len(c.Meta.Phases) > 0 || c.Meta.Step == 0 {
		return c.Meta.Phases
	}
	return []checkpoint.Phase{{First: 1, Batch: int64(size), Examples: c.Meta.Step * int64(size), Data: c.Meta.Data}}
}

// pastOf is what a run was fed before a checkpoint.
func pastOf(c *checkpoint.Checkpoint, size int) (*data.Past, error) {
	past := &data.Past{Steps: c.Meta.Step, Phases: fedIn(phasesOf(c, size))}
	for i := range past.Phases {
		if err := past.Phases[i].Check(); err != nil {
			return nil, &Error{Code: ExitFile, Msg: fmt.Sprintf("checkpoint %s is not valid: ptc cannot use its phase %d", c.Dir, i+1), Err: err}
		}
	}
	return past, nil
}

// fedIn are phases of a checkpoint as data has them.
func fedIn(phases []checkpoint.Phase) (out []data.Phase) {
	for _, p := range phases {
		q := data.Phase{Examples: p.Examples, Print: p.Data}
		q.Order = p.Order
		for _, s := range p.Sources {
			part := data.Part{Kind: s.Kind, Print: s.Data, Seed: s.Seed, Places: s.Share}
			for name, value := range s.Facts {
				part.Facts = append(part.Facts, data.Fact{Name: name, Value: value})
			}
			q.Parts = append(q.Parts, part)
		}
		out = append(out, q)
	}
	return out
}

// fed is what a run has been fed: phases that are over, and the one of its own steps.
type fed struct {
	over    []checkpoint.Phase
	now     checkpoint.Phase // without examples
	recipe  data.Recipe
	counted int64 // examples of the recipe before its first step
}

// until are the phases up to a step, and the fingerprint of the last one's data.
func (f *fed) until(step int64) (phases []checkpoint.Phase, print string) {
	if phases = slices.Clone(f.over); f.now.Batch > 0 && step >= f.now.First {
		phases = append(phases, withExamples(f.now, &f.recipe, f.counted, f.now.Batch*(step-f.now.First+1)))
	}
	if len(phases) > 0 {
		print = phases[len(phases)-1].Data
	}
	return phases, print
}

// withExamples is a phase with n examples of a recipe from a number on.
func withExamples(p checkpoint.Phase, r *data.Recipe, from, n int64) checkpoint.Phase {
	p.Examples, p.Sources = n, slices.Clone(p.Sources)
	for k, given := range r.Given(from, from+n) {
		p.Sources[k].Examples = given
	}
	return p
}
