package kernel

import "fmt"

// bounds proves the accesses whose place is known before the run to lie in
// their buffers: an index over the task number and variables of loops with
// constant bounds takes its extremes at corners of that box, so the check is
// exact. Masked and gathered accesses, those in branches and those whose index
// depends on run-time values are left to the generator (and to kerneltest, which
// checks every access).
type bounds struct {
	vars map[*Value]extent // i64 scalars of known extent
	sums map[*Value]Index  // i64 scalars that equal an index
}

type extent struct{ lo, hi int64 } // both included

func checkBounds(k *Kernel) error {
	if k.Tasks == 0 {
		return nil
	}
	b := &bounds{vars: map[*Value]extent{k.Task: {0, k.Tasks - 1}}, sums: map[*Value]Index{}}
	return b.block(k.Body)
}

func (b *bounds) block(body *Block) error {
	for _, s := range body.Stmts {
		switch s.Op {
		case OpToValue:
			b.sums[s.Result()] = b.resolve(s.Index)
		case OpLoad, OpStore, OpTileLoad, OpTileStream, OpTileStore:
			if err := b.access(s); err != nil {
				return err
			}
		case OpFor:
			if err := b.loop(s.Loop); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bounds) loop(l *Loop) error {
	lo, hi := b.resolve(l.Lo), b.resolve(l.Hi)
	if trip := hi.Sub(lo); trip.IsConst() {
		if trip.Const <= 0 {
			return nil
		}
		last := (trip.Const - 1) / l.Step * l.Step
		if lo.IsConst() {
			b.vars[l.Var] = extent{lo.Const, lo.Const + last}
		} else { // a tile: the variable is its start plus an offset
			offset := &Value{Type: Scalar(I64)}
			b.vars[offset] = extent{0, last}
			b.sums[l.Var] = lo.Add(Of(offset))
		}
	}
	return b.block(l.Body)
}

// resolve replaces scalars by the indices that they equal.
func (b *bounds) resolve(x Index) Index {
	r := Int(x.Const)
	for _, t := range x.Terms {
		v := Of(t.Var)
		if sum, ok := b.sums[t.Var]; ok {
			v = sum
		}
		r = r.Add(v.Mul(t.Coef))
	}
	return r
}

func (b *bounds) access(s *Stmt) error {
	r := s.Ref
	if r.Mask != nil || r.Gather != nil {
		return nil
	}
	x := b.resolve(r.Index)
	e := extent{x.Const, x.Const}
	for _, t := range x.Terms {
		v, ok := b.vars[t.Var]
		if !ok {
			return nil
		}
		e.lo += min(t.Coef*v.lo, t.Coef*v.hi)
		e.hi += max(t.Coef*v.lo, t.Coef*v.hi)
	}
	least, most := reach(s)
	e.lo, e.hi = e.lo+least, e.hi+most
	if e.lo < 0 || e.hi >= r.Buf.Len {
		return fmt.Errorf("%s: reaches elements %d to %d of %s[%d]", s.Op, e.lo, e.hi, r.Buf.Name, r.Buf.Len)
	}
	return nil
}

// reach is how far the elements of an access lie from the place of its first one.
func reach(s *Stmt) (least, most int64) {
	lanes, row := 1, int64(1)
	switch s.Op {
	case OpLoad:
		lanes = s.Result().Type.Lanes
	case OpStore:
		lanes = s.Args[0].Type.Lanes
	default:
		lanes, row = TileRows, TileBytes/int64(s.Ref.Buf.Elem.Bytes())
	}
	last := s.Ref.Stride * int64(lanes-1)
	return min(last, 0), max(last, 0) + row - 1
}
