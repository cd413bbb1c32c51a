package fakecuda

import "slices"

// begin begins what a library does with other GPUs, and gives when it can be done, and what that is.
type begin func() (ready func() bool, do func() int)

// replay is a launch of a graph, or of one in a node: nodes begin in any order that the edges allow, the last
// one that is ready first, or any. Those that wait for other GPUs keep no others.
type replay struct {
	d       *Driver
	g       *gpu
	left    map[*node]int
	next    map[*node][]*node
	open    []*node // that may begin, or have begun
	waiting map[*node]*waiting
	over    int // nodes that have ended
	total   int
	result  int
}

// waiting is a node that has begun.
type waiting struct {
	child *replay
	ready func() bool
	do    func() int
}

// replay gives a stream a graph, each launch of which begins from the start.
func (d *Driver) replay(s *stream, x *exec) int {
	var r *replay
	return d.enqueueWhen(s, func() bool {
		if r == nil {
			r = d.newReplay(x.g, x.nodes)
		}
		return r.advance()
	}, func() int { return r.result })
}

func (d *Driver) newReplay(g *gpu, nodes []*node) *replay {
	r := &replay{d: d, g: g, left: map[*node]int{}, next: map[*node][]*node{}, waiting: map[*node]*waiting{}, total: len(nodes)}
	for _, n := range nodes {
		r.left[n] = len(n.after)
		for _, m := range n.after {
			r.next[m] = append(r.next[m], n)
		}
		if len(n.after) == 0 {
			r.open = append(r.open, n)
		}
	}
	return r
}

// advance does what can be done, and says whether nothing is left.
func (r *replay) advance() bool {
	var stuck []*node
	for len(r.open) > 0 && r.result == Success {
		i := len(r.open) - 1
		if r.d.clock.rng != nil {
			i = r.d.clock.rng.IntN(len(r.open))
		}
		n := r.open[i]
		r.open = slices.Delete(r.open, i, i+1)
		if !r.done(n) {
			stuck = append(stuck, n)
			continue
		}
		r.d.clock.moves++
		r.over++
		for _, m := range r.next[n] {
			if r.left[m]--; r.left[m] == 0 {
				r.open = append(r.open, m)
			}
		}
		// What was stuck may have waited for this GPU.
		r.open, stuck = append(stuck, r.open...), nil
	}
	r.open = append(stuck, r.open...)
	return r.over == r.total || r.result != Success
}

// done begins a node, if it has not, and says whether it has ended.
func (r *replay) done(n *node) bool {
	switch {
	case n.launch != nil:
		r.result = r.d.run(r.g, n.launch)
		return true
	case n.copy != nil:
		r.result = r.d.move(r.g, n.copy)
		return true
	case n.work != nil:
		r.result = n.work()
		return true
	}
	w := r.waiting[n]
	if w == nil {
		w = &waiting{}
		if n.start != nil {
			w.ready, w.do = n.start()
			r.d.clock.moves++
		} else {
			w.child = r.d.newReplay(r.g, n.child)
		}
		r.waiting[n] = w
	}
	if w.child != nil {
		ended := w.child.advance()
		r.result = w.child.result
		return ended
	}
	if !w.ready() {
		return false
	}
	r.result = w.do()
	return true
}
