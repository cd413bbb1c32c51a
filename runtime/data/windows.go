package data

// sequence is a sequence of tokens, in memory or in a file.
type sequence interface {
	len() int64
	// copyTo writes the tokens from pos on.
	copyTo(dst []int32, pos int64) error
}

// part is the content of a field of a window.
type part int

const (
	partTokens   part = iota
	partTargets       // the successors of the tokens
	partDocument      // the number of the document, from 0 in each window
	partPosition      // the position in the document, or in the window if the document began before it
)

// partNames are the names of fields.
var partNames = []string{"tokens", "targets", "document", "position"}

// windows splits a sequence into examples: window w is the tokens
// [w*window, (w+1)*window), and the token after each is its target, so that every
// target is predicted once in an epoch. The tail that is no full window is not
// used.
type windows struct {
	seq    sequence
	window int
	parts  []part // for each field
	last   bool   // the only target is the token after the window
	docs   documents
	masked prompts // nil: no token is of a prompt
}

// prompts marks tokens that a model reads but need not predict.
type prompts interface {
	// mask writes notATarget for the tokens from pos on that belong to a prompt.
	mask(dst []int32, pos int64)
}

// documents marks where documents begin, if a field needs it.
type documents interface {
	// starts writes for each position from pos on whether a document begins there.
	starts(dst []bool, pos int64) error
}

func (w *windows) count() int64 { return max(0, w.seq.len()-1) / int64(w.window) }

func (w *windows) read(field int, n int64, b box, out []int32, _ []float32) error {
	// Columns of the row, as offsets from the start of its window.
	lo, hi := b.lo[1], b.hi[1]
	if b.rank == 1 {
		lo, hi = w.window-1, w.window
	}
	first := n * int64(w.window)
	switch w.parts[field] {
	case partTokens:
		return w.seq.copyTo(out[:hi-lo], first+int64(lo))
	case partTargets:
		if err := w.seq.copyTo(out[:hi-lo], first+int64(lo)+1); err != nil {
			return err
		}
		if w.masked != nil {
			w.masked.mask(out[:hi-lo], first+int64(lo)+1)
		}
		if w.docs == nil {
			return nil
		}
		return w.cutTargets(out[:hi-lo], first+int64(lo)+1)
	default:
		return w.layDocuments(w.parts[field], first, lo, hi, out)
	}
}

// notATarget is the target that losses with masked = true ignore.
const notATarget = -1

// cutTargets masks targets that are the first token of another document, because
// no text before it predicts them.
func (w *windows) cutTargets(out []int32, pos int64) error {
	begins := make([]bool, len(out))
	if err := w.docs.starts(begins, pos); err != nil {
		return err
	}
	for i, b := range begins {
		if b {
			out[i] = notATarget
		}
	}
	return nil
}

// layDocuments counts documents, or positions in them, from the window's start on.
func (w *windows) layDocuments(p part, first int64, lo, hi int, out []int32) error {
	begins := make([]bool, hi)
	if err := w.docs.starts(begins, first); err != nil {
		return err
	}
	document, position := int32(0), int32(0)
	for i, b := range begins {
		if b && i > 0 {
			document, position = document+1, 0
		}
		if i >= lo {
			if p == partDocument {
				out[i-lo] = document
			} else {
				out[i-lo] = position
			}
		}
		position++
	}
	return nil
}

// windowFields are the requested fields of windows, with the content of
// each has.
func windowFields(asked []Field, batch, window int, last, docs bool) (fields []Field, parts []part, err error) {
	have := make([]Field, 2, len(partNames))
	if docs {
		have = have[:len(partNames)]
	}
	for i := range have {
		have[i] = Field{Name: partNames[i], DType: I32, Shape: []int{batch, window}}
	}
	if last {
		have[partTargets].Shape = have[partTargets].Shape[:1]
	}
	if fields, err = chooseFields(asked, have); err != nil {
		return nil, nil, err
	}
	for _, f := range fields {
		for p, name := range partNames {
			if f.Name == name {
				parts = append(parts, part(p))
			}
		}
	}
	return fields, parts, nil
}
