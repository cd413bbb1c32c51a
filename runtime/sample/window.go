package sample

import (
	"context"
	"fmt"
	"math"
)

// upTo are the tokens of all sequences up to position t, and behind it others, which
// are those that fill says.
func (s *Session) upTo(qs []sequence, t, fill int) []int32 {
	s.ids = s.ids[:0]
	for i := range qs {
		for k := range s.Window {
			id := int32(fill * (7*k + 5) % s.Vocab)
			if k <= t {
				id = qs[i].at(k)
			}
			s.ids = append(s.ids, id)
		}
	}
	return s.ids
}

// causal ends a run where the logits behind position t depend on what follows it. Of a
// plan without caches nothing was proved, and the same code computes the same bits of
// the same numbers: so that other tokens behind t change nothing is no matter of
// rounding.
func (s *Session) causal(qs []sequence, t int) error {
	if t+1 >= s.Window || s.Vocab < 2 || !going(qs) {
		return nil
	}
	first, err := s.Position(t, s.upTo(qs, t, 0))
	if err != nil {
		return err
	}
	before := append([]float64(nil), first...)
	again, err := s.Position(t, s.upTo(qs, t, 1))
	if err != nil {
		return err
	}
	for i, x := range again {
		if math.Float64bits(x) != math.Float64bits(before[i]) {
			return &Error{Msg: fmt.Sprintf("the model looks ahead: the logits of position %d of prompt %d are others where the tokens after it are others", t, i/s.Vocab+1)}
		}
	}
	return nil
}

// slide continues prompts by the last Window tokens, again and again.
func (s *Session) slide(ctx context.Context, r *Request, qs []sequence) ([][]int32, error) {
	var room []candidate
	for going(qs) {
		if err := ctx.Err(); err != nil {
			return added(qs), err
		}
		s.ids = s.ids[:0]
		for i := range qs {
			end := len(qs[i].prompt) + len(qs[i].more)
			for k := end - s.Window; k < end; k++ {
				s.ids = append(s.ids, qs[i].at(k))
			}
		}
		logits, err := s.Position(0, s.ids)
		if err != nil {
			return added(qs), err
		}
		for i := range qs {
			if q := &qs[i]; !q.done {
				if err := q.add(r, i, len(q.prompt)+len(q.more)-1, logits[i*s.Vocab:(i+1)*s.Vocab], &room); err != nil {
					return added(qs), err
				}
			}
		}
	}
	return added(qs), nil
}
