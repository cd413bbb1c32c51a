package propagate

import "math"

// forever is a capacity that no cut pays.
const forever = math.MaxInt64 / 4

// network is a flow network; node 0 is the source, node 1 the sink.
type network struct {
	edges []edge
	from  [][]int // numbers of edges by node
}

// edge is one direction of a connection; edge i^1 is the other one.
type edge struct {
	to   int
	room int64
}

func newNetwork() *network { return &network{from: make([][]int, 2)} }

func (n *network) node() int {
	n.from = append(n.from, nil)
	return len(n.from) - 1
}

func (n *network) connect(a, b int, capacity int64) {
	n.from[a] = append(n.from[a], len(n.edges))
	n.from[b] = append(n.from[b], len(n.edges)+1)
	n.edges = append(n.edges, edge{b, capacity}, edge{a, 0})
}

// cut is the side of the source in the minimum cut that is nearest to it, by
// blocking flows in level graphs. Dinic, "Algorithm for solution of a problem of
// maximum flow in networks with power estimation" (1970).
func (n *network) cut() []bool {
	for {
		level := n.levels()
		if level[1] < 0 {
			side := make([]bool, len(n.from))
			for i, l := range level {
				side[i] = l >= 0
			}
			return side
		}
		next := make([]int, len(n.from))
		for n.push(0, forever, level, next) > 0 {
		}
	}
}

// levels are the distances from the source over edges that have room; -1 where
// there is no way.
func (n *network) levels() []int {
	level := make([]int, len(n.from))
	for i := range level {
		level[i] = -1
	}
	level[0] = 0
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		for _, e := range n.from[queue[0]] {
			if to := n.edges[e].to; n.edges[e].room > 0 && level[to] < 0 {
				level[to] = level[queue[0]] + 1
				queue = append(queue, to)
			}
		}
	}
	return level
}

// push sends up to most from node a to the sink, and returns how much went.
func (n *network) push(a int, most int64, level, next []int) int64 {
	if a == 1 {
		return most
	}
	for ; next[a] < len(n.from[a]); next[a]++ {
		i := n.from[a][next[a]]
		e := &n.edges[i]
		if e.room == 0 || level[e.to] != level[a]+1 {
			continue
		}
		if sent := n.push(e.to, min(most, e.room), level, next); sent > 0 {
			e.room -= sent
			n.edges[i^1].room += sent
			return sent
		}
	}
	return 0
}
