package train

import (
	"math"

	"ptc/runtime/data"
)

// session is a run that is ready for its first step: data and devices are open, and tensors have their values.
type session struct {
	*job
	*start
	last    int64 // number of the last step
	feed    *feed
	changed change // since the checkpoint
	dev     *devices
}

// openSession gets everything ready for the first step. The session is to be closed also if there is an error.
func openSession(j *job, st *start) (*session, error) {
	defer st.loaded()
	s := &session{job: j, start: st, last: j.steps}
	if j.procs.end != nil && data.OneReader(j.plan.Data.Kind) { // the others wait for what the root reads
		if err := j.procs.agree(nil); err != nil {
			return s, err
		}
	}
	var err error
	if s.feed, err = openFeed(j.plan, &j.o, st.seed, s.feedRank(), st.from, j.procs); err != nil {
		return s, err
	}
	s.feed.warn = j.log.warn
	if n := j.o.epochs(j.plan); n > 0 {
		if s.last, err = s.feed.endOfEpochs(n, st.first, st.from); err != nil {
			return s, err
		}
	}
	if st.keeper != nil {
		st.keeper.meta.Seed = st.seed
		if st.keeper.fed, s.changed, err = openPhase(j, st, s.feed, s.last); err != nil {
			return s, err
		}
	}
	if s.dev, err = openDevices(j.plan, s.feed.fields, &j.o, st.seed, j.log.warn); err != nil {
		return s, err
	}
	if err := s.load(); err != nil || j.o.OnNaN != NaNStop {
		return s, err
	}
	return s, s.dev.watchNumbers()
}

// feedRank is the rank whose part of the batches is read, -1 for whole ones.
func (s *session) feedRank() int {
	if s.o.DumpBatches != "" && s.procs.root() {
		return -1
	}
	return s.procs.rank()
}

// load gives the tensors their first values.
func (s *session) load() error {
	defer s.dev.shed()
	if s.from != nil {
		return s.keeper.load(s.from, s.dev)
	}
	if err := s.dev.m.Initialize(s.seed); err != nil || s.init == nil {
		return err
	}
	return loadParams(s.job, s.dev, s.init)
}

// bestBefore is the lowest validation loss of the checkpoints that are there, on the data of this run.
func (s *session) bestBefore() float64 {
	if s.from == nil || s.foreign || s.feed.src == nil {
		return math.Inf(1)
	}
	return s.keeper.best(s.feed.fingerprint())
}

// close frees what the session holds.
func (s *session) close() {
	if s.feed != nil {
		s.feed.stop()
	}
	if s.dev != nil {
		s.dev.close()
	}
}
