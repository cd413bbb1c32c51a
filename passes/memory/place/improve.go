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

// A tactic is attempts in turns, in rounds with more and more work for each.
type tactic struct {
	sure   bool    // attempts that miss no solution, in the given orders
	jump   bool    // attempts that jump back, in orders that are shuffled
	noise  float64 // how far they are, in shares of all buffers
	first  float64 // work of the first attempts, in shares of the way down
	grow   float64 // of the work, from a round to the next
	rounds int     // 0: as many as the work allows
	most   int64   // work; 0: all
	seed   int64
}

// tactics are tried one after the other: the way down in each order, which often is
// enough; few long attempts in orders that are known to be good; then very many
// short ones in all kinds of orders. An attempt that goes wrong early does so for
// good, so that either of the last two finds what the other does not. The figures
// were chosen on the public problems of MiniMalloc and on random ones.
var tactics = []tactic{
	{sure: true, first: 2, rounds: 1},
	{sure: true, jump: true, noise: 0.02, first: 1. / 8, grow: 2, most: 800 << 20, seed: 1},
	{jump: true, noise: 0.5, first: 1. / 3, grow: 1.03, seed: 2},
}

// search looks for a plan of at most limit.
func (s *searcher) search(limit, work int64) (v verdict, spent int64) {
	s.limit = limit
	for _, t := range tactics {
		most := work - spent
		if t.most > 0 {
			most = min(most, t.most)
		}
		v, w := s.follow(t, most)
		if spent += w; v != outOfWork || spent >= work {
			return v, spent
		}
	}
	return outOfWork, spent
}

// follow makes the attempts of one tactic.
func (s *searcher) follow(t tactic, work int64) (v verdict, spent int64) {
	orders := preferences(s.bufs, s.n)
	loose := slices.Clone(orders)
	r := rand.New(rand.NewSource(t.seed))
	turn := float64(s.descent()) * t.first
	for round := 0; round < t.rounds || t.rounds == 0; round++ {
		for k := range orders {
			for _, jump := range []bool{false, true} {
				order := orders[k]
				switch {
				case jump && !t.jump, !jump && !t.sure:
					continue
				case jump:
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
		turn = math.Floor(max(turn*t.grow, turn+1))
	}
	return outOfWork, spent
}

// descent is about how much work it is to place all buffers once, with no way back.
func (s *searcher) descent() int64 {
	one := int64(len(s.bufs) + s.n/4)
	for _, b := range s.bufs {
		one += b.width()
	}
	return one * int64(len(s.bufs)) / 2
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
