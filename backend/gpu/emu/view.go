package emu

// view is what somebody knows of others: of each thread and of each actor (what runs by itself:
// copies that a barrier in memory counts, bulk stores, products of a warp) the clock up to which what
// it did comes before what is done now (vector clocks: Mattern, "Virtual time and global
// states of distributed systems", 1989).
type view struct {
	seen []uint32
	// fenced is the part of it that accesses of the async proxy see as well: a
	// fence.proxy.async lies between.
	fenced []uint32
}

// at is element i of v, of which what is not there is 0.
func at(v []uint32, i int) uint32 {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// raise makes element i of *v at least x.
func raise(v *[]uint32, i int, x uint32) {
	if i >= len(*v) {
		*v = append(*v, make([]uint32, i+1-len(*v))...)
	}
	(*v)[i] = max((*v)[i], x)
}

func join(v *[]uint32, other []uint32) {
	if len(other) > len(*v) {
		*v = append(*v, make([]uint32, len(other)-len(*v))...)
	}
	to := *v
	for i, x := range other {
		if x > to[i] {
			to[i] = x
		}
	}
}

// join adds what o knows.
func (v *view) join(o *view) {
	join(&v.seen, o.seen)
	join(&v.fenced, o.fenced)
}

func (v *view) clear() { clear(v.seen); clear(v.fenced) }

// warpView is what the threads of a warp know. What its lanes did before they met
// last, and learned, all of them know; the others is theirs alone.
type warpView struct {
	clock uint32 // of what its lanes do now; it ticks when they meet, and when others may learn what they did
	view
	lanes [lanes]*view
}

// knows is the clock of thread or actor i that a lane knows; all lanes, if lane is everyone.
func (v *warpView) knows(lane, i int) uint32 {
	x := at(v.seen, i)
	if lane >= 0 && v.lanes[lane] != nil {
		x = max(x, at(v.lanes[lane].seen, i))
	}
	return x
}

// fences is the clock of i up to which what it wrote is seen by the async proxy.
func (v *warpView) fences(lane, i int) uint32 {
	x := at(v.fenced, i)
	if lane >= 0 && v.lanes[lane] != nil {
		x = max(x, at(v.lanes[lane].fenced, i))
	}
	return x
}

// own is the view of one lane alone.
func (v *warpView) own(lane int) *view {
	if v.lanes[lane] == nil {
		v.lanes[lane] = &view{}
	}
	return v.lanes[lane]
}

// everyone stands for all lanes of a warp that do something together.
const everyone = -1

// meet is the lanes of warp number n, all that are alive, at a place that orders what they did.
func (s *shadow) meet(w *warp) {
	v := &s.warps[w.id]
	for l := range lanes {
		if v.lanes[l] != nil {
			v.join(v.lanes[l])
			v.lanes[l] = nil
		}
		raise(&v.seen, w.id*lanes+l, v.clock)
	}
	v.clock++
}

// release adds to o what lanes did so far, and what they know.
func (s *shadow) release(w *warp, mask uint32, o *view) {
	v := &s.warps[w.id]
	o.join(&v.view)
	for l := range lanes {
		if mask>>l&1 != 0 {
			if v.lanes[l] != nil {
				o.join(v.lanes[l])
			}
			raise(&o.seen, w.id*lanes+l, v.clock)
		}
	}
	v.clock++
}

// acquire gives lanes what o knows.
func (s *shadow) acquire(w *warp, mask uint32, o *view) {
	v := &s.warps[w.id]
	if mask == w.flow.alive() {
		v.join(o)
		return
	}
	for l := range lanes {
		if mask>>l&1 != 0 {
			v.own(l).join(o)
		}
	}
}

// learn gives lanes the clock of an actor.
func (s *shadow) learn(w *warp, mask uint32, actor int, clock uint32) {
	v := &s.warps[w.id]
	if mask == w.flow.alive() {
		raise(&v.seen, actor, clock)
		return
	}
	for l := range lanes {
		if mask>>l&1 != 0 {
			raise(&v.own(l).seen, actor, clock)
		}
	}
}

// fence makes what lanes wrote, and what they know that others wrote, visible to the async proxy.
func (s *shadow) fence(w *warp, mask uint32) {
	v := &s.warps[w.id]
	if mask == w.flow.alive() {
		join(&v.fenced, v.seen)
	}
	for l := range lanes {
		if mask>>l&1 == 0 {
			continue
		}
		if mask == w.flow.alive() {
			if v.lanes[l] != nil {
				join(&v.fenced, v.lanes[l].seen)
			}
			raise(&v.fenced, w.id*lanes+l, v.clock)
			continue
		}
		o := v.own(l)
		join(&o.fenced, v.seen)
		join(&o.fenced, o.seen)
		raise(&o.fenced, w.id*lanes+l, v.clock)
	}
	v.clock++
}
