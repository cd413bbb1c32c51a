package lower

import (
	"maps"

	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

// Whoever writes to shared memory waits first until all threads have read what was there before. So
// arrays whose readers are done may be in one place (thread.Builder.Overlay).

// tiles are tiles in registers, and those that are in shared memory as well.
type tiles struct {
	values
	placed map[*tile.Value]placed
}

// within lowers a block of code: what it computes is not known behind it.
func (s *tiles) within(body func()) {
	s.known = append(s.known, map[key][]*thread.Value{})
	outer := s.placed
	s.placed = maps.Clone(outer)
	body()
	s.placed = outer
	s.known = s.known[:len(s.known)-1]
}

// share puts v into shared memory, zero where it does not exist, and waits for all threads to
// have done so.
func (s *tiles) share(v *tile.Value, in *layout.Memory) placed {
	if p, ok := s.placed[v]; ok {
		return p
	}
	p := s.reserve(v, in, 1)
	at := s.phase.Writers(v, in)
	x := s.complete(v, at, 0)
	s.Sync()
	s.reach(p, p.dims, at).write(x, s.once(at))
	if in.Span > 0 {
		s.FenceProxy()
	}
	s.Sync()
	s.placed[v] = p
	return p
}

// reserve is memory for so many of v, one behind the other.
func (s *tiles) reserve(v *tile.Value, in *layout.Memory, n int) placed {
	align := 128
	if in.Span > 0 {
		align = 8 * in.Span // what is exchanged is by addresses
	}
	return placed{mem: s.NewShared(s.phase.Elem(v), n*in.Elems, align), dims: v.Type.Dims, in: in}
}
