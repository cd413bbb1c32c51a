package sample

import (
	"context"
	"fmt"
	"slices"
)

// Request is what to continue, and how.
type Request struct {
	Prompts [][]int32 // as many as the session's batch, none of them empty
	Most    int       // tokens to add to each
	Stop    []int32   // tokens that end a sequence; they are not part of it
	Choice  Choice
	// Token is told each token as it is chosen, with the number of its prompt; nil:
	// nobody is. An error ends the run.
	Token func(sequence int, id int32) error
}

// sequence is a prompt while it is continued.
type sequence struct {
	stream
	prompt []int32
	more   []int32
	next   int // the position that is run next
	done   bool
}

// at is the token at a position that is known already, the last one behind the end.
func (q *sequence) at(t int) int32 {
	switch {
	case t < len(q.prompt):
		return q.prompt[t]
	case t < len(q.prompt)+len(q.more):
		return q.more[t-len(q.prompt)]
	}
	return q.prompt[0]
}

// Longest is how many tokens the longest of some prompts has.
func Longest(prompts [][]int32) (most int) {
	for _, p := range prompts {
		most = max(most, len(p))
	}
	return most
}

// Generate continues the prompts until each has as many tokens as were asked for, one
// that ends it, or no more positions. When ctx is done it returns what there is, with
// the error of ctx.
func (s *Session) Generate(ctx context.Context, r Request) ([][]int32, error) {
	qs, err := s.sequences(&r)
	if err != nil {
		return nil, err
	}
	if s.Slides {
		return s.slide(ctx, &r, qs)
	}
	if err := s.Begin(); err != nil {
		return nil, err
	}
	if err := s.prefill(ctx, qs); err != nil {
		return added(qs), err
	}
	var room []candidate
	for n := 1; going(qs); n++ {
		if err := ctx.Err(); err != nil {
			return added(qs), err
		}
		if s.Window > 0 && n&(n-1) == 0 { // the 1st, 2nd, 4th …
			if err := s.causal(qs, qs[0].next); err != nil {
				return added(qs), err
			}
		}
		logits, err := s.behind(qs)
		if err != nil {
			return added(qs), err
		}
		for i := range qs {
			q := &qs[i]
			t := q.next
			if !q.done && t >= len(q.prompt)-1 {
				if err := q.add(&r, i, t, logits[i*s.Vocab:(i+1)*s.Vocab], &room); err != nil {
					return added(qs), err
				}
			}
			if t+1 < s.Length {
				q.next++
			} else { // one that has no more positions stays at its last
				q.done = true
			}
		}
	}
	return added(qs), nil
}

// going reports whether a sequence is to be continued.
func going(qs []sequence) bool {
	return slices.ContainsFunc(qs, func(q sequence) bool { return !q.done })
}

// behind are the logits behind the position that comes in each sequence.
func (s *Session) behind(qs []sequence) ([]float64, error) {
	if s.Window > 0 {
		return s.Position(qs[0].next, s.upTo(qs, qs[0].next, 0))
	}
	s.ids, s.at = s.ids[:0], s.at[:0]
	for i := range qs {
		s.ids, s.at = append(s.ids, qs[i].at(qs[i].next)), append(s.at, qs[i].next)
	}
	return s.positions(s.at, s.ids)
}

// prefill fills the caches with what comes before the last token of each prompt, and
// says for each sequence which position comes next. Of a prompt that is shorter than
// others, blocks have what is behind it too, which does not count. Where all sequences are at the
// same position, as where there are no caches to be filled, it is that of the shortest
// prompt.
func (s *Session) prefill(ctx context.Context, qs []sequence) error {
	short, long := s.Length, 0
	for i := range qs {
		short, long = min(short, len(qs[i].prompt)-1), max(long, len(qs[i].prompt)-1)
	}
	known, filled := long, 0
	if !s.apart {
		known = short
	}
	if s.Window > 0 {
		filled = short
	}
	for s.Block > 0 && going(qs) && s.worth(known-filled) {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.ids = s.ids[:0]
		for i := range qs {
			for k := range s.Block {
				s.ids = append(s.ids, qs[i].at(filled+k))
			}
		}
		if err := s.Fill(filled, s.ids); err != nil {
			return err
		}
		filled += s.Block
	}
	for i := range qs {
		qs[i].next = min(filled, known, len(qs[i].prompt)-1)
	}
	return nil
}

// worth reports whether a block is run for so many positions. A block of which less than
// 1/8 is useful is not, nor is one that is not full where tokens are counted.
func (s *Session) worth(positions int) bool {
	if s.counts {
		return positions >= s.Block
	}
	return positions > 0 && 8*positions >= s.Block
}

func added(qs []sequence) [][]int32 {
	out := make([][]int32, len(qs))
	for i := range qs {
		out[i] = qs[i].more
	}
	return out
}

// add chooses the token after position t.
func (q *sequence) add(r *Request, number, t int, logits []float64, room *[]candidate) error {
	for _, x := range logits {
		if x != x {
			return &Error{Msg: fmt.Sprintf("the logits of position %d of prompt %d are not numbers", t, number+1)}
		}
	}
	id := r.Choice.choose(logits, q.stream, t, room)
	if slices.Contains(r.Stop, id) {
		q.done = true
		return nil
	}
	q.more = append(q.more, id)
	q.done = len(q.more) >= r.Most
	if r.Token != nil {
		return r.Token(number, id)
	}
	return nil
}

// sequences checks the prompts.
func (s *Session) sequences(r *Request) ([]sequence, error) {
	if len(r.Prompts) != s.Batch {
		return nil, &Error{Msg: fmt.Sprintf("the plan continues %d prompts at once, and there are %d", s.Batch, len(r.Prompts))}
	}
	for _, id := range r.Stop {
		if id < 0 || int(id) >= s.Vocab {
			return nil, &Error{Msg: fmt.Sprintf("the token %d, which is to end a text, is none of the model's, 0 to %d", id, s.Vocab-1)}
		}
	}
	qs := make([]sequence, len(r.Prompts))
	for i, p := range r.Prompts {
		switch {
		case len(p) == 0:
			return nil, &Error{Msg: fmt.Sprintf("prompt %d has no token, and something must come first", i+1)}
		case s.Slides && len(p) < s.Window:
			return nil, &Error{Msg: fmt.Sprintf("prompt %d has %s, and the model reads the %d before the one that comes: give it so many", i+1, count(len(p)), s.Window)}
		case len(p) > s.Length:
			return nil, &Error{Msg: fmt.Sprintf("prompt %d has %d tokens, and the plan %d positions", i+1, len(p), s.Length)}
		}
		for _, id := range p {
			if id < 0 || int(id) >= s.Vocab {
				return nil, &Error{Msg: fmt.Sprintf("prompt %d has the token %d, and the model has %d", i+1, id, s.Vocab)}
			}
		}
		copies := 0
		for _, other := range r.Prompts[:i] {
			if slices.Equal(other, p) {
				copies++
			}
		}
		qs[i] = sequence{stream: newStream(r.Choice.Seed, p, copies), prompt: p, done: r.Most < 1}
	}
	return qs, nil
}

func count(tokens int) string {
	if tokens == 1 {
		return "1 token"
	}
	return fmt.Sprintf("%d tokens", tokens)
}
