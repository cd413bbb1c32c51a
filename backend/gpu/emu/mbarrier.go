package emu

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"ptc/backend/gpu/ptx"
)

// mbarrier is a barrier in shared memory ("PTX ISA", 9.7.13.15). Its phase is complete when all
// arrivals of it are there, and all bytes that were expected; then the next one begins.
type mbarrier struct {
	block   *blockRun
	place   int
	count   int    // arrivals of a phase
	pending int    // of them, those that are missing
	bytes   int    // expected and not yet there: the tx-count, below 0 if they come first
	phase   int    // complete ones
	actor   int    // what copies write that count their bytes here; its clock is the phase, from 1 on
	next    view   // what those know that arrived in this phase
	last    view   // and those of the last one
	loads   int    // the phase, from 1 on, that the last copy is counted in
	awaited int    // the phases that somebody waited for
	init    access // by whom it was made
	fenced  bool   // whether that is visible to the async proxy by a fence.mbarrier_init
}

const (
	barrierBytes = 8
	maxArrivals  = 1<<20 - 1
	maxExpected  = 1<<20 - 1
)

// String says what is missing, for errors.
func (m *mbarrier) String() string {
	return fmt.Sprintf("phase %d of the barrier at %d, of which %d arrivals and %d bytes are missing", m.phase, m.place, m.pending, m.bytes)
}

// barrierAt is the barrier at an address of a lane, in a block of the cluster.
func (w *warp) barrierAt(address uint64, lane int) (*mbarrier, error) {
	b, at, err := w.resolve(address)
	if err != nil {
		return nil, fmt.Errorf("lane %d: %w", lane, err)
	}
	b.reach(w, lane)
	if at%barrierBytes != 0 {
		return nil, fmt.Errorf("lane %d: a barrier at %d, which is no multiple of 8", lane, at)
	}
	m := b.shared.barriers[at]
	if m == nil {
		return nil, fmt.Errorf("lane %d: no barrier was initialized at %d", lane, at)
	}
	if s := w.b.shadow; s != nil && !s.before(m.init, w, lane) {
		return nil, fmt.Errorf("lane %d: the barrier at %d was initialized by warp %d, with nothing to order that before its use", lane, at, m.init.who)
	}
	return m, nil
}

// arrive counts n arrivals of a lane.
func (w *warp) arrive(m *mbarrier, lane, n int) error {
	if n < 1 || n > m.pending {
		return fmt.Errorf("lane %d: %d arrivals at the barrier at %d, in whose phase %d are missing", lane, n, m.place, m.pending)
	}
	m.pending -= n
	return nil
}

// expect adds bytes that a phase waits for; n is below 0 where they have come.
func (m *mbarrier) expect(n int) error {
	if m.bytes += n; m.bytes > maxExpected || m.bytes < -maxExpected {
		return fmt.Errorf("the barrier at %d expects %d bytes", m.place, m.bytes)
	}
	return nil
}

// advance begins the next phase if this one is complete.
func (b *blockRun) advance(m *mbarrier) {
	if m.pending > 0 || m.bytes != 0 {
		return
	}
	m.phase++
	m.pending = m.count
	m.last, m.next = m.next, m.last
	m.next.clear()
	if b.shadow != nil {
		raise(&m.last.seen, m.actor, uint32(m.phase))
	}
	b.c.progress()
}

// decodeBarrier is mbarrier.init, inval, arrive, arrive.expect_tx, expect_tx, test_wait and try_wait,
// and of barriers of other blocks arrive
// and expect_tx.
func decodeBarrier(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	d.p.alone = true
	has := func(word string) bool { return slices.Contains(parts, word) }
	known := map[string]bool{"shared": true, "shared::cta": true, "cluster": true, "b64": true}
	also := func(words string) {
		for _, x := range strings.Fields(words) {
			known[x] = true
		}
	}
	far := has("shared::cluster")
	if len(parts) < 3 || !has("shared") && !has("shared::cta") && !far {
		return fmt.Errorf("expected a barrier in shared memory")
	}
	var decode func(d *decoder, s *ptx.Stmt, in *inst) error
	switch parts[1] {
	case "init", "inval":
		decode = decodeInit
		if parts[1] == "inval" {
			decode = decodeInvalid
		}
	case "expect_tx":
		also("relaxed cta shared::cluster")
		decode = decodeExpect
	case "arrive":
		also("release cta expect_tx shared::cluster")
		decode = func(d *decoder, s *ptx.Stmt, in *inst) error { return decodeArrive(d, s, in, has("expect_tx")) }
	case "test_wait", "try_wait":
		also("acquire cta parity")
		decode = func(d *decoder, s *ptx.Stmt, in *inst) error {
			return decodeWait(d, s, in, has("parity"), has("try_wait"))
		}
	default:
		return fmt.Errorf("the instruction is not known")
	}
	if far && parts[1] == "arrive" && (len(s.Args) == 0 || s.Args[0].Kind != ptx.IsSymbol) {
		return fmt.Errorf("an arrival at a barrier of another block has no state")
	}
	for _, p := range parts[2:] {
		if !known[p] {
			return fmt.Errorf("`%s` of it is not known", p)
		}
	}
	return decode(d, s, in)
}

func decodeInit(d *decoder, s *ptx.Stmt, in *inst) error {
	in.run = each(func(w *warp, in *inst, l int) error {
		return w.initialize(w.file[in.from[0]][l]+uint64(in.offset), l, int(uint32(w.file[in.from[1]][l])))
	})
	return d.operands(s.Args, in, "an address and a count", (*decoder).address, number(32))
}

func (w *warp) initialize(address uint64, lane, count int) error {
	at := int(uint32(address))
	if w.b.shared.barriers[at] != nil {
		return fmt.Errorf("lane %d: the barrier at %d is initialized twice", lane, at)
	}
	if count < 1 || count > maxArrivals {
		return fmt.Errorf("lane %d: a barrier of %d arrivals", lane, count)
	}
	if _, err := w.place(shared, uint64(at), barrierBytes, lane, true); err != nil {
		return err
	}
	m := &mbarrier{block: w.b, place: at, count: count, pending: count}
	if s := w.b.shadow; s != nil {
		m.actor = s.actor()
		m.init = access{clock: s.warps[w.id].clock, who: int32(w.id), mask: 1 << lane}
	}
	w.b.shared.barriers[at] = m
	return nil
}

func decodeInvalid(d *decoder, s *ptx.Stmt, in *inst) error {
	in.run = each(func(w *warp, in *inst, l int) error {
		m, err := w.barrierAt(w.file[in.from[0]][l]+uint64(in.offset), l)
		if err != nil {
			return err
		}
		delete(m.block.shared.barriers, m.place)
		// Who still arrives or waits has nothing that orders it before this.
		_, err = w.place(shared, uint64(m.place), barrierBytes, l, true)
		return err
	})
	return d.operands(s.Args, in, "an address", (*decoder).address)
}

func decodeExpect(d *decoder, s *ptx.Stmt, in *inst) error {
	in.run = each(func(w *warp, in *inst, l int) error {
		m, err := w.barrierAt(w.file[in.from[0]][l]+uint64(in.offset), l)
		if err != nil {
			return err
		}
		return m.expect(int(uint32(w.file[in.from[1]][l])))
	})
	return d.operands(s.Args, in, "an address and a number of bytes", (*decoder).address, number(32))
}

// decodeArrive is mbarrier.arrive[.expect_tx] state, [address][, count or bytes]; the state may be
// `_`.
func decodeArrive(d *decoder, s *ptx.Stmt, in *inst, expects bool) error {
	if len(s.Args) < 2 || len(s.Args) > 3 || expects && len(s.Args) != 3 {
		return fmt.Errorf("expected a state, an address and a number")
	}
	in.run = func(w *warp, in *inst) error { return w.arrivals(in, expects) }
	forms := []form{(*decoder).result, (*decoder).address, number(32)}[:len(s.Args)]
	if s.Args[0].Kind == ptx.IsSymbol && s.Args[0].Symbol == "_" {
		return d.operands(s.Args[1:], in, "", forms[1:]...)
	}
	return d.operands(s.Args, in, "", forms...)
}

// arrivals is those of all lanes at hand. What they did before is released to those that wait.
func (w *warp) arrivals(in *inst, expects bool) error {
	at := make([]*mbarrier, lanes)
	if err := w.flow.each(func(l int) (err error) {
		at[l], err = w.barrierAt(w.file[in.from[0]][l]+uint64(in.offset), l)
		return err
	}); err != nil {
		return err
	}
	number := func(l int) int {
		if len(in.from) > 1 && !expects {
			return int(uint32(w.file[in.from[1]][l]))
		}
		return 1
	}
	known := w.releaseAll(at, number)
	return w.flow.each(func(l int) error {
		m := at[l]
		if len(in.to) > 0 {
			w.file[in.to[0]][l] = uint64(m.phase)
		}
		if expects {
			if err := m.expect(int(uint32(w.file[in.from[1]][l]))); err != nil {
				return err
			}
		}
		if w.b.shadow != nil && known>>l&1 == 0 {
			w.b.shadow.release(w, 1<<l, &m.next)
		}
		if err := w.arrive(m, l, number(l)); err != nil {
			return err
		}
		w.b.advance(m)
		return nil
	})
}

// releaseAll releases what lanes did at the barriers whose phase all of their arrivals
// belong to, and gives those lanes.
func (w *warp) releaseAll(at []*mbarrier, number func(lane int) int) (known uint32) {
	s := w.b.shadow
	if s == nil {
		return 0
	}
	for left := w.flow.mask; left != 0; {
		var same uint32
		m, sum := at[bits.TrailingZeros32(left)], 0
		for l := range lanes {
			if left>>l&1 != 0 && at[l] == m {
				same |= 1 << l
				sum += number(l)
			}
		}
		if sum <= m.pending {
			s.release(w, same, &m.next)
			known |= same
		}
		left &^= same
	}
	return known
}

// decodeWait is mbarrier.test_wait and try_wait[.parity] p, [address], state or parity[, hint].
func decodeWait(d *decoder, s *ptx.Stmt, in *inst, parity, try bool) error {
	bits := 64
	if parity {
		bits = 32
	}
	args := s.Args
	if try && len(args) == 4 {
		args = args[:3]
	}
	in.run = func(w *warp, in *inst) error { return w.await(in, parity) }
	return d.operands(args, in, "a predicate, an address, and which phase", (*decoder).result, (*decoder).address, number(bits))
}
