package emu

import (
	"fmt"
	"strings"

	"ptc/backend/gpu/ptx"
)

// bulk is an asynchronous bulk copy (cp.async.bulk), done by the async proxy: to shared memory, where a barrier counts its
// bytes, or from shared memory, in groups of a thread.
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

// bulkStores are those of the threads of a warp.
type bulkStores struct {
	begun  []*bulk    // not yet waited for
	closed [lanes]int // groups, by lane
	actors [lanes]int // that stand for them; 0: none yet
}

// paramWindow is where kernels find their parameters by generic addresses.
const paramWindow = 0x7d00_0000_0000

// decodeBulk is cp.async.bulk, of bytes and of tiles, both ways, commit_group and wait_group[.read].
func decodeBulk(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	d.p.alone = true
	switch s.Op {
	case "cp.async.bulk.commit_group":
		in.run = each(func(w *warp, in *inst, l int) error { w.stores.closed[l]++; return nil })
		return nil
	case "cp.async.bulk.wait_group", "cp.async.bulk.wait_group.read":
		if len(s.Args) != 1 || s.Args[0].Kind != ptx.IsImm || s.Args[0].Imm < 0 {
			return fmt.Errorf("expected a number of groups")
		}
		in.n = int(s.Args[0].Imm)
		whole := parts[len(parts)-1] != "read"
		in.run = each(func(w *warp, in *inst, l int) error { return w.waitStores(l, w.stores.closed[l]-in.n, whole) })
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
	in.run = each(func(w *warp, in *inst, l int) error {
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
	in.run = each(func(w *warp, in *inst, l int) error {
		c, err := w.tile(in, l, offsets[0])
		if err != nil {
			return fmt.Errorf("lane %d: %w", l, err)
		}
		if c.text = s.String(); !load {
			return w.startStore(c, l)
		}
		barrier := w.file[in.from[2+in.n]][l] + uint64(offsets[1])
		if multicast {
			return w.multicast(c, l, barrier, uint16(w.file[in.from[3+in.n]][l]))
		}
		return w.startLoad(c, l, barrier)
	})
	return nil
}

// tile is the copy that a lane asks for, of operands as decodeTile has them.
func (w *warp) tile(in *inst, lane int, offset int64) (*bulk, error) {
	m, err := w.tensorMap(w.file[in.from[1]][lane])
	if err != nil {
		return nil, err
	}
	if m.Rank != in.n {
		return nil, fmt.Errorf("the map is of %d dimensions", m.Rank)
	}
	var position []int32
	for _, x := range in.from[2 : 2+in.n] {
		position = append(position, int32(w.file[x][lane]))
	}
	b, at, err := w.resolve(w.file[in.from[0]][lane] + uint64(offset))
	if err != nil {
		return nil, err
	}
	c, err := tileCopy(m, position, at, len(b.shared.bytes))
	if err != nil {
		return nil, err
	}
	c.block = b
	return c, nil
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
