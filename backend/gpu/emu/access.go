package emu

import (
	"fmt"
	"slices"
	"strings"

	"ptc/backend/gpu/ptx"
)

// space is where an access goes.
type space uint8

const (
	global space = iota
	shared
	remote // of any block of the cluster
	param
)

// decodeAccess is ld and st, of global and shared memory, and of parameters.
func decodeAccess(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	where, n := global, 1
	nc, strong := slices.Contains(parts, "nc"), slices.Contains(parts, "relaxed")
	if len(parts) < 3 {
		return fmt.Errorf("expected a space and a type")
	}
	for i, p := range parts[1 : len(parts)-1] {
		switch p {
		case "global", "nc", "L1::no_allocate", "L2::128B", "L2::256B", "relaxed", "gpu":
		case "param":
			where = param
		case "shared", "shared::cta":
			where = shared
		case "shared::cluster":
			where = remote
		case "v2":
			n = 2
		case "v4":
			n = 4
		default:
			return fmt.Errorf("`%s` of it is not known", p)
		}
		if i == 0 && !strings.HasPrefix(p, "global") && p != "param" && p != "relaxed" && where != shared && where != remote {
			return fmt.Errorf("its space is not known")
		}
	}
	t, err := typeOf(parts[len(parts)-1])
	if err != nil {
		return err
	}
	if len(s.Args) != 2 || t.bits < 8 || where == param && parts[0] == "st" {
		return fmt.Errorf("expected an address and a register of bytes")
	}
	in.bytes = t.bits / 8
	signed := t.kind == 's'
	if parts[0] == "ld" {
		if err := d.result(s.Args[0], in); err != nil {
			return err
		}
		if err := d.address(s.Args[1], in); err != nil {
			return err
		}
		n = checked(n, len(in.to))
		in.run = func(w *warp, in *inst) error { return w.load(in, where, signed, nc, strong) }
	} else {
		if err := d.address(s.Args[0], in); err != nil {
			return err
		}
		if err := d.read(s.Args[1], t.bits, in); err != nil {
			return err
		}
		n = checked(n, len(in.from)-1)
		in.run = func(w *warp, in *inst) error { return w.store(in, where, strong) }
	}
	if n < 0 || n*in.bytes > 16 {
		return fmt.Errorf("its registers are not as many as it says, or more than 16 bytes")
	}
	in.n = n
	return nil
}

// checked is n if there are so many, or -1.
func checked(n, have int) int {
	if n != have {
		return -1
	}
	return n
}

func (w *warp) load(in *inst, where space, signed, nc, strong bool) error {
	if where == global {
		w.sectors(in, in.from[0])
	} else if where == shared {
		w.banks(in, in.from[0])
	}
	return w.flow.each(func(l int) error {
		b, err := w.place(where, w.file[in.from[0]][l]+uint64(in.offset), in.bytes*in.n, l, false)
		if err != nil {
			return err
		}
		if where == global && !strong {
			if err := w.reachGlobal(l, w.file[in.from[0]][l]+uint64(in.offset), in.bytes*in.n, false, nc); err != nil {
				return err
			}
		}
		for i, to := range in.to {
			x := load(b[i*in.bytes : (i+1)*in.bytes])
			if signed {
				x = uint64(extend(x, in.bytes*8)) & 0xffffffff
				if in.bytes == 8 {
					x = load(b[i*8 : i*8+8])
				}
			}
			w.file[to][l] = x
		}
		return nil
	})
}

func (w *warp) store(in *inst, where space, strong bool) error {
	if where == global {
		w.sectors(in, in.from[0])
	} else {
		w.banks(in, in.from[0])
	}
	return w.flow.each(func(l int) error {
		b, err := w.place(where, w.file[in.from[0]][l]+uint64(in.offset), in.bytes*in.n, l, true)
		if err != nil {
			return err
		}
		if where == global && !strong {
			if err := w.reachGlobal(l, w.file[in.from[0]][l]+uint64(in.offset), in.bytes*in.n, true, false); err != nil {
				return err
			}
		}
		for i, from := range in.from[1:] {
			store(b[i*in.bytes:(i+1)*in.bytes], w.file[from][l])
		}
		return nil
	})
}

// place is the memory of an access of one lane.
func (w *warp) place(where space, at uint64, n, lane int, write bool) ([]byte, error) {
	if at%uint64(n) != 0 && where != param {
		return nil, fmt.Errorf("lane %d: %d bytes at %#x, which is no multiple of that", lane, n, at)
	}
	switch where {
	case param:
		if at+uint64(n) > uint64(len(w.b.params)) {
			return nil, fmt.Errorf("there are %d bytes of parameters", len(w.b.params))
		}
		return w.b.params[at : at+uint64(n)], nil
	case shared:
		if at &= 0xffffffff; at>>rankShift != 0 {
			return nil, fmt.Errorf("lane %d: shared memory at %#x, which is no address of its own block", lane, at)
		}
		return w.within(w.b, int(at), n, lane, write)
	case remote:
		b, at, err := w.resolve(at)
		if err != nil {
			return nil, fmt.Errorf("lane %d: %w", lane, err)
		}
		b.reach(w, lane)
		return w.within(b, at, n, lane, write)
	}
	b, err := w.b.d.Bytes(at, n)
	if err != nil {
		return nil, fmt.Errorf("lane %d: %w", lane, err)
	}
	return b, nil
}

// within is the shared memory of a block that a lane reaches.
func (w *warp) within(b *blockRun, at, n, lane int, write bool) ([]byte, error) {
	if at+n > len(b.shared.bytes) {
		return nil, fmt.Errorf("lane %d: %d bytes of shared memory at %d; there are %d", lane, n, at, len(b.shared.bytes))
	}
	if err := b.shared.keepsOff(at, n); err != nil {
		return nil, fmt.Errorf("lane %d: %w", lane, err)
	}
	if s := b.shadow; s != nil {
		if err := s.access(w, lane, b.shared.base+at, n, write); err != nil {
			return nil, err
		}
	}
	return b.shared.bytes[at : at+n], nil
}

// sector and line are the bytes of what global memory is counted in.
const (
	sector = 32
	line   = 128
)

// sectors counts the sectors and lines that an access to global memory touches.
func (w *warp) sectors(in *inst, base int) {
	var seen []uint64
	_ = w.flow.each(func(l int) error {
		at := w.file[base][l] + uint64(in.offset)
		for s := at / sector; s <= (at+uint64(in.bytes*in.n)-1)/sector; s++ {
			seen = append(seen, s)
		}
		w.b.d.Counts.GlobalBytes += int64(in.bytes * in.n)
		return nil
	})
	slices.Sort(seen)
	seen = slices.Compact(seen)
	c := &w.b.d.Counts
	c.Requests++
	c.GlobalSectors += int64(len(seen))
	for i, s := range seen {
		if i == 0 || s/(line/sector) != seen[i-1]/(line/sector) {
			c.Lines++
		}
	}
}

// banks counts the turns that an access to shared memory takes beyond those its bytes need:
// words that are not the same and lie in the same of the 32 banks take one each. A turn
// serves as many lanes as have 128 bytes together.
func (w *warp) banks(in *inst, base int) {
	const banks = 32
	bytes := in.bytes * in.n
	together := max(1, min(lanes, 128/bytes))
	for first := 0; first < lanes; first += together {
		var words [banks][]uint64
		most := 0
		for l := first; l < first+together; l++ {
			if w.flow.mask>>l&1 == 0 {
				continue
			}
			at := w.file[base][l] + uint64(in.offset)
			for x := at / wordBytes; x <= (at+uint64(bytes)-1)/wordBytes; x++ {
				bank := &words[x%banks]
				if !slices.Contains(*bank, x) {
					*bank = append(*bank, x)
				}
				most = max(most, len(*bank))
			}
		}
		w.b.d.Counts.Conflicts += int64(max(0, most-1))
	}
}
