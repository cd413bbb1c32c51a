package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// checkStmt checks one statement against its op's row, leaving scopes and the
// blocks inside to Verify.
func checkStmt(s *Stmt) error {
	if s.Op == InvalidOp || s.Op >= numOps {
		return fmt.Errorf("unknown %s", s.Op)
	}
	r := &rows[s.Op]
	if r.arity >= 0 && len(s.Args) != r.arity {
		return fmt.Errorf("%s: takes %d operands, has %d", s.name(), r.arity, len(s.Args))
	}
	if slices.Contains(s.Uses(), nil) {
		return fmt.Errorf("%s: has a nil operand", s.name())
	}
	for _, v := range s.Results {
		if v.Type.Lanes < 1 || v.Type.Elem.Register() != v.Type.Elem {
			return fmt.Errorf("%s: %s is not a register type", s.name(), v.Type)
		}
	}
	for _, x := range s.indices() {
		for _, t := range x.Terms {
			if t.Var.Type != Scalar(I64) {
				return fmt.Errorf("%s: an index uses a %s, must be an i64 scalar", s.name(), t.Var.Type)
			}
		}
	}
	if r.check == nil {
		return nil
	}
	if err := r.check(s); err != nil {
		return fmt.Errorf("%s: %w", s.name(), err)
	}
	return nil
}

// indices are the affine expressions s reads.
func (s *Stmt) indices() []Index {
	xs := []Index{s.Index, s.Ref.Index}
	if s.Loop != nil {
		xs = append(xs, s.Loop.Lo, s.Loop.Hi)
	}
	return xs
}

// typed is the check of ops with one result whose type t judges.
func typed(t func(s *Stmt, result Type) error) func(*Stmt) error {
	return func(s *Stmt) error {
		if len(s.Results) != 1 {
			return fmt.Errorf("has %d results, must have 1", len(s.Results))
		}
		return t(s, s.Result().Type)
	}
}

func result(allowed ...Elem) func(*Stmt, Type) error {
	return func(_ *Stmt, t Type) error { return elemIn(t, allowed) }
}

func exactly(want Type) func(*Stmt, Type) error {
	return func(_ *Stmt, t Type) error { return mustBe(t, want) }
}

func same(allowed []Elem) func(*Stmt, Type) error {
	return func(s *Stmt, t Type) error {
		return cmp.Or(allBe(s.Args, t), elemIn(t, allowed))
	}
}

func compare(allowed []Elem) func(*Stmt, Type) error {
	return func(s *Stmt, t Type) error {
		x := s.Args[0].Type
		return cmp.Or(mustBe(s.Args[1].Type, x), mustBe(t, x.With(I1)), elemIn(x, allowed))
	}
}

func reduces(allowed []Elem) func(*Stmt) error {
	return typed(func(s *Stmt, t Type) error {
		x := s.Args[0].Type
		if x.Lanes&(x.Lanes-1) != 0 {
			return fmt.Errorf("%d lanes, must be a power of two", x.Lanes)
		}
		return cmp.Or(mustBe(t, Scalar(x.Elem)), elemIn(x, allowed))
	})
}

func elemIn(t Type, allowed []Elem) error {
	if !slices.Contains(allowed, t.Elem) {
		return fmt.Errorf("%s is not defined for it, only %s", t, allowed)
	}
	return nil
}

func mustBe(t, want Type) error {
	if t != want {
		return fmt.Errorf("%s found, %s wanted", t, want)
	}
	return nil
}

func allBe(vs []*Value, want Type) error {
	for _, v := range vs {
		if err := mustBe(v.Type, want); err != nil {
			return err
		}
	}
	return nil
}

var checkSplat = typed(func(s *Stmt, t Type) error {
	return mustBe(s.Args[0].Type, Scalar(t.Elem))
})

var checkExtract = typed(func(s *Stmt, t Type) error {
	x := s.Args[0].Type
	if len(s.Lanes) != 1 || s.Lanes[0] < 0 || s.Lanes[0] >= x.Lanes {
		return fmt.Errorf("no lane %v in %s", s.Lanes, x)
	}
	return mustBe(t, Scalar(x.Elem))
})

var checkShuffle = typed(func(s *Stmt, t Type) error {
	x := s.Args[0].Type
	if err := mustBe(s.Args[1].Type, x); err != nil {
		return err
	}
	for _, l := range s.Lanes {
		if l < 0 || l >= 2*x.Lanes {
			return fmt.Errorf("no lane %d in two %s", l, x)
		}
	}
	return mustBe(t, Type{x.Elem, len(s.Lanes)})
})

var checkSelect = typed(func(s *Stmt, t Type) error {
	m := s.Args[0].Type
	if m != Scalar(I1) && m != t.With(I1) {
		return fmt.Errorf("a mask %s selects from %s", m, t)
	}
	return allBe(s.Args[1:], t)
})

var checkConvert = typed(func(s *Stmt, t Type) error {
	x := s.Args[0].Type
	if x.Lanes != t.Lanes || x.Elem == t.Elem || t.Elem == I1 {
		return fmt.Errorf("no conversion from %s to %s", x, t)
	}
	return nil
})

var checkBitcast = typed(func(s *Stmt, t Type) error {
	x := s.Args[0].Type
	if x.Lanes != t.Lanes || x.Elem.Bytes() != t.Elem.Bytes() || x.Elem == I1 {
		return fmt.Errorf("%s has other bits than %s", x, t)
	}
	return nil
})

var checkRound = typed(func(s *Stmt, t Type) error {
	if !s.Elem.IsNarrow() {
		return fmt.Errorf("rounds to %s, only to floats narrower than f32", s.Elem)
	}
	if t.Elem != F32 {
		return fmt.Errorf("rounds %s, only f32", t)
	}
	return mustBe(s.Args[0].Type, t)
})

var checkDot = typed(func(s *Stmt, t Type) error {
	return cmp.Or(elemIn(t, []Elem{F32}), mustBe(s.Args[0].Type, t), allBe(s.Args[1:], t.With(I32)))
})

var checkMat = typed(func(s *Stmt, t Type) error {
	if t.Lanes%4 != 0 {
		return fmt.Errorf("%d lanes, must be a multiple of four", t.Lanes)
	}
	return checkDot(s)
})

// checkMath: operands and result are f32, of as many lanes.
func checkMath(s *Stmt, t Type) error {
	if s.Math == nil || len(s.Args) != s.Math.Args {
		return fmt.Errorf("no function of %d operands", len(s.Args))
	}
	return same([]Elem{F32})(s, t)
}

var checkPack = typed(func(s *Stmt, t Type) error {
	if t.Elem != I32 || t.Lanes%2 != 0 {
		return fmt.Errorf("gives %s, must be an even number of words of i32", t)
	}
	return errors.Join(mustBe(s.Args[0].Type, t.With(F32)), mustBe(s.Args[1].Type, t.With(F32)))
})

func checkAccess(s *Stmt) error {
	r := s.Ref
	if r.Buf == nil {
		return fmt.Errorf("has no buffer")
	}
	lanes := 1
	switch s.Op {
	case OpLoad:
		if len(s.Results) != 1 {
			return fmt.Errorf("has %d results, must have 1", len(s.Results))
		}
		if e := s.Result().Type.Elem; e != r.Buf.Elem.Register() {
			return fmt.Errorf("%s from a buffer of %s", e, r.Buf.Elem)
		}
		lanes = s.Result().Type.Lanes
	case OpStore:
		if e := s.Args[0].Type.Elem; e != r.Buf.Elem.Register() {
			return fmt.Errorf("%s into %s of %s", e, r.Buf.Name, r.Buf.Elem)
		}
		if r.Buf.Space == Global && r.Buf.Use == Read {
			return fmt.Errorf("into %s, declared read only", r.Buf.Name)
		}
		lanes = s.Args[0].Type.Lanes
		if r.Stride == 0 && lanes > 1 {
			return fmt.Errorf("all lanes of %s into one element", s.Args[0].Type)
		}
	}
	if r.Mask != nil && r.Mask.Type != Vec(I1, lanes) {
		return fmt.Errorf("a mask %s on %d lanes", r.Mask.Type, lanes)
	}
	if g := r.Gather; g != nil && (g.Type.Lanes != lanes || !g.Type.Elem.IsInt()) {
		return fmt.Errorf("lane offsets %s for %d lanes", g.Type, lanes)
	}
	return nil
}

func checkPrefetch(s *Stmt) error {
	if r := s.Ref; r.Buf == nil || r.Mask != nil || r.Gather != nil || len(s.Results) != 0 {
		return fmt.Errorf("has no buffer, or a mask, lane offsets or a result")
	}
	return nil
}

func checkFor(s *Stmt) error {
	l := s.Loop
	switch {
	case l == nil || l.Body == nil || l.Var == nil || l.Var.Type != Scalar(I64):
		return fmt.Errorf("has no i64 variable or no body")
	case l.Step <= 0:
		return fmt.Errorf("step %d, must be positive", l.Step)
	case l.Unroll < UnrollFull:
		return fmt.Errorf("unroll %d", l.Unroll)
	case len(s.Args) != len(l.Carry) || len(s.Results) != len(l.Carry):
		return fmt.Errorf("%d initial values and %d results for %d registers", len(s.Args), len(s.Results), len(l.Carry))
	}
	for i, c := range l.Carry {
		if err := cmp.Or(mustBe(s.Args[i].Type, c.Type), mustBe(s.Results[i].Type, c.Type)); err != nil {
			return err
		}
	}
	return nil
}

func checkIf(s *Stmt) error {
	if s.Then == nil || s.Else == nil {
		return fmt.Errorf("has no arms")
	}
	return mustBe(s.Args[0].Type, Scalar(I1))
}
