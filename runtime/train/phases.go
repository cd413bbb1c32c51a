package train

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ptc/runtime/checkpoint"
	"ptc/runtime/data"
)

// A run is fed in phases: steps with the same data and the same batch. A checkpoint says
// which there were, so that a run that goes on from it, with whatever batch and data, is fed
// what was not fed yet.

// change says in which way a run differs from the one that it goes on from.
type change struct {
	what, goesOn string // for the user; empty where nothing changes
	data         bool   // it is fed other data
	passed       bool   // its last step has been reached, in a phase with other batches or other data
}

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
			return nil, &Error{Code: ExitFile, Msg: fmt.Sprintf("checkpoint %s cannot be used: its phase %d is none", c.Dir, i+1), Err: err}
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

// phase is that of a feed from a step on, with nothing fed yet.
func (f *feed) phase(first int64) (checkpoint.Phase, data.Recipe) {
	r := f.src.Recipe()
	p := checkpoint.Phase{First: first, Batch: int64(f.fields[0].Shape[0]), Data: f.fingerprint(), Order: r.Order}
	for _, part := range r.Parts {
		s := checkpoint.Source{Kind: part.Kind, Data: part.Print, Seed: part.Seed, Share: part.Places, Facts: map[string]string{}}
		for _, fact := range part.Facts {
			s.Facts[fact.Name] = fact.Value
		}
		p.Sources = append(p.Sources, s)
	}
	return p, r
}

// openPhase compares what the run is fed with what it was fed before the checkpoint, if it
// goes on from one, and notes what checkpoints have to say of it.
func (r *run) openPhase(c *checkpoint.Checkpoint) error {
	if r.keeper == nil {
		return nil
	}
	r.keeper.meta.Seed = r.seed
	if r.feed.src == nil {
		if c != nil && c.Meta.Data != "" && r.first <= r.last {
			return errorf(ExitFile, "checkpoint %s is of a run on data, and this plan takes none", c.Dir).
				hint("to train its parameters without data, start a run with --init %s", c.ParamsPlace())
		}
		return r.checkAfter(c)
	}
	f := &r.keeper.fed
	f.now, f.recipe = r.feed.phase(r.first)
	if c != nil {
		f.over = phasesOf(c, int(f.now.Batch))
	}
	if len(f.over) == 0 {
		return r.checkAfter(c)
	}
	before := f.over[len(f.over)-1]
	if err := r.compareData(c, before); err != nil {
		return err
	}
	if len(before.Sources) == 0 {
		r.warn(fmt.Sprintf("checkpoint %s was saved by an earlier ptc, which did not say the batch: the run goes on as if it had been %d", c.Dir, before.Batch))
		if !r.changed.data {
			f.over = []checkpoint.Phase{withExamples(f.now, &f.recipe, 0, before.Examples)}
			f.over[0].First = before.First
		}
	}
	all := fedIn(f.over)
	r.tellChange(before, all)
	if !r.changed.data && before.Batch == f.now.Batch { // the same phase goes on
		f.over, all = f.over[:len(f.over)-1], all[:len(all)-1]
		f.now.First = before.First
	}
	f.counted = data.Counted(all, &f.recipe)
	if r.best = math.Inf(1); r.o.ResumeFrom == "" {
		r.best = r.keeper.best(f.now.Data)
	}
	return r.checkAfter(c)
}

// checkAfter refuses to begin a phase before the one before it has ended, or behind its end: an
// interruption ends a run without an error, and a script goes on with its next line.
func (r *run) checkAfter(c *checkpoint.Checkpoint) error {
	switch after := r.o.After; {
	case after == 0 || r.first > r.last:
		return nil
	case c == nil:
		return errorf(ExitFile, "the run is to go on behind step %d, and there is no checkpoint in %s", after, r.o.Checkpoint).
			hint("run what comes before it")
	case c.Meta.Step < after:
		return errorf(ExitFile, "the run is to go on behind step %d, and checkpoint %s is of step %d", after, c.Dir, c.Meta.Step).
			hint("let what comes before it finish")
	case c.Meta.Step > after && r.changed.what != "":
		return errorf(ExitFile, "the run is to go on behind step %d with other %s, and checkpoint %s is of step %d", after, r.changed.what, c.Dir, c.Meta.Step).
			hint("go on from that of step %d with --resume=PLACE, or drop --after", after)
	}
	return nil
}

// compareData refuses to go on with other data, unless that is wished for: the batches that follow
// would be neither those of the run that stopped, nor those of a run that starts.
func (r *run) compareData(c *checkpoint.Checkpoint, before checkpoint.Phase) error {
	f := &r.keeper.fed
	old := fedIn([]checkpoint.Phase{before})[0].Recipe
	differs := before.Data != f.now.Data
	if len(old.Parts) > 0 {
		differs = differs || !f.recipe.Same(&old)
	}
	if r.changed.data = differs; !differs {
		return nil
	}
	what := "files, weights, window or tokenizer have changed; its program did not say which"
	if len(old.Parts) > 0 {
		what = f.recipe.Difference(&old)
	}
	r.changed.what = what
	if r.o.NewData || r.first > r.last { // else nothing is fed
		return nil
	}
	return errorf(ExitFile, "checkpoint %s is of a run on other data: %s", c.Dir, what).
		hint("--new-data goes on with this data, with the step and the optimizer's state; to train the parameters from the first step on, start a run with --init %s",
			c.ParamsPlace())
}

// tellChange says what changes against the phase before, and what goes on.
func (r *run) tellChange(before checkpoint.Phase, all []data.Phase) {
	f := &r.keeper.fed
	var what []string
	if before.Batch != f.now.Batch {
		what = append(what, fmt.Sprintf("batch (%d, now %d)", before.Batch, f.now.Batch))
	}
	if r.changed.data {
		what = append(what, r.changed.what)
	}
	if len(what) == 0 || r.first > r.last {
		r.changed.what, r.changed.passed = "", len(what) > 0
		return
	}
	goesOn := []string{"parameters", "state of the optimizer", fmt.Sprintf("steps from %d on", r.first)}
	for k := range f.recipe.Parts {
		name := "data"
		if len(f.recipe.Parts) > 1 {
			name = fmt.Sprintf("source %d", k+1)
		}
		n := data.Fed(all, &f.recipe.Parts[k])
		goesOn = append(goesOn, fmt.Sprintf("%s from example %d on", name, n+1))
	}
	r.changed.what, r.changed.goesOn = strings.Join(what, "; "), strings.Join(goesOn, ", ")
}
