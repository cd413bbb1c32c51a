package program

import (
	"fmt"

	"ptc/internal/ranges"
	"ptc/internal/rolled"
)

// early proves of what is posted that nothing touches the places that it writes in the
// tick before its own, from whose head to whose end it is under way. That it is left
// alone in its own tick, too, until it is waited for, is found in that tick, for
// which it is begun there.
//
// Which ticks follow one another, the table says: a task, in its first tick or in a
// later one, and behind it a task that posts. For each two of them every buffer that the
// one touches is compared with those that the other receives into; where all that two
// buffers have of microbatches is apart, whatever the microbatches are, they are, and
// else the places that they have in those ticks are looked at, as often as these differ.
type early struct {
	kernels []Kernel
	device  *Device
	order   *Order
	walked  int // places that were looked at
}

func (h *early) check() error {
	into := make([]*arrivals, len(h.order.Tasks))
	touched := map[before][]touch{}
	for _, f := range h.follows() {
		if into[f.task] == nil {
			into[f.task] = h.arrivals(f.task)
		}
		list, known := touched[f.before]
		if !known {
			list = h.touches(h.order.Tasks[f.before.task], f.before.first)
			touched[f.before] = list
		}
		if err := h.apart(f, into[f.task], list); err != nil {
			return err
		}
	}
	return nil
}

// before is a task in its first tick, or in others.
type before struct {
	task  int
	first bool
}

// follow is a task that posts, behind the ticks of one: with the microbatches of both in
// each two ticks.
type follow struct {
	before
	task   int
	micros [][2]int
}

// follows are all that there are in the table of ticks.
func (h *early) follows() (out []*follow) {
	type key struct {
		before
		task int
	}
	had, index := make([]bool, len(h.order.Tasks)), map[key]*follow{}
	for i, t := range h.order.Ticks {
		b := before{t.Task, !had[t.Task]}
		had[t.Task] = true
		if _, next := h.order.Heads(i); !next || len(h.order.PostedOf(h.order.Ticks[i+1].Task)) == 0 {
			continue
		}
		tick := h.order.Ticks[i+1]
		k := key{b, tick.Task}
		if index[k] == nil {
			index[k] = &follow{before: b, task: k.task}
			out = append(out, index[k])
		}
		index[k].micros = append(index[k].micros, [2]int{t.Micro, tick.Micro})
	}
	return out
}

// arrivals are the posted receives of a task, with all bytes in which they have places.
type arrivals struct {
	instrs []int
	index  *ranges.Index
}

func (h *early) arrivals(task int) *arrivals {
	a := &arrivals{instrs: h.order.PostedOf(task)}
	var all []ranges.Span
	for _, i := range a.instrs {
		all = append(all, h.device.Buffers[h.order.prog.Instrs[i].Bufs[0]].all())
	}
	a.index = ranges.NewIndex(all)
	return a
}

// touch is a buffer that instructions of a task use, the first so many bytes of it.
type touch struct {
	buffer int
	bytes  int64
	instr  int // the one that uses most of it
}

// touches are the buffers that a task uses in a tick, in the device's own memory.
func (h *early) touches(t rolled.Task, first bool) (out []touch) {
	index := map[int]int{}
	use := func(i, n int, bytes int64) {
		j, known := index[n]
		switch {
		case h.device.Buffers[n].Memory != "" || bytes == 0:
		case !known:
			index[n], out = len(out), append(out, touch{n, bytes, i})
		case bytes > out[j].bytes:
			out[j].bytes, out[j].instr = bytes, i
		}
	}
	for i := t.From; i < t.To; i++ {
		in := h.order.prog.Instrs[i].In(first)
		for j, n := range in.Bufs {
			if in.Comm == nil {
				use(i, n, h.kernels[in.Kernel].Args[j].Bytes)
			} else {
				use(i, n, h.device.Buffers[n].Size())
			}
		}
	}
	return out
}

// apart checks what the ticks before touch against where it is received.
func (h *early) apart(f *follow, into *arrivals, list []touch) error {
	places := map[[2]int][][2]int{} // of microbatches, by how many places they have
	var found []int
	for _, x := range list {
		used := &h.device.Buffers[x.buffer]
		found = into.index.Meeting(used.all(), found[:0])
		for _, n := range found {
			i := into.instrs[n]
			b := &h.device.Buffers[h.order.prog.Instrs[i].Bufs[0]]
			rings := [2]int{max(used.MicroRing, 1), max(b.MicroRing, 1)}
			if places[rings] == nil {
				places[rings] = differing(f.micros, rings)
			}
			for _, m := range places[rings] {
				if h.walked++; h.walked > maxWalked {
					return within(CountLimit, "%d places to look at one by one", int64(h.walked), maxWalked)
				}
				at := b.elements(rolled.Issue{Instance: once, Micro: m[1]})
				if used.meets(m[0], x.bytes, at) {
					return fmt.Errorf("task %s: %s uses bytes from %d on, where %s, under way, receives", h.order.prog.Tasks[f.before.task].Name,
						rolled.Issue{Op: x.instr, Instance: once, Micro: m[0]}, at.lo, rolled.Issue{Op: i, Instance: once, Micro: m[1]})
				}
			}
		}
	}
	return nil
}

// differing are those of some pairs of microbatches whose places are not those of others.
func differing(micros [][2]int, rings [2]int) (out [][2]int) {
	seen := map[[2]int]bool{}
	for _, m := range micros {
		at := [2]int{m[0] % rings[0], m[1] % rings[1]}
		if !seen[at] {
			seen[at] = true
			out = append(out, m)
		}
	}
	return out
}
