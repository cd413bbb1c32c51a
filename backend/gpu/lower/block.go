package lower

import (
	"maps"

	"ptc/backend/gpu/assign"
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

// task is a task of a phase, whose effects are lowered one after the other.
type task struct {
	tiles
	depth  int              // of loops
	flight *assign.Pipeline // the loop whose products are under way together, and not waited for one by one; or nil
	shared sharing          // of the one loop that blocks of threads or warps share; or nil
}

// sharing makes a loop whose iterations are not those of one block of threads, in the order of their numbers.
type sharing interface {
	loop() *tile.Op
	// iterate makes the loop's code for its blocks [from, to), and gives the registers that it carries.
	iterate(from, to *thread.Value, at []*layout.Layout) []*thread.Value
}

// effects lower what has an effect.
var effects = map[tile.Kind]func(t *task, o *tile.Op){}

// begin is a task of a phase, whose program's buffers are the given arguments of a kernel with the given maps.
func begin(b *thread.Builder, ph *assign.Phase, args []argument, maps []thread.Map) *task {
	s := values{cursor: cursor{code{b}, ph.Tiles, map[*tile.Range]*thread.Value{}}, phase: ph, args: map[*tile.Buffer]argument{}, maps: maps, known: []map[key][]*thread.Value{{}}}
	for i, buf := range ph.Program.Buffers {
		s.args[buf] = args[i]
	}
	return &task{tiles: tiles{values: s, placed: map[*tile.Value]placed{}}}
}

// block lowers what has an effect; what computes is lowered where it is demanded, except
// for what threads have to do together.
func (t *task) block(body *tile.Block) {
	for _, o := range body.Ops {
		if assign.Scatters(o) {
			t.Sync() // others may have stored what is added to
		}
		if f := effects[o.Kind]; f != nil {
			f(t, o)
		}
	}
}

// body lowers the body of loop o, which has carry in registers.
func (t *task) body(o *tile.Op, at []*layout.Layout, carry []*thread.Value) {
	t.depth++
	t.spread(o.Loop.Carry, at, carry)
	t.block(o.Loop.Body)
	t.depth--
}
