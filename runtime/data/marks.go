package data

import (
	"ptc/runtime/chat"
)

// A file of conversations has 32 bits for each token, of which the upper ones say
// whether it is a target and whether a conversation begins with it.
const (
	markTarget = 1 << 30
	markFirst  = 1 << 29
	tokenBits  = markFirst - 1
)

// marked is how such files have tokens.
var marked = number{name: "u32", bytes: 4, marked: true}

// Mark puts the tokens of a conversation in the form in which files have them.
func Mark(e chat.Encoded) []int32 {
	out := make([]int32, len(e.Tokens))
	for i, id := range e.Tokens {
		out[i] = id
		if e.Target[i] {
			out[i] |= markTarget
		}
		if i == 0 {
			out[i] |= markFirst
		}
	}
	return out
}

// record is the tokens [from, from + n) of a file.
type record struct {
	store   int32
	n       int32
	targets int32
	from    int64
}

// records finds where conversations begin.
func (s *store) records(number int) ([]record, error) {
	var out []record
	buf := make([]int32, 1<<14)
	for at := int64(0); at < s.n; at += int64(len(buf)) {
		buf = buf[:min(int64(cap(buf)), s.n-at)]
		if err := s.marks(buf, at); err != nil {
			return nil, err
		}
		for i, v := range buf {
			if v&markFirst != 0 || at+int64(i) == 0 {
				out = append(out, record{store: int32(number), from: at + int64(i)})
			}
			r := &out[len(out)-1]
			if r.n++; v&markTarget != 0 && v&markFirst == 0 {
				r.targets++ // nothing predicts the first token
			}
		}
	}
	return out, nil
}

// marks are tokens with what the upper bits say.
func (s *store) marks(dst []int32, pos int64) error {
	raw := *s
	raw.number, raw.vocab = number{name: "u32", bytes: 4}, 0
	return raw.copyTo(dst, pos)
}
