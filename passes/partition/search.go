package partition

import (
	"container/heap"
	"slices"
)

// Bounds of a search. Four mesh axes that all change their place have 1,457
// shardings of a tensor of four axes and 4,645 of one of six: of those the plan is
// the cheapest there is. Of more it is that where it costs little, since what costs
// more than the fixed order is not looked at.
const (
	maxMoving    = 7 // mesh axes
	maxShardings = 1 << 14
	maxSteps     = 1 << 21
)

// plan is the cheapest sequence of steps, of those that cost the same the fixed
// order if it is one: a shortest path among the shardings (Dijkstra, 1959). Where
// that takes more than the bounds allow, it is the best one found, or the fixed
// order.
func (p *problem) plan() []step {
	fixed := p.fixed()
	if steps := p.below(p.total(fixed), maxSteps); steps != nil {
		return steps
	}
	return fixed
}

// below is the cheapest sequence of steps that costs less than within, or the best
// one found within the bounds, of which one is a number of steps to look at; nil
// without any.
func (p *problem) below(within Cost, work int) []step {
	if len(p.mesh) > maxMoving || p.least(p.from) > within.Sent {
		return nil
	}
	s := &search{p: p, at: map[string]int{}, least: map[string]int64{}}
	if s.run(within, work); s.nodes[s.target].cost.Compare(within) >= 0 {
		return nil
	}
	return s.path()
}

// search is a graph of shardings, as far as it has been seen.
type search struct {
	p      *problem
	nodes  []node
	at     map[string]int   // number of a sharding, by its key
	least  map[string]int64 // what has to be sent from a sharding on, by its key
	queue  queue
	steps  int
	target int
}

// node is a sharding, the least cost of getting there, and the steps from there.
type node struct {
	sharding
	cost Cost
	done bool
	out  []edge
}

type edge struct {
	step
	to   int
	cost Cost
}

// run looks at shardings in the order of their costs until what is left costs
// more than the target, or than the plan within, which there is, or until it comes
// to its bounds.
func (s *search) run(within Cost, work int) {
	s.node(s.p.from, Cost{})
	s.target = s.node(s.p.to, within)
	for len(s.queue) > 0 {
		q := heap.Pop(&s.queue).(item)
		n := &s.nodes[q.node]
		if n.done || q.cost.Compare(n.cost) > 0 {
			continue
		}
		if q.cost.Compare(s.nodes[s.target].cost) > 0 {
			break
		}
		n.done = true
		s.expand(q.node)
		if len(s.nodes) > maxShardings || s.steps > work {
			return
		}
	}
}

func (s *search) node(t sharding, c Cost) int {
	key := t.key()
	i, ok := s.at[key]
	if !ok {
		i = len(s.nodes)
		s.at[key] = i
		s.nodes = append(s.nodes, node{sharding: t, cost: c})
		heap.Push(&s.queue, item{c, i})
	} else if c.Compare(s.nodes[i].cost) < 0 {
		s.nodes[i].cost = c
		heap.Push(&s.queue, item{c, i})
	}
	return i
}

// expand follows the steps from a sharding to those from which the target can be
// reached for less than there is.
func (s *search) expand(i int) {
	from := s.nodes[i].sharding
	fits := func(c Cost, least int64) bool {
		c.Sent += least
		return c.Compare(s.nodes[s.target].cost) <= 0
	}
	permutes := fits(s.nodes[i].cost.plus(s.p.permute(from)), s.p.leastAnywhere(from))
	steps := s.p.steps(from, permutes)
	s.steps += len(steps)
	for _, st := range steps {
		w := s.p.cost(from, st)
		c := s.nodes[i].cost.plus(w)
		if !fits(c, s.leastFrom(st.then)) {
			continue
		}
		to := s.node(st.then, c)
		s.nodes[i].out = append(s.nodes[i].out, edge{st, to, w})
	}
}

func (s *search) leastFrom(t sharding) int64 {
	key := t.key()
	n, ok := s.least[key]
	if !ok {
		n = s.p.least(t)
		s.least[key] = n
	}
	return n
}

// path is the first of the cheapest ones, in the order of [problem.steps].
func (s *search) path() []step {
	tight := func(i int, e edge) bool { return s.nodes[i].cost.plus(e.cost) == s.nodes[e.to].cost }
	into := make([][]int, len(s.nodes))
	for i := range s.nodes {
		for _, e := range s.nodes[i].out {
			if tight(i, e) {
				into[e.to] = append(into[e.to], i)
			}
		}
	}
	leads := make([]bool, len(s.nodes))
	leads[s.target] = true
	for todo := []int{s.target}; len(todo) > 0; {
		i := todo[0]
		todo = todo[1:]
		for _, j := range into[i] {
			if !leads[j] {
				leads[j] = true
				todo = append(todo, j)
			}
		}
	}
	var out []step
	for i := 0; i != s.target; {
		k := slices.IndexFunc(s.nodes[i].out, func(e edge) bool { return leads[e.to] && tight(i, e) })
		e := s.nodes[i].out[k]
		out = append(out, e.step)
		i = e.to
	}
	return out
}

// queue is a heap of shardings by Cost, the first seen first.
type queue []item

type item struct {
	cost Cost
	node int
}

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(item)) }
func (q *queue) Pop() any     { x := (*q)[len(*q)-1]; *q = (*q)[:len(*q)-1]; return x }
func (q queue) Less(i, j int) bool {
	if c := q[i].cost.Compare(q[j].cost); c != 0 {
		return c < 0
	}
	return q[i].node < q[j].node
}
