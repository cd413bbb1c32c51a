package emu

import (
	"fmt"
	"math/bits"

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

// decodeBar is bar.sync N[, threads] of a block, and bar.warp.sync of all lanes of a warp.
func decodeBar(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	in.all = true
	switch s.Op {
	case "bar.warp.sync":
		if len(s.Args) != 1 || s.Args[0].Kind != ptx.IsImm || uint32(s.Args[0].Imm) != everyLane {
			return fmt.Errorf("expected all lanes")
		}
		in.run = func(w *warp, _ *inst) error { w.syncs++; return nil }
		return nil
	case "bar.sync", "bar.arrive":
	default:
		return fmt.Errorf("the instruction is not known")
	}
	in.n = d.p.entry.Threads
	for i, a := range s.Args {
		if a.Kind != ptx.IsImm || i > 1 {
			return fmt.Errorf("expected the number of a barrier, and of threads")
		}
		if i == 0 {
			in.offset = a.Imm
		} else {
			in.n = int(a.Imm)
		}
	}
	if in.offset < 0 || in.offset > 15 || in.n < lanes || in.n%lanes != 0 && in.n != d.p.entry.Threads {
		return fmt.Errorf("barrier %d of %d threads", in.offset, in.n)
	}
	waits := parts[1] == "sync"
	in.run = func(w *warp, in *inst) error {
		n := int(in.offset)
		full, err := w.b.arrive(n, bits.OnesCount32(w.exists), in.n)
		if err != nil {
			return err
		}
		if waits {
			w.groups[w.current()].barrier = n + 1
		}
		if full {
			w.b.release(n)
		}
		return nil
	}
	return nil
}

// current is the group whose lanes the instruction at hand is for: all of the warp's.
func (w *warp) current() int { return 0 }

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
			if w.exists>>l&1 == 0 {
				continue
			}
			b, c := int(w.file[in.from[1]][l]&31), w.file[in.from[2]][l]
			segment, clamp := int(c>>8&31), int(c&31)
			low := l & segment
			j, ok := source(l, b, low|clamp&^segment, low)
			if !ok || j < 0 || j >= lanes {
				j = l
			}
			if w.exists>>j&1 == 0 {
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
			if w.exists>>l&1 != 0 && w.file[in.from[0]][l] != 0 {
				ballot |= 1 << l
			}
		}
		out := uint64(ballot)
		switch mode {
		case "any":
			out = uint64(sign(false, ballot != 0))
		case "all":
			out = uint64(sign(false, ballot == w.exists))
		}
		return w.each(func(l int) error { w.file[in.to[0]][l] = out; return nil })
	}
	return nil
}
