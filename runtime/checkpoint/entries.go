package checkpoint

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

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

const (
	stepPrefix = "step-"
	tmpPrefix  = ".tmp-"
)

// What the name of a checkpoint's folder may end with while another one takes its
// place, see publish.
const (
	newSuffix = ".new"
	oldSuffix = ".old"
)

func stepName(step int64) string { return fmt.Sprintf("%s%08d", stepPrefix, step) }

// parseName is the inverse of stepName and a suffix: one of those above, or the
// number that tells folders of one step in an object store apart, see free.
func parseName(name string) (step int64, suffix string, ok bool) {
	rest, ok := strings.CutPrefix(name, stepPrefix)
	if !ok {
		return 0, "", false
	}
	digits := rest
	if i := strings.IndexByte(rest, '.'); i >= 0 {
		digits, suffix = rest[:i], rest[i:]
	}
	step, err := strconv.ParseInt(digits, 10, 64)
	return step, suffix, err == nil && step >= 0 && stepName(step)+suffix == name && isSuffix(suffix)
}

func isSuffix(s string) bool {
	if s == "" || s == newSuffix || s == oldSuffix {
		return true
	}
	n, err := strconv.ParseInt(s[1:], 10, 64)
	return err == nil && n > 0 && numberSuffix(n) == s
}

func numberSuffix(n int64) string { return fmt.Sprintf(".%d", n) }
