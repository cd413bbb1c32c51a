package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

func init() { effects[tile.Store], effects[tile.Scatter] = (*task).stores, (*task).scatter }

// stores makes the stores that follow each other up to o, if it is the last, a slice of them after the other.
func (t *task) stores(o *tile.Op) {
	x := t.phase.Stores[o]
	switch {
	case x == nil:
	case len(x.Slices) == 1:
		t.storeAll(x.Slices[0], x.Wait[0])
	default: // addresses that were computed before the products would take registers in their loop
		for i, slice := range x.Slices {
			t.Anew(func() { t.storeAll(slice, x.Wait[i]) })
		}
	}
}

// storeAll computes all that sinks store, waits for all threads to have done so if it has to,
// and stores it.
func (s *values) storeAll(sinks []assign.Sink, wait bool) {
	var now []func()
	for _, x := range sinks {
		now = append(now, s.store(x))
	}
	if wait {
		s.Sync()
	}
	for _, f := range now {
		f()
	}
}

// store computes what x stores, and gives what stores it.
func (s *values) store(x assign.Sink) func() {
	to := s.access(x.Op, x.Dims, x.At).open()
	once := s.once(x.At)
	from := s.part(x.Op.Args[0], x.Dims, x.At)
	return func() {
		for r := 0; r < x.At.Regs(); r += to.n {
			at, in := to.of(r, once)
			regs := make([]*thread.Value, to.n)
			for i := range regs {
				regs[i] = from(r + i)
			}
			s.StoreGlobal(at, thread.Access{If: in}, regs)
		}
	}
}

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
