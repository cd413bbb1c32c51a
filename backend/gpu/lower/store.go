package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/thread"
)

// stores makes stores that follow each other, a slice of them after the other.
func (s *tiles) stores(x *assign.Stores) {
	for i, slice := range x.Slices {
		if len(x.Slices) == 1 {
			s.storeAll(slice, x.Wait[i])
			continue
		}
		// Addresses that were computed before the products would take registers in their loop.
		s.Anew(func() { s.storeAll(slice, x.Wait[i]) })
	}
}

// storeAll computes all that sinks store, waits for all threads to have done so if it has to,
// and stores it.
func (s *tiles) storeAll(sinks []assign.Sink, wait bool) {
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
func (s *tiles) store(x assign.Sink) func() {
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
