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
	return s.copyAs(number{name: "u32", bytes: 4}, 0, dst, pos)
}

// Conversation is one of a file's: its tokens, and behind each what is to be predicted;
// -1 where nothing is.
type Conversation struct{ Tokens, Targets []int32 }

// ReadConversations reads some of files that ptc data prepare made, from the one of a
// number on, and counts all. The error is an *Error.
func ReadConversations(patterns []string, from, count int64) (out []Conversation, total int64, err error) {
	files, err := findFiles(patterns, nil, nil)
	if err != nil {
		return nil, 0, asError("chat", err)
	}
	for i, f := range leaveOutCompanions(files) {
		s, err := openStore(f, "auto", 0)
		if err == nil && !s.number.marked {
			err = &Error{Path: f.name, Msg: "it has no conversations", Hint: "make them with ptc data prepare --chat from JSON lines or parquet"}
		}
		if err != nil {
			return nil, 0, asError("chat", err)
		}
		list, err := s.records(i)
		if err != nil {
			return nil, 0, asError("chat", err)
		}
		for _, x := range list {
			if total++; total <= from || int64(len(out)) == count {
				continue
			}
			c := Conversation{make([]int32, x.n), make([]int32, x.n)}
			r := chatRows{stores: []*store{s}}
			x.store = 0
			for p, to := range map[part][]int32{partTokens: c.Tokens, partTargets: c.Targets} {
				if err := r.fill(p, x, 0, 0, to); err != nil {
					return nil, 0, asError("chat", err)
				}
			}
			out = append(out, c)
		}
	}
	if from > total {
		return nil, total, asError("chat", errorf("there are %d conversations, but the first to show is %d", total, from))
	}
	return out, total, nil
}
