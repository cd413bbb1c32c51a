package sim

import "ptc/foresight/machine"

// timed is the end of a class's work or of a phase of a flow, if that has not changed since.
type timed struct {
	at      machine.PS
	order   uint64 // of events at one time: the order in which they were pushed
	flow    *flow  // nil: the work of class
	class   int32
	version uint32
}

// queue is a binary heap of events by their time. It is not container/heap, which boxes each event: a step has millions.
type queue struct {
	heap  []timed
	count uint64
}

func (q *queue) before(i, j int) bool {
	a, b := &q.heap[i], &q.heap[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (q *queue) push(x timed) {
	x.order = q.count
	q.count++
	q.heap = append(q.heap, x)
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.before(i, up) {
			break
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

func (q *queue) pop() (timed, bool) {
	n := len(q.heap) - 1
	if n < 0 {
		return timed{}, false
	}
	first := q.heap[0]
	q.heap[0] = q.heap[n]
	q.heap[n] = timed{}
	q.heap = q.heap[:n]
	for i := 0; ; {
		least := i
		for down := 2*i + 1; down <= 2*i+2 && down < n; down++ {
			if q.before(down, least) {
				least = down
			}
		}
		if least == i {
			return first, true
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
