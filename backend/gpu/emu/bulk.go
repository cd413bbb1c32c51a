package emu

import (
	"fmt"
	"strings"

	"ptc/backend/gpu/ptx"
)

// bulk is a copy of many bytes that runs by itself, of the async proxy: to shared memory, counted
// by a barrier there, or from it, in groups of a thread.
type bulk struct {
	text    string
	block   *blockRun // whose shared memory it is
	pieces  []piece   // at being addresses of shared memory now
	swizzle Swizzle
	bytes   int

	barrier *mbarrier // of a load
	phase   int       // of the barrier when it began

	group  int // of a store
	lane   int
	held   []byte // what was read of shared memory, piece after piece
	read   bool   // whether it was
	waited bool   // whether its thread has waited for that
	done   bool   // whether global memory has it
}

// paramWindow is where kernels find their parameters by generic addresses.
const paramWindow = 0x7d00_0000_0000

// decodeBulk is cp.async.bulk, of bytes and of tiles, both ways, commit_group and wait_group[.read].
func decodeBulk(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	d.p.alone = true
	switch s.Op {
	case "cp.async.bulk.commit_group":
		in.run = func(w *warp, _ *inst) error {
			return w.each(func(l int) error { w.closed[l]++; return nil })
		}
		return nil
	case "cp.async.bulk.wait_group", "cp.async.bulk.wait_group.read":
		if len(s.Args) != 1 || s.Args[0].Kind != ptx.IsImm || s.Args[0].Imm < 0 {
			return fmt.Errorf("expected a number of groups")
		}
		in.n = int(s.Args[0].Imm)
		whole := parts[len(parts)-1] != "read"
		in.run = func(w *warp, in *inst) error {
			return w.each(func(l int) error { return w.waitStores(l, w.closed[l]-in.n, whole) })
		}
		return nil
	case "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes":
		return decodeBulkBytes(d, s, in, true)
	case "cp.async.bulk.global.shared::cta.bulk_group":
		return decodeBulkBytes(d, s, in, false)
	}
	if op, ok := strings.CutSuffix(s.Op, ".L2::cache_hint"); ok && len(s.Args) > 0 {
		// A policy of caches changes nothing that is seen here.
		if policy := s.Args[len(s.Args)-1]; policy.Kind != ptx.IsImm && (policy.Kind != ptx.IsReg || policy.Reg.Class != ptx.B64) {
			return fmt.Errorf("expected a policy of 64 bits")
		}
		plain := *s
		plain.Op, plain.Args = op, s.Args[:len(s.Args)-1]
		return decodeBulk(d, &plain, strings.Split(op, "."), in)
	}
	rest, ok := strings.CutPrefix(s.Op, "cp.async.bulk.tensor.")
	rank, rest, _ := strings.Cut(rest, "d.")
	if !ok || len(rank) != 1 || rank[0] < '1' || rank[0] > '5' {
		return fmt.Errorf("the instruction is not known")
	}
	in.n = int(rank[0] - '0')
	switch strings.Replace(rest, ".tile", "", 1) {
	case "shared::cluster.global.mbarrier::complete_tx::bytes", "shared::cta.global.mbarrier::complete_tx::bytes":
		return decodeTile(d, s, in, true, false)
	case "shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster":
		return decodeTile(d, s, in, true, true)
	case "global.shared::cta.bulk_group":
		return decodeTile(d, s, in, false, false)
	}
	return fmt.Errorf("the instruction is not known")
}

// decodeBulkBytes is [to], [from], bytes, and of a load [barrier].
func decodeBulkBytes(d *decoder, s *ptx.Stmt, in *inst, load bool) error {
	if len(s.Args) != 3 && !load || len(s.Args) != 4 && load {
		return fmt.Errorf("expected two addresses, a number of bytes, and a barrier for what is loaded")
	}
	var offsets []int64
	for i, a := range s.Args {
		if i == 2 {
			if err := d.read(a, 32, in); err != nil {
				return err
			}
			offsets = append(offsets, 0)
			continue
		}
		if err := d.address(a, in); err != nil {
			return err
		}
		offsets = append(offsets, in.offset)
	}
	in.run = func(w *warp, in *inst) error {
		return w.each(func(l int) error {
			at := func(i int) uint64 { return w.file[in.from[i]][l] + uint64(offsets[i]) }
			to, from, n := at(0), at(1), int(uint32(at(2)))
			if !load {
				to, from = from, to
			}
			b, inShared, err := w.resolve(to)
			if err != nil {
				return fmt.Errorf("lane %d: %w", l, err)
			}
			inGlobal := from
			if inShared%16 != 0 || inGlobal%16 != 0 || n%16 != 0 || n == 0 {
				return fmt.Errorf("lane %d: %d bytes at %d in shared and %#x in global memory; expected multiples of 16", l, n, inShared, inGlobal)
			}
			c := &bulk{text: s.String(), block: b, bytes: n, pieces: []piece{{inShared, inGlobal, n, true}}}
			if load {
				return w.startLoad(c, l, at(3))
			}
			return w.startStore(c, l)
		})
	}
	return nil
}

// decodeTile is [to], [map, {position}], [barrier] of a load, and if blocks of the cluster get copies, bits that say
// which; and [map, {position}], [from] of a store.
func decodeTile(d *decoder, s *ptx.Stmt, in *inst, load, multicast bool) error {
	want := 2
	for _, more := range []bool{load, multicast} {
		if more {
			want++
		}
	}
	if len(s.Args) != want {
		return fmt.Errorf("expected an address, a map, and a barrier for what is loaded")
	}
	where, tile := s.Args[0], s.Args[1]
	if !load {
		where, tile = s.Args[1], s.Args[0]
	}
	if tile.Kind != ptx.IsTensor || tile.Reg.Class != ptx.B64 || tile.Symbol != "" || len(tile.Vec) != in.n {
		return fmt.Errorf("expected a map's generic address in a register, and %d coordinates", in.n)
	}
	if err := d.address(where, in); err != nil {
		return err
	}
	offsets := []int64{in.offset, 0}
	in.from = append(in.from, d.slot(tile.Reg))
	for _, x := range tile.Vec {
		if err := d.read(x, 32, in); err != nil {
			return err
		}
	}
	if load {
		if err := d.address(s.Args[2], in); err != nil {
			return err
		}
		offsets[1] = in.offset
	}
	if multicast {
		if err := d.read(s.Args[3], 16, in); err != nil {
			return err
		}
	}
	in.run = func(w *warp, in *inst) error {
		return w.each(func(l int) error {
			m, err := w.tensorMap(w.file[in.from[1]][l])
			if err != nil {
				return fmt.Errorf("lane %d: %w", l, err)
			}
			if m.Rank != in.n {
				return fmt.Errorf("lane %d: the map is of %d dimensions", l, m.Rank)
			}
			var position []int32
			for _, x := range in.from[2 : 2+in.n] {
				position = append(position, int32(w.file[x][l]))
			}
			b, at, err := w.resolve(w.file[in.from[0]][l] + uint64(offsets[0]))
			if err != nil {
				return fmt.Errorf("lane %d: %w", l, err)
			}
			c, err := tileCopy(m, position, at, len(w.b.shared))
			if err != nil {
				return fmt.Errorf("lane %d: %w", l, err)
			}
			c.text, c.block = s.String(), b
			if !load {
				return w.startStore(c, l)
			}
			barrier := w.file[in.from[2+in.n]][l] + uint64(offsets[1])
			if multicast {
				return w.multicast(c, l, barrier, uint16(w.file[in.from[3+in.n]][l]))
			}
			return w.startLoad(c, l, barrier)
		})
	}
	return nil
}

// tensorMap is the map at a generic address, in parameters or global memory.
func (w *warp) tensorMap(at uint64) (*TensorMap, error) {
	if at%64 != 0 {
		return nil, fmt.Errorf("a tensor map at %#x, which is no multiple of 64", at)
	}
	if off := at - paramWindow; off < uint64(len(w.b.params)) {
		return decodeTensorMap(w.b.params[off:min(off+tensorMapBytes, uint64(len(w.b.params)))])
	}
	b, err := w.b.d.Bytes(at, tensorMapBytes)
	if err != nil {
		return nil, err
	}
	return decodeTensorMap(b)
}

// tileCopy is the copy of a tile that lies at an address of shared memory, of so many bytes.
func tileCopy(m *TensorMap, position []int32, at, size int) (*bulk, error) {
	if n := m.bytes(); n > size {
		return nil, fmt.Errorf("a tile of %d bytes; there are %d of shared memory", n, size)
	}
	if at%128 != 0 {
		return nil, fmt.Errorf("a tile at %d in shared memory; expected a multiple of 128", at)
	}
	if m.Swizzle != NoSwizzle && m.inner() != m.Swizzle.span() {
		return nil, fmt.Errorf("tiles of %d bytes next to each other, of which %d are swizzled, are not emulated", m.inner(), m.Swizzle.span())
	}
	c := &bulk{swizzle: m.Swizzle, bytes: m.bytes()}
	return c, m.pieces(position, func(p piece) error {
		p.at += at
		c.pieces = append(c.pieces, p)
		return nil
	})
}

// reach checks that a copy stays in both memories, and in the way of nobody: now is what it
// leaves in the shadow.
func (w *warp) reach(c *bulk, lane int, write bool, now access) error {
	for _, p := range c.pieces {
		if p.at < 0 || p.n > len(c.block.shared) || p.at > len(c.block.shared)-p.n {
			return fmt.Errorf("lane %d: %d bytes of shared memory at %d; there are %d", lane, p.n, p.at, len(c.block.shared))
		}
		if p.inside {
			if _, err := w.b.d.Bytes(p.global, p.n); err != nil {
				return fmt.Errorf("lane %d: %w", lane, err)
			}
			w.b.d.Counts.GlobalBytes += int64(p.n)
			w.b.d.Counts.GlobalSectors += int64((p.global+uint64(p.n)-1)/sector - p.global/sector + 1)
			if w.b.d.trace != nil {
				far := now
				if !write { // a store has read shared memory before it has written here
					far.who--
				}
				if err := w.b.access(w, lane, p.global, p.n, use{write: !write, async: true, now: far}); err != nil {
					return err
				}
			}
		}
		if err := c.block.keepsOff(p.at, p.n); err != nil {
			return fmt.Errorf("lane %d: %w", lane, err)
		}
	}
	if w.b.shadow == nil {
		return nil
	}
	for i := 0; i < len(c.pieces); {
		p := c.pieces[i]
		// What lies next to each other is looked at as one: pieces may share words.
		for i++; i < len(c.pieces) && c.pieces[i].at == p.at+p.n && (write || p.inside == c.pieces[i].inside); i++ {
			p.n += c.pieces[i].n
		}
		if !write && !p.inside {
			continue
		}
		if err := c.each(p, func(at, _, n int) error {
			return w.b.shadow.alone(w, lane, c.block.base+at, n, write, now, 2*len(w.b.shadow.warps))
		}); err != nil {
			return fmt.Errorf("lane %d: %w", lane, err)
		}
	}
	return nil
}

// each calls f for the parts of a piece that lie next to each other in shared memory: where
// they are there, and in the piece.
func (c *bulk) each(p piece, f func(at, from, n int) error) error {
	const unit = 16
	if c.swizzle == NoSwizzle {
		return f(p.at, 0, p.n)
	}
	for x := p.at; x < p.at+p.n; {
		n := min(unit-x%unit, p.at+p.n-x)
		if err := f(c.swizzle.at(x), x-p.at, n); err != nil {
			return err
		}
		x += n
	}
	return nil
}

// startLoad begins a copy to shared memory that counts its bytes at a barrier.
func (w *warp) startLoad(c *bulk, lane int, barrier uint64) error {
	m, err := w.barrierAt(barrier, lane)
	if err != nil {
		return err
	}
	if m.block != c.block {
		return fmt.Errorf("lane %d: the barrier is in the memory of rank %d, and the copy goes to that of rank %d", lane, m.block.rank, c.block.rank)
	}
	c.barrier, c.phase, c.lane = m, m.phase, lane
	if s := w.b.shadow; s != nil {
		if !m.fenced && !s.visible(m.init, w, lane) {
			return fmt.Errorf("lane %d: no fence makes the barrier at %d visible to what runs by itself", lane, m.place)
		}
	}
	if err := w.reach(c, lane, true, access{clock: uint32(m.phase + 1), who: int32(^m.actor)}); err != nil {
		return err
	}
	m.loads = m.phase + 1
	if w.b.now() {
		return c.block.finishLoad(c)
	}
	c.block.loads = append(c.block.loads, c)
	return nil
}

// multicast begins a copy to each of the blocks that bits say, where it is in its own, counted by the barriers
// that are where that one is.
func (w *warp) multicast(c *bulk, lane int, barrier uint64, ranks uint16) error {
	if ranks == 0 || int(ranks)>>len(w.b.c.blocks) != 0 {
		return fmt.Errorf("lane %d: copies for the ranks %#x of a cluster of %d blocks", lane, ranks, len(w.b.c.blocks))
	}
	for rank := range w.b.c.blocks {
		if ranks>>rank&1 == 0 {
			continue
		}
		there := uint64(rank+1) << rankShift
		one := *c
		b, _, err := w.resolve(there)
		if err != nil {
			return fmt.Errorf("lane %d: %w", lane, err)
		}
		one.block = b
		if err := w.startLoad(&one, lane, barrier&(1<<rankShift-1)|there); err != nil {
			return err
		}
	}
	return nil
}

// finishLoad does a copy to shared memory.
func (b *blockRun) finishLoad(c *bulk) error {
	m := c.barrier
	if b.memory[m.place] != m || m.phase != c.phase {
		return fmt.Errorf("`%s` counts its %d bytes at the barrier at %d after the phase of that is over in which it began", c.text, c.bytes, m.place)
	}
	for _, p := range c.pieces {
		var from []byte
		if p.inside {
			from, _ = b.d.Bytes(p.global, p.n) // looked at when it began
		} else {
			from = make([]byte, p.n)
		}
		_ = c.each(p, func(at, x, n int) error { copy(b.shared[at:at+n], from[x:x+n]); return nil })
	}
	if err := m.expect(-c.bytes); err != nil {
		return err
	}
	b.advance(m)
	return nil
}

// startStore begins a copy from shared memory, of the group that its thread has open.
func (w *warp) startStore(c *bulk, lane int) error {
	if c.block != w.b {
		return fmt.Errorf("lane %d: a store from the memory of another block", lane)
	}
	c.group, c.lane = w.closed[lane], lane
	var now access
	if s := w.b.shadow; s != nil {
		if w.actors[lane] == 0 {
			w.actors[lane] = s.actor()
			s.actor() // the next one stands for what they write
		}
		now = access{clock: uint32(c.group + 1), who: int32(^w.actors[lane])}
	}
	if err := w.reach(c, lane, false, now); err != nil {
		return err
	}
	w.stores = append(w.stores, c)
	if w.b.now() {
		w.b.finishStore(c, w.b.random == nil || w.b.random.IntN(2) == 0)
	}
	return nil
}

// finishStore reads shared memory, and if it is to be done as a whole, writes global memory.
func (b *blockRun) finishStore(c *bulk, whole bool) {
	if !c.read {
		for _, p := range c.pieces {
			if p.inside {
				held := make([]byte, p.n)
				_ = c.each(p, func(at, x, n int) error { copy(held[x:x+n], b.shared[at:at+n]); return nil })
				c.held = append(c.held, held...)
			}
		}
		c.read = true
	}
	if !whole || c.done {
		return
	}
	held := c.held
	for _, p := range c.pieces {
		if p.inside {
			to, _ := b.d.Bytes(p.global, p.n) // looked at when it began
			copy(to, held)
			held = held[p.n:]
		}
	}
	c.done = true
}

// waitStores returns when the groups of a lane before one have read shared memory, or are done.
func (w *warp) waitStores(lane, before int, whole bool) error {
	kept := w.stores[:0]
	for _, c := range w.stores {
		if c.lane == lane && c.group < before {
			w.b.finishStore(c, whole)
			c.waited = true
			if c.done {
				continue
			}
		}
		kept = append(kept, c)
	}
	w.stores = kept
	if s := w.b.shadow; s != nil && before > 0 && w.actors[lane] != 0 {
		s.learn(w, 1<<lane, w.actors[lane], uint32(before))
		if whole {
			s.learn(w, 1<<lane, w.actors[lane]+1, uint32(before))
		}
	}
	return nil
}

// drift does some of what runs by itself, at a random time.
func (b *blockRun) drift() error {
	if b.random == nil || b.d.Late {
		return nil
	}
	kept := b.loads[:0]
	for _, c := range b.loads {
		if b.random.IntN(4) > 0 {
			kept = append(kept, c)
		} else if err := b.finishLoad(c); err != nil {
			return err
		}
	}
	b.loads = kept
	b.driftProducts()
	for _, w := range b.warps {
		for _, c := range w.stores {
			if b.random.IntN(4) == 0 {
				b.finishStore(c, b.random.IntN(2) == 0)
			}
		}
	}
	return nil
}
