package emu

import (
	"fmt"
	"math/bits"

	"ptc/backend/gpu/ptx"
)

// groupWarps is how many warps a warpgroup has.
const groupWarps = 4

// warpgroup is the number of that of w; an error if the block has no whole one there.
func (w *warp) warpgroup() (int, error) {
	n := w.number / groupWarps
	if (n+1)*groupWarps*lanes > w.b.p.entry.Threads {
		return 0, fmt.Errorf("warp %d is in no whole warpgroup of a block of %d threads", w.number, w.b.p.entry.Threads)
	}
	return n, nil
}

// decodeElect is elect.sync d|p, -1: p holds for one lane, whose number is d. Which one it is,
// is always the same; the seed says which.
func decodeElect(d *decoder, s *ptx.Stmt, _ []string, in *inst) error {
	if s.Op != "elect.sync" || len(s.Args) != 2 || s.Args[0].Kind != ptx.IsPair || s.Args[1].Kind != ptx.IsImm || uint32(s.Args[1].Imm) != everyLane {
		return fmt.Errorf("expected an election among all lanes")
	}
	leader, holds := s.Args[0].Vec[0], s.Args[0].Vec[1]
	if err := d.result(holds, in); err != nil {
		return err
	}
	if leader.Kind != ptx.IsSymbol || leader.Symbol != "_" {
		if err := d.result(leader, in); err != nil {
			return err
		}
	}
	in.all = true
	in.run = func(w *warp, in *inst) error {
		alive := w.flow.alive()
		skip := int(w.b.d.Seed % uint64(bits.OnesCount32(alive)))
		for range skip {
			alive &= alive - 1
		}
		elected := bits.TrailingZeros32(alive)
		return w.flow.each(func(l int) error {
			w.file[in.to[0]][l] = 0
			if l == elected {
				w.file[in.to[0]][l] = 1
			}
			if len(in.to) > 1 {
				w.file[in.to[1]][l] = uint64(elected)
			}
			return nil
		})
	}
	return nil
}

// decodeRegisters is setmaxnreg.{inc,dec}.sync.aligned.u32 N. A warp gives registers back at once, and waits until
// there are as many as it asks for ("PTX ISA", 9.7.19.5).
func decodeRegisters(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	switch s.Op {
	case "setmaxnreg.inc.sync.aligned.u32", "setmaxnreg.dec.sync.aligned.u32":
	default:
		return fmt.Errorf("the instruction is not known")
	}
	if len(s.Args) != 1 || s.Args[0].Kind != ptx.IsImm {
		return fmt.Errorf("expected a number of registers")
	}
	n := int(s.Args[0].Imm)
	if n < 24 || n > 256 || n%8 != 0 {
		return fmt.Errorf("%d registers; expected a multiple of 8, 24 to 256", n)
	}
	in.all = true
	first := registersOf(d.p.entry)
	if first == 0 {
		return fmt.Errorf("how many registers there are at the beginning is not said, by .minnctapersm")
	}
	inc := parts[1] == "inc"
	in.run = func(w *warp, _ *inst) error {
		if _, err := w.warpgroup(); err != nil {
			return err
		}
		last := first
		if k := len(w.limits); k > 0 {
			last = w.limits[k-1]
		}
		if inc && n < last || !inc && n > last {
			return fmt.Errorf("%d registers, where the thread has %d", n, last)
		}
		if inc && n-last > w.b.free {
			w.flow.sleep(&registers{n - last, w.b})
			return nil
		}
		w.b.free += last - n
		w.limits = append(w.limits, n)
		w.b.c.progress()
		return nil
	}
	return nil
}

const (
	// fileRegisters is how many registers a multiprocessor has, and mostRegisters how many a thread.
	fileRegisters = 64 << 10
	mostRegisters = 256
)

// registersOf is how many registers a thread has at the beginning: an equal share of what its block may have at most, which
// the limits of an entry say; 0 if they do not.
func registersOf(e *ptx.Entry) int {
	if e.Blocks < 1 || e.Threads < 1 {
		return 0
	}
	return min(mostRegisters, fileRegisters/(e.Threads*e.Blocks)/8*8)
}

// registers is what a warp waits for that asks for more of each thread than the block has.
type registers struct {
	more int
	b    *blockRun
}

func (r *registers) String() string {
	return fmt.Sprintf("%d registers more for each thread, where others of the block have given up %d", r.more, r.b.free)
}

// decodePrefetch is prefetch.tensormap of a generic address, and prefetch.param.tensormap of a parameter.
func decodePrefetch(d *decoder, s *ptx.Stmt, _ []string, in *inst) error {
	window := uint64(0)
	switch s.Op {
	case "prefetch.tensormap":
	case "prefetch.param.tensormap":
		window = paramWindow
	default:
		return fmt.Errorf("the instruction is not known")
	}
	if len(s.Args) != 1 {
		return fmt.Errorf("expected an address")
	}
	in.run = each(func(w *warp, in *inst, l int) error {
		_, err := w.tensorMap(w.file[in.from[0]][l] + uint64(in.offset) + window)
		return err
	})
	return d.address(s.Args[0], in)
}
