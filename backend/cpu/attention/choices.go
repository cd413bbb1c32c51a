package attention

import (
	"fmt"
	"slices"

	"ptc/backend/kernel"
)

// Blocks are the sizes that an attention is cut by, where these are given, and not chosen
// by estimates. A size beyond the attention's own stands for all of it.
type Blocks struct {
	Rows, Keys int64 // of a block, whose scores are there at a time
	Task       int64 // rows of a task; all, where products over rows are summed
}

func (b Blocks) String() string {
	return fmt.Sprintf("blocks of %d rows and %d keys, tasks of %d rows", b.Rows, b.Keys, b.Task)
}

// Whole is the size of a block that has all of an axis, and the largest that a size may be.
const Whole = 1 << 40

// mostScores is how many scores are there at a time at most.
const mostScores = 1 << 20

// given cuts s by s.Blocks. The error says which of them it cannot have.
func (p *blocking) given(s *Spec) error {
	b := s.Blocks
	if slices.ContainsFunc([]int64{b.Rows, b.Keys, b.Task}, func(n int64) bool { return n < 1 || n > Whole }) {
		return fmt.Errorf("attention: found %s; expected sizes from 1 to %d", b, int64(Whole))
	}
	p.cutKeys(s, b.Keys)
	p.cutRows(s, b.Rows)
	p.cutTasks(s, b.Task)
	if n := p.rb * p.kb; n > mostScores {
		return fmt.Errorf("attention: found %s, %d scores at a time; expected at most %d", b, n, mostScores)
	}
	return nil
}

// Choices lists ways to cut s for m, the one that Generate takes by itself first: larger
// and smaller blocks of keys, of rows, and tasks. The error is as Generate's.
func Choices(s Spec, m kernel.Machine) ([]Blocks, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	s.Blocks = nil
	own, err := newBlocking(&s, m)
	if err != nil {
		return nil, err
	}
	out := []Blocks{{Rows: own.rb, Keys: own.kb, Task: own.chunk}}
	seen := []blocking{own}
	add := func(b Blocks) {
		x := s
		x.Blocks = &b
		p, err := newBlocking(&x, m)
		if err == nil && !slices.Contains(seen, p) {
			seen, out = append(seen, p), append(out, b)
		}
	}
	of := out[0]
	for _, n := range []int64{1, 2, 6, 8, 16} { // quarters
		add(Blocks{Rows: of.Rows, Keys: max(1, of.Keys*n/4), Task: of.Task})
		add(Blocks{Rows: max(1, of.Rows*n/4), Keys: of.Keys, Task: of.Task})
		add(Blocks{Rows: of.Rows, Keys: of.Keys, Task: max(1, of.Task*n/4)})
	}
	return out, nil
}
