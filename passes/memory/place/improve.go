package place

import (
	"cmp"
	"math"
	"math/rand"
	"slices"
)

// searchable is the most buffers that are searched: a branch of the search takes
// memory that grows with their square.
const searchable = 2048

// improve lowers a plan to the goal, or else as far as the work lasts: three
// quarters of it are for the goal, the rest for heights between.
func improve(bufs []Buffer, offsets []int64, goal, work int64) (spent int64) {
	if len(bufs) > searchable || work <= 0 {
		return 0
	}
	s := newSearcher(bufs)
	v, spent := s.search(goal, work/4*3)
	if v == solved {
		copy(offsets, s.at)
		return spent
	}
	low, high := goal, height(bufs, offsets)
	for high-low > high>>8 && spent < work {
		middle := low + (high-low)/2
		v, w := s.search(middle, (work-spent)/4)
		spent += max(w, 1)
		if v != solved {
			low = middle
			continue
		}
		copy(offsets, s.at)
		high = height(bufs, offsets)
	}
	return spent
}

// A tactic is attempts in turns, with more work from round to round.
type tactic struct {
	sure  bool    // makes attempts that miss no solution, too, in the given orders
	noise float64 // by how much the other orders are shuffled, of all buffers
	grow  float64 // of the work, from a round to the next
	most  int64   // work
	seed  int64
}

// tactics are tried one after the other: few long attempts in orders that are
// known to be good, then very many short ones in all kinds of orders. The depth
// at which an attempt fails hardly depends on its work, so that either finds what
// the other does not. The figures were chosen on the public problems of MiniMalloc
// and on random ones.
var tactics = []tactic{
	{sure: true, noise: 0.02, grow: 2, most: 400 << 20, seed: 1},
	{noise: 0.5, grow: 1.03, most: 1 << 62, seed: 2},
}

// search looks for a plan of at most limit.
func (s *searcher) search(limit, work int64) (v verdict, spent int64) {
	s.limit = limit
	for _, t := range tactics {
		v, w := s.follow(t, min(t.most, work-spent))
		if spent += w; v != outOfWork || spent >= work {
			return v, spent
		}
	}
	return outOfWork, spent
}

func (s *searcher) follow(t tactic, work int64) (v verdict, spent int64) {
	orders := preferences(s.bufs, s.n)
	loose := slices.Clone(orders)
	r := rand.New(rand.NewSource(t.seed))
	for turn := float64(len(s.bufs) * (len(s.bufs) + s.n)); ; turn = math.Floor(turn * t.grow) {
		for k := range orders {
			for _, jump := range []bool{false, true} {
				if !jump && !t.sure {
					continue
				}
				order := orders[k]
				if jump {
					loose[k] = shuffled(loose[k], t.noise, r)
					order = loose[k]
				}
				grant := min(int64(turn), work-spent)
				v := s.attempt(order, grant, jump)
				spent += grant - s.left
				switch {
				case v == solved, v == impossible && !jump:
					return v, spent
				case spent >= work:
					return outOfWork, spent
				}
			}
		}
	}
}

// shuffled moves what is in order by some places.
func shuffled(order []int32, noise float64, r *rand.Rand) []int32 {
	key := make([]float64, len(order))
	for i, id := range order {
		key[id] = float64(i) + noise*float64(len(order))*r.Float64()
	}
	out := slices.Clone(order)
	slices.SortFunc(out, func(i, j int32) int { return cmp.Compare(key[i], key[j]) })
	return out
}
