package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

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

// effects lower what has an effect: see [assign.Effect].
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
		if x := t.phase.Stores[o]; x != nil {
			t.stores(x)
		}
		if !assign.Effect(o.Kind) || o.Kind == tile.Wait {
			continue
		}
		if assign.Scatters(o) {
			t.Sync() // others may have stored what is added to
		}
		effects[o.Kind](t, o)
	}
}

// body lowers the body of loop o, which has carry in registers.
func (t *task) body(o *tile.Op, at []*layout.Layout, carry []*thread.Value) {
	t.depth++
	t.spread(o.Loop.Carry, at, carry)
	t.block(o.Loop.Body)
	t.depth--
}
