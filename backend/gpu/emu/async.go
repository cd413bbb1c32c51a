package emu

import (
	"fmt"
	"strings"

	"ptc/backend/gpu/ptx"
)

// asyncCopy is what a lane has asked to be copied to shared memory, 16 bytes or fewer.
type asyncCopy struct {
	group  int // number of the group that it belongs to, from 0 on
	lane   int
	to     int    // in shared memory
	from   uint64 // in global memory
	n      int    // bytes that are written
	read   int    // bytes that are read; the others are zero
	copied bool
}

// asyncCopies are those of a warp.
type asyncCopies struct {
	begun  []asyncCopy // not yet waited for, in the order of issue
	closed int         // groups
}

// decodeCopy is cp.async.{ca,cg}.shared.global [to], [from], bytes[, bytes that are read],
// cp.async.commit_group, cp.async.wait_group N and cp.async.wait_all.
func decodeCopy(d *decoder, s *ptx.Stmt, _ []string, in *inst) error {
	if strings.HasPrefix(s.Op, "cp.async.bulk.") {
		return decodeBulk(d, s, strings.Split(s.Op, "."), in)
	}
	switch s.Op {
	case "cp.async.commit_group":
		in.run = func(w *warp, _ *inst) error { w.copies.closed++; return nil }
		in.all = true
		return nil
	case "cp.async.wait_group", "cp.async.wait_all":
		in.all = true
		if s.Op == "cp.async.wait_all" {
			in.run = func(w *warp, _ *inst) error { w.copies.closed++; return w.waitCopies(0) }
			return nil
		}
		if len(s.Args) != 1 || s.Args[0].Kind != ptx.IsImm {
			return fmt.Errorf("expected a number of groups")
		}
		in.n = int(s.Args[0].Imm)
		in.run = func(w *warp, in *inst) error { return w.waitCopies(in.n) }
		return nil
	case "cp.async.cg.shared.global", "cp.async.ca.shared.global", "cp.async.cg.shared.global.L2::128B":
	default:
		return fmt.Errorf("the instruction is not known")
	}
	if len(s.Args) < 3 || len(s.Args) > 4 || s.Args[2].Kind != ptx.IsImm {
		return fmt.Errorf("expected two addresses and a number of bytes")
	}
	in.bytes, in.n = int(s.Args[2].Imm), 1
	if in.bytes != 16 && (in.bytes != 4 && in.bytes != 8 || s.Op != "cp.async.ca.shared.global") {
		return fmt.Errorf("%d bytes", in.bytes)
	}
	if err := d.address(s.Args[0], in); err != nil {
		return err
	}
	first := in.offset
	if err := d.address(s.Args[1], in); err != nil {
		return err
	}
	second := in.offset
	if len(s.Args) == 4 {
		if err := d.read(s.Args[3], 32, in); err != nil {
			return err
		}
	}
	in.run = func(w *warp, in *inst) error { return w.issue(in, first, second) }
	return nil
}

// issue begins the copies of an instruction.
func (w *warp) issue(in *inst, toOffset, fromOffset int64) error {
	in.offset = toOffset
	w.banks(in, in.from[0])
	in.offset = fromOffset
	w.sectors(in, in.from[1])
	return w.flow.each(func(l int) error {
		c := asyncCopy{group: w.copies.closed, lane: l, n: in.bytes, read: in.bytes,
			to: int(uint32(w.file[in.from[0]][l] + uint64(toOffset))), from: w.file[in.from[1]][l] + uint64(fromOffset)}
		if len(in.from) > 2 {
			c.read = int(uint32(w.file[in.from[2]][l]))
		}
		if c.read > c.n || c.read < 0 {
			return fmt.Errorf("lane %d reads %d of %d bytes", l, c.read, c.n)
		}
		if c.from%uint64(c.n) != 0 {
			return fmt.Errorf("lane %d: %d bytes from %#x, which is no multiple of that", l, c.n, c.from)
		}
		if _, err := w.place(shared, uint64(c.to), c.n, l, true); err != nil {
			return err
		}
		if c.read > 0 {
			if _, err := w.b.d.Bytes(c.from, c.read); err != nil {
				return fmt.Errorf("lane %d: %w", l, err)
			}
			if err := w.reachGlobal(l, c.from, c.read, false, false); err != nil {
				return err
			}
		}
		if s := w.b.shadow; s != nil {
			s.busy(w.b.shared.base+c.to, c.n, true)
		}
		w.copies.begun = append(w.copies.begun, c)
		if at := &w.copies.begun[len(w.copies.begun)-1]; w.b.now() {
			w.copy(at)
		}
		return nil
	})
}

func (w *warp) copy(c *asyncCopy) {
	to := w.b.shared.bytes[c.to : c.to+c.n]
	clear(to)
	if c.read > 0 {
		from, _ := w.b.d.Bytes(c.from, c.read) // looked at when it was issued
		copy(to, from)
	}
	c.copied = true
}

// waitCopies returns when at most n of the groups that were closed are under way.
func (w *warp) waitCopies(n int) error {
	kept := w.copies.begun[:0]
	for i := range w.copies.begun {
		c := w.copies.begun[i]
		if c.group >= w.copies.closed-n {
			kept = append(kept, c)
			continue
		}
		if !c.copied {
			w.copy(&c)
		}
		if s := w.b.shadow; s != nil {
			s.busy(w.b.shared.base+c.to, c.n, false)
			if err := s.access(w, c.lane, w.b.shared.base+c.to, c.n, true); err != nil {
				return err
			}
		}
	}
	w.copies.begun = kept
	return nil
}

// busy notes that copies that run by themselves may write bytes now, or no more do.
func (s *shadow) busy(at, n int, yes bool) {
	for i := at / wordBytes; i*wordBytes < at+n; i++ {
		s.async[i] = yes
	}
}
