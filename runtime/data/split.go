package data

import (
	"cmp"
	"crypto/sha256"
	"math"
	"slices"
	"unicode/utf8"
)

// split says which text is for training and which is held out.
type split struct {
	train, valid []piece
	byFiles      bool // whole files are held out, not their ends
	dropped      int  // training files with the text of a held-out one
}

// piece is a text that belongs together, and the file it came from.
type piece struct {
	name string
	text []byte
}

// splitFiles holds out the share valid of the text. If that is at least one
// file, whole files are held out, those with the smallest hash of their
// relative path; and files that repeat a held-out one are dropped from
// training. Otherwise the end of each file is held out. Either way the text of
// the one is never in the other, and the choice depends on names and sizes only.
func splitFiles(files []textFile, valid float64) split {
	held := int(math.Round(valid * float64(len(files))))
	if held < 1 || held == len(files) {
		return splitTails(files, valid)
	}
	ranks := slices.Clone(files)
	slices.SortStableFunc(ranks, func(a, b textFile) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.rel, b.rel))
	})
	heldPath, heldHash := map[string]bool{}, map[[sha256.Size]byte]bool{}
	for _, f := range ranks[:held] {
		heldPath[f.path] = true
		heldHash[f.hash] = true
	}
	s := split{byFiles: true}
	for _, f := range files {
		switch p := (piece{f.name, f.text}); {
		case heldPath[f.path]:
			s.valid = append(s.valid, p)
		case heldHash[f.hash]:
			s.dropped++
		default:
			s.train = append(s.train, p)
		}
	}
	return s
}

func splitTails(files []textFile, valid float64) (s split) {
	for _, f := range files {
		cut := len(f.text) - int(math.Round(valid*float64(len(f.text))))
		for cut > 0 && cut < len(f.text) && !utf8.RuneStart(f.text[cut]) {
			cut--
		}
		s.train = append(s.train, piece{f.name, f.text[:cut]})
		s.valid = append(s.valid, piece{f.name, f.text[cut:]})
	}
	return s
}
