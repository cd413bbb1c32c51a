package lower

import (
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

func init() { effects[tile.Scatter] = (*task).scatter }

// scatter adds a tile to a view. The thread that has an element adds it; that elements of
// one place are added in order, and by one thread, is because where they go is looked up once for
// the whole tile, and later tiles have the same layout.
func (t *task) scatter(o *tile.Op) {
	dims := o.Span()
	at := t.phase.Natural(dims)
	x := t.access(o, dims, at)
	once := t.once(at)
	x.open()
	add := t.part(o.Args[0], dims, at)
	for r := range at.Regs() {
		to, in := x.of(r, once)
		old := t.LoadGlobal(to, thread.Access{N: 1, If: in})[0]
		t.StoreGlobal(to, thread.Access{If: in}, []*thread.Value{t.Add(old, add(r))})
	}
}
