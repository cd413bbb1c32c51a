package train

import (
	"math"

	"ptc/runtime/checkpoint"
	"ptc/runtime/storage"
)

// openCheckpoint prepares the folder of checkpoints, opens the one to go on
// from, if any, and decides the seed and the first step. All processes do so together, and
// have an error if one has.
func (r *run) openCheckpoint() (c *checkpoint.Checkpoint, err error) {
	r.first, r.seed = 1, planSeed(r.plan)
	if r.o.Seed != nil {
		r.seed = *r.o.Seed
	}
	if r.o.Checkpoint == "" {
		return nil, nil
	}
	if from := r.o.ResumeFrom; from != "" && storage.Join(from) == storage.Join(r.o.Checkpoint) {
		r.o.Resume, r.o.ResumeFrom = true, ""
	}
	r.keeper = newKeeper(&r.o, r.plan, r.tensors, r.warn)
	if err := r.openFolder(); err != nil {
		return nil, err
	}
	if r.best = math.Inf(1); r.o.Resume || r.o.ResumeFrom != "" {
		if c, err = r.keeper.latest(r.o.ResumeFrom, r.o.Seed); err != nil {
			return nil, r.everyones(err)
		}
		r.seed, r.resumed, r.first, r.unmeasured = c.Meta.Seed, c.Dir, c.Meta.Step+1, c.Meta.Valid == nil
		if r.sum.Steps = c.Meta.Step; c.Meta.Loss != nil {
			r.sum.Loss = *c.Meta.Loss
		}
	}
	return c, nil
}

// openFolder reserves the folder of checkpoints, before the latest is looked for, so that no
// other run adds one; and finds out whether all processes see it.
func (r *run) openFolder() (err error) {
	if r.root() {
		err = r.keeper.prepare(r.o.Resume, r.o.ResumeIfAny)
	}
	if err := r.agree(err); err != nil {
		return err
	}
	if r.several() {
		if err := r.keeper.join(&r.processes, r.plan); err != nil {
			return err
		}
		if err := r.keeper.store.Seen(r.keeper.peers); err != nil {
			return r.everyones(&Error{Code: ExitFile, Msg: "checkpoints cannot be saved", Err: err})
		}
	}
	if !r.o.ResumeIfAny {
		return nil
	}
	r.o.Resume, err = r.keeper.any()
	if err = r.agree(err); err == nil && r.several() {
		r.o.Resume, err = r.stop(r.o.Resume) // where they see different ones, opening them says so
	}
	return err
}
