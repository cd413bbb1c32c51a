package checkpoint

import "cmp"

// Entry is a checkpoint in a store. Whether it is sound, Load says.
type Entry struct {
	Step int64
	Dir  string

	// Sequence counts the saves into the folder: the highest is the one saved
	// last. 0: an older program saved it. Where the manifest cannot be read,
	// it is what the steps make likely.
	Sequence int64

	// Valid is the validation loss of the checkpoint, nil where it is not known.
	Valid *float64
	// Data is the fingerprint of what the run was fed. Losses on other data do not compare.
	Data string

	readable bool // the manifest is
}

// Best is the checkpoint with the lowest validation loss on the data of the one saved last,
// of equal ones the one saved last; false where none has one.
func Best(entries []Entry) (best Entry, ok bool) {
	for _, e := range entries {
		if e.readable {
			return BestOn(e.Data, entries)
		}
	}
	return Entry{}, false
}

// BestOn is the best one on data with that fingerprint.
func BestOn(data string, entries []Entry) (best Entry, ok bool) {
	for _, e := range entries {
		if e.Valid != nil && e.Data == data && (!ok || *e.Valid < *best.Valid) {
			best, ok = e, true
		}
	}
	return best, ok
}

func manifestOf(dir string) (*manifest, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readManifest(root)
}

// likely gives checkpoints whose manifest cannot be read the highest number of a
// save up to their step.
func likely(entries []Entry) {
	for i := range entries {
		e := &entries[i]
		if e.readable {
			continue
		}
		for _, other := range entries {
			if other.readable && other.Step <= e.Step {
				e.Sequence = max(e.Sequence, other.Sequence)
			}
		}
	}
}

// newestFirst orders by the number of the save. Those that cannot be read come
// before the one that they share a number with, so that they are noticed; what
// has no number is in order of its steps.
func newestFirst(a, b Entry) int {
	if a.Sequence == b.Sequence && a.Sequence > 0 && a.readable != b.readable {
		if a.readable {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(b.Sequence, a.Sequence), cmp.Compare(b.Step, a.Step))
}

// saves is what a process that has locked a folder knows of the checkpoints there.
type saves struct {
	last     int64    // the highest number of a save
	replaced []string // folders to remove after the first save

	// known are the checkpoints that this process may remove, by folder and number of the save: those that
	// Lock found, and its own. What appears otherwise is another's, or a listing was not whole before.
	known   map[string]int64
	strange bool // it was told that there are others
}
