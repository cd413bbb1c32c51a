package checkpoint

import (
	"fmt"

	"ptc/internal/units"
	"ptc/runtime/storage"
)

// Params is what has the parameters in dir, for OpenValues; dir is a checkpoint or a folder of
// them: then it is that of the one saved last, or, with best, of the one with the lowest
// validation loss; one alone is both. The checkpoint is sound: its hashes have been checked.
func Params(dir string, best bool, warn func(string)) (path string, err error) {
	var c *Checkpoint
	one, err := storage.Exists(storage.Join(dir, manifestName))
	if err != nil {
		return "", &Error{Dir: dir, Msg: "cannot be read", Err: err}
	}
	if best && !one {
		entries, err := (&Store{Dir: dir}).List()
		if err != nil {
			return "", err
		}
		if len(entries) == 0 {
			return "", &Error{Dir: dir, Msg: "it has no checkpoint, so none is the best", Err: ErrNone}
		}
		e, ok := Best(entries)
		if !ok {
			return "", &Error{Dir: dir, Msg: fmt.Sprintf("it has %s without a validation loss, so none is the best: train with --keep-best, or drop --best to take the latest",
				units.Plural(len(entries), "checkpoint"))}
		}
		dir = e.Dir
	}
	if c, err = Open(dir, warn); err != nil {
		return "", err
	}
	return c.ParamsPlace(), c.Close()
}

// Open opens the checkpoint in dir, which is a checkpoint or a folder of them: then it is
// the one saved last.
func Open(dir string, warn func(string)) (*Checkpoint, error) { return OpenWith(nil, dir, warn) }

// OpenWith is Open of several processes, which all call it: they compare the hashes of files together, so that
// each file is read once for that, and all have an error where one has.
func OpenWith(p *Peers, dir string, warn func(string)) (*Checkpoint, error) {
	one, err := storage.Exists(storage.Join(dir, manifestName))
	if err != nil {
		err = &Error{Dir: dir, Msg: "cannot be read", Err: err}
	}
	if p != nil {
		if err = p.Agree(err); err == nil {
			if err = p.same(fmt.Append(nil, one), "sees another folder than rank 0: put the folder on a disk that all processes see, or in an object store"); err != nil {
				err = &Error{Dir: dir, Msg: "nothing to load", Err: err}
			}
		}
	}
	switch {
	case err != nil:
		return nil, err
	case one:
		return loadWith(dir, p)
	}
	return (&Store{Dir: dir, Warn: warn}).latest(p)
}
