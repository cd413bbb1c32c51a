package lower

import (
	"slices"

	"ptc/backend/tile"
)

// hazards knows which loads were reached before which stores. Tiles are computed where they are
// demanded, so that a load may be demanded behind a store to its memory.
type hazards struct {
	buffers []*tile.Buffer
	loaded  map[*tile.Value]int  // when a load was reached
	stored  map[*tile.Buffer]int // when a store to memory that may be the buffer's was
	time    int
}

func newHazards(p *tile.Program) hazards {
	return hazards{buffers: p.Buffers, loaded: map[*tile.Value]int{}, stored: map[*tile.Buffer]int{}}
}

// reach notes the loads of b.
func (l *hazards) reach(b *tile.Block) {
	for _, o := range b.Ops {
		if loads(o) {
			l.loaded[o.Result()] = l.time
		}
	}
}

// before notes that loads around a loop may be demanded behind the stores in it.
func (l *hazards) before(b *tile.Block) {
	for _, o := range b.Ops {
		if o.Kind == tile.Store || o.Kind == tile.Scatter {
			l.wrote(o.View.Buffer)
		}
		for _, inner := range inside(o) {
			l.before(inner)
		}
	}
	l.time++
}

// wrote notes a store to b, and to what may be in its place.
func (l *hazards) wrote(b *tile.Buffer) {
	l.stored[b] = l.time
	for _, other := range l.buffers {
		if slices.Contains(b.Over, other) || slices.Contains(other.Over, b) {
			l.stored[other] = l.time
		}
	}
}

// stale reports whether memory was stored to since load v was reached.
func (l *hazards) stale(v *tile.Value) bool { return l.stored[v.Def.View.Buffer] > l.loaded[v] }
