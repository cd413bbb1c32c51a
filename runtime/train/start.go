package train

import (
	"math"

	"ptc/runtime/checkpoint"
	"ptc/runtime/storage"
)

// start is where a run begins: at the first step, with the values that the plan or a file gives, or behind a
// checkpoint.
type start struct {
	keeper  *keeper                // nil: no checkpoints are saved
	from    *checkpoint.Checkpoint // to go on from; nil: none
	foreign bool                   // from is not of the folder into which this run saves
	init    checkpoint.Values      // nil: none, or they are loaded
	seed    uint64
	first   int64
}

// openStart opens the checkpoint or the initial parameters to begin with, if any, and decides the seed and the
// first step. All processes do so together, and have an error if one has.
func openStart(j *job) (*start, error) {
	s := &start{first: 1, seed: planSeed(j.plan)}
	if j.o.Seed != nil {
		s.seed = *j.o.Seed
	}
	var err error
	if j.o.Checkpoint != "" {
		err = s.openCheckpoint(j)
	}
	if err == nil && j.o.Init != "" && s.from == nil {
		s.init, err = openInit(j.procs, j.o.Init)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// openCheckpoint prepares the folder of checkpoints, and opens the one to go on from, if any.
func (s *start) openCheckpoint(j *job) error {
	resume, place := j.o.Resume, j.o.ResumeFrom
	if place != "" && storage.Join(place) == storage.Join(j.o.Checkpoint) {
		resume, place = true, ""
	}
	s.foreign = place != ""
	s.keeper = newKeeper(j)
	resume, err := s.openFolder(j, resume)
	if err != nil || !resume && place == "" {
		return err
	}
	if s.from, err = s.keeper.latest(place, j.o.Seed); err != nil {
		return j.procs.everyones(err)
	}
	s.seed, s.first = s.from.Meta.Seed, s.from.Meta.Step+1
	return nil
}

// openFolder reserves the folder of checkpoints, before the latest is looked for, so that no
// other run adds one; and finds out whether all processes see it. It says whether to go on from the latest.
func (s *start) openFolder(j *job, resume bool) (bool, error) {
	p := j.procs
	var err error
	if p.root() {
		err = s.keeper.prepare(resume, j.o.ResumeIfAny)
	}
	if err := p.agree(err); err != nil {
		return false, err
	}
	if p.several() {
		if err := s.keeper.join(p, j.plan); err != nil {
			return false, err
		}
		if err := s.keeper.store.Seen(s.keeper.peers); err != nil {
			return false, p.everyones(&Error{Code: ExitFile, Msg: "ptc cannot save checkpoints", Err: err})
		}
	}
	if !j.o.ResumeIfAny {
		return resume, nil
	}
	resume, err = s.keeper.any()
	if err = p.agree(err); err == nil && p.several() {
		resume, err = p.stop(resume) // where they see different ones, opening them says so
	}
	return resume, err
}

// resumed is the folder of the checkpoint to go on from, if any.
func (s *start) resumed() string {
	if s.from == nil {
		return ""
	}
	return s.from.Dir
}

// loss is that of the step before the first one, NaN where it is not known.
func (s *start) loss() float64 {
	if s.from == nil || s.from.Meta.Loss == nil {
		return math.NaN()
	}
	return *s.from.Meta.Loss
}

// loaded closes the files to begin with, of which all has been read.
func (s *start) loaded() {
	if s.from != nil {
		s.from.Close()
	}
	if s.init != nil {
		_ = s.init.Close() // was only read
		s.init = nil
	}
}

// close lets other runs save into the folder of checkpoints.
func (s *start) close() {
	s.loaded()
	if s.keeper != nil {
		s.keeper.close()
	}
}
