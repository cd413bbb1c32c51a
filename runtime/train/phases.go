package train

import (
	"fmt"
	"strings"

	"ptc/runtime/checkpoint"
	"ptc/runtime/data"
)

// change says in which way a run differs from the one that it goes on from.
type change struct {
	what, goesOn string // for the user; empty where nothing changes
	data         bool   // it is fed other data
	passed       bool   // its last step has been reached, in a phase with other batches or other data
}

// openPhase compares what the run is fed with what it was fed before the checkpoint, if it
// goes on from one, and gives what checkpoints have to say of it.
func openPhase(j *job, s *start, f *feed, last int64) (of fed, ch change, err error) {
	c := s.from
	if f.src == nil {
		if c != nil && c.Meta.Data != "" && s.first <= last {
			return of, ch, errorf(ExitFile, "checkpoint %s comes from a run with data, but this plan reads none", c.Dir).
				hint("to train its parameters without data, pass --init %s instead of --resume", c.ParamsPlace())
		}
		return of, ch, checkAfter(j, s, last, "")
	}
	of.now, of.recipe = f.phase(s.first)
	if c != nil {
		of.over = phasesOf(c, int(of.now.Batch))
	}
	if len(of.over) == 0 {
		return of, ch, checkAfter(j, s, last, "")
	}
	before := of.over[len(of.over)-1]
	if ch.what, ch.data = of.difference(before); ch.data && !j.o.NewData && s.first <= last { // else nothing is fed
		return of, ch, errorf(ExitFile, "checkpoint %s comes from a run on other data: %s", c.Dir, ch.what).
			hint("pass --new-data to keep the step and the state of the optimizer and to continue with this data; to train the parameters from the first step, pass --init %s instead of --resume",
				c.ParamsPlace())
	}
	if len(before.Sources) == 0 {
		j.log.warn(fmt.Sprintf("an earlier ptc saved checkpoint %s without the size of the batch: the run continues as if it was %d", c.Dir, before.Batch))
		if !ch.data {
			of.over = []checkpoint.Phase{withExamples(of.now, &of.recipe, 0, before.Examples)}
			of.over[0].First = before.First
		}
	}
	all := fedIn(of.over)
	ch.describe(before, &of, all, s.first, last)
	if !ch.data && before.Batch == of.now.Batch { // the same phase goes on
		of.over, all = of.over[:len(of.over)-1], all[:len(all)-1]
		of.now.First = before.First
	}
	of.counted = data.Counted(all, &of.recipe)
	return of, ch, checkAfter(j, s, last, ch.what)
}

// checkAfter refuses to begin a phase before the one before it has ended, or behind its end: an
// interruption ends a run without an error, and a script goes on with its next line.
func checkAfter(j *job, s *start, last int64, changed string) error {
	switch after, c := j.o.After, s.from; {
	case after == 0 || s.first > last:
		return nil
	case c == nil:
		return errorf(ExitFile, "--after is %d, but %s has no checkpoint", after, j.o.Checkpoint).
			hint("run the phases before it first")
	case c.Meta.Step < after:
		return errorf(ExitFile, "--after is %d, but checkpoint %s is of step %d", after, c.Dir, c.Meta.Step).
			hint("let the phase before it finish")
	case c.Meta.Step > after && changed != "":
		return errorf(ExitFile, "--after is %d and the run changes %s, but checkpoint %s is of step %d", after, changed, c.Dir, c.Meta.Step).
			hint("resume from a checkpoint of step %d with --resume=PLACE, or drop --after", after)
	}
	return nil
}

// difference says whether the data of the run's own phase is other than that of the one before, and in which way.
// With other data, the batches that follow would be neither those of the run that stopped, nor those of a run that
// starts.
func (f *fed) difference(before checkpoint.Phase) (what string, differs bool) {
	old := fedIn([]checkpoint.Phase{before})[0].Recipe
	switch {
	case len(old.Parts) > 0 && (before.Data != f.now.Data || !f.recipe.Same(&old)):
		return f.recipe.Difference(&old), true
	case before.Data != f.now.Data:
		return "files, weights, window or tokenizer have changed; an earlier ptc saved the checkpoint, and does not say which", true
	}
	return "", false
}

// describe says what changes against the phase before, and what goes on.
func (c *change) describe(before checkpoint.Phase, f *fed, all []data.Phase, first, last int64) {
	var what []string
	if before.Batch != f.now.Batch {
		what = append(what, fmt.Sprintf("batch (%d, now %d)", before.Batch, f.now.Batch))
	}
	if c.data {
		what = append(what, c.what)
	}
	if len(what) == 0 || first > last {
		c.what, c.passed = "", len(what) > 0
		return
	}
	goesOn := []string{"parameters", "state of the optimizer", fmt.Sprintf("steps from %d on", first)}
	for k := range f.recipe.Parts {
		name := "data"
		if len(f.recipe.Parts) > 1 {
			name = fmt.Sprintf("source %d", k+1)
		}
		n := data.Fed(all, &f.recipe.Parts[k])
		goesOn = append(goesOn, fmt.Sprintf("%s from example %d on", name, n+1))
	}
	c.what, c.goesOn = strings.Join(what, "; "), strings.Join(goesOn, ", ")
}
