package place

import (
	"cmp"
	"math/rand"
	"slices"
)

// searchable is the most buffers that are searched: a branch of the search takes
// memory that grows with their square.
const searchable = 2048

// improve lowers a plan to the goal, or else as far as the work lasts: the half of
// it is for the goal, the rest for heights between.
func improve(bufs []Buffer, offsets []int64, goal, work int64) (spent int64) {
	if len(bufs) > searchable || work <= 0 {
		return 0
	}
	s := newSearcher(bufs)
	v, spent := s.search(goal, work/2)
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

// search looks for a plan of at most limit in turns: in each order of
// preference once with certainty, and once, in an order that is a little shuffled,
// jumping back. Each round has twice the work of the one before, so that an
// unlucky early choice costs no more than its turn.
func (s *searcher) search(limit, work int64) (v verdict, spent int64) {
	s.limit = limit
	orders := preferences(s.bufs, s.n)
	loose := slices.Clone(orders)
	r := rand.New(rand.NewSource(1))
	for turn := int64(len(s.bufs)) * int64(len(s.bufs)+s.n); ; turn *= 2 {
		for k := range orders {
			for _, jump := range []bool{false, true} {
				order := orders[k]
				if jump {
					loose[k] = shuffled(loose[k], r)
					order = loose[k]
				}
				grant := min(turn, work-spent)
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
func shuffled(order []int32, r *rand.Rand) []int32 {
	const noise = 0.02 // of the number of buffers
	key := make([]float64, len(order))
	for i, id := range order {
		key[id] = float64(i) + noise*float64(len(order))*r.Float64()
	}
	out := slices.Clone(order)
	slices.SortFunc(out, func(i, j int32) int { return cmp.Compare(key[i], key[j]) })
	return out
}
