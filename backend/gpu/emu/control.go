package emu

import (
	"fmt"
	"math/bits"
	"slices"

	"ptc/backend/gpu/ptx"
)

func decodeBranch(d *decoder, s *ptx.Stmt, _ []string, in *inst) error {
	if len(s.Args) != 1 || s.Args[0].Kind != ptx.IsSymbol {
		return fmt.Errorf("expected a label")
	}
	at, ok := d.labels[s.Args[0].Symbol]
	if !ok {
		return fmt.Errorf("there is no label %s", s.Args[0].Symbol)
	}
	in.target = at
	return nil
}

func decodeEnd(_ *decoder, _ *ptx.Stmt, _ []string, in *inst) error {
	in.target = ended
	return nil
}

// decodeBar is bar.sync and bar.arrive N[, threads] of a block, and bar.warp.sync of all lanes of a warp.
func decodeBar(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	if parts[0] == "barrier" && len(parts) > 1 && parts[1] == "cluster" {
		return decodeMeeting(d, s, parts, in)
	}
	in.all = true
	switch s.Op {
	case "bar.warp.sync":
		if len(s.Args) != 1 || s.Args[0].Kind != ptx.IsImm || uint32(s.Args[0].Imm) != everyLane {
			return fmt.Errorf("expected all lanes")
		}
		in.run = func(w *warp, _ *inst) error {
			if s := w.b.shadow; s != nil {
				s.meet(w)
			}
			return nil
		}
		return nil
	case "bar.sync", "bar.arrive", "barrier.sync.aligned", "barrier.arrive.aligned", "barrier.cta.sync.aligned", "barrier.cta.arrive.aligned":
	default:
		return fmt.Errorf("the instruction is not known")
	}
	in.n = d.p.entry.Threads
	if len(s.Args) < 1 || len(s.Args) > 2 || len(s.Args) == 2 && s.Args[1].Kind != ptx.IsImm {
		return fmt.Errorf("expected a barrier, and a number of threads")
	}
	if len(s.Args) == 2 {
		in.n = int(s.Args[1].Imm)
	} else if slices.Contains(parts, "arrive") {
		return fmt.Errorf("expected a number of threads")
	}
	if s.Args[0].Kind == ptx.IsImm && uint64(s.Args[0].Imm) >= barriers || in.n < lanes || in.n%lanes != 0 && in.n != d.p.entry.Threads {
		return fmt.Errorf("a barrier of %d threads", in.n)
	}
	waits := slices.Contains(parts, "sync")
	in.run = func(w *warp, in *inst) error { return w.barrier(in, waits) }
	return d.read(s.Args[0], 32, in)
}

// barriers is how many a block has.
const barriers = 16

func (w *warp) barrier(in *inst, waits bool) error {
	n, err := w.uniform(in.from[0])
	if err != nil {
		return err
	}
	if n >= barriers {
		return fmt.Errorf("barrier %d; there are %d", n, barriers)
	}
	full, err := w.b.arrive(w, int(n), in.n)
	if err != nil {
		return err
	}
	if waits {
		w.flow.groups[w.flow.at].barrier = int(n) + 1
	}
	if full {
		w.b.release(int(n))
	}
	return nil
}

// uniform is the value of a register that all lanes at hand have.
func (w *warp) uniform(slot int) (uint64, error) {
	first := bits.TrailingZeros32(w.flow.mask)
	x := w.file[slot][first]
	return x, w.flow.each(func(l int) error {
		if w.file[slot][l] != x {
			return fmt.Errorf("lanes %d and %d have %#x and %#x where all have the same", first, l, x, w.file[slot][l])
		}
		return nil
	})
}

// decodeShuffle is shfl.sync.MODE.b32 d, a, b, c, all lanes.
func decodeShuffle(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	if len(parts) != 4 || parts[3] != "b32" || len(s.Args) != 5 || s.Args[4].Kind != ptx.IsImm || uint32(s.Args[4].Imm) != everyLane {
		return fmt.Errorf("expected 32 bits of all lanes")
	}
	in.all = true
	source := map[string]func(lane, b, limit, low int) (int, bool){
		"bfly": func(lane, b, limit, _ int) (int, bool) { return lane ^ b, lane^b <= limit },
		"down": func(lane, b, limit, _ int) (int, bool) { return lane + b, lane+b <= limit },
		"up":   func(lane, b, _, low int) (int, bool) { return lane - b, lane-b >= low },
		"idx":  func(_, b, limit, low int) (int, bool) { return low | b&^low, low|b <= limit },
	}[parts[2]]
	if source == nil {
		return fmt.Errorf("the mode is not known")
	}
	short := *s
	short.Args = s.Args[:4]
	if err := d.registers(&short, in, 1, 3, 32); err != nil {
		return err
	}
	in.run = func(w *warp, in *inst) error {
		a := w.file[in.from[0]]
		for l := range lanes {
			if w.flow.exists>>l&1 == 0 {
				continue
			}
			b, c := int(w.file[in.from[1]][l]&31), w.file[in.from[2]][l]
			segment, clamp := int(c>>8&31), int(c&31)
			low := l & segment
			j, ok := source(l, b, low|clamp&^segment, low)
			if !ok || j < 0 || j >= lanes {
				j = l
			}
			if w.flow.exists>>j&1 == 0 {
				return fmt.Errorf("lane %d reads a register of lane %d, which there is not", l, j)
			}
			w.file[in.to[0]][l] = a[j]
		}
		return nil
	}
	return nil
}

// decodeVote is vote.sync.{any,all}.pred p, q and vote.sync.ballot.b32 d, q, of all lanes.
func decodeVote(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	if len(parts) != 4 || len(s.Args) != 3 || s.Args[2].Kind != ptx.IsImm || uint32(s.Args[2].Imm) != everyLane {
		return fmt.Errorf("expected a vote of all lanes")
	}
	in.all = true
	short := *s
	short.Args = s.Args[:2]
	if err := d.registers(&short, in, 1, 1, 1); err != nil {
		return err
	}
	mode := parts[2]
	in.run = func(w *warp, in *inst) error {
		var ballot uint32
		for l := range lanes {
			if w.flow.exists>>l&1 != 0 && w.file[in.from[0]][l] != 0 {
				ballot |= 1 << l
			}
		}
		out := uint64(ballot)
		switch mode {
		case "any":
			out = map[bool]uint64{true: 1}[ballot != 0]
		case "all":
			out = map[bool]uint64{true: 1}[ballot == w.flow.exists]
		}
		return w.flow.each(func(l int) error { w.file[in.to[0]][l] = out; return nil })
	}
	return nil
}
