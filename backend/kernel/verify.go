package kernel

import "fmt"

// Verify checks that k is well formed: every statement typed as its op's row
// demands, every value defined before and inside the region of its use, loops
// and branches yielding what they carry, buffers used as declared, and accesses
// inside their buffers as far as that is known before the run.
func Verify(k *Kernel) error {
	v := &verifier{defined: map[*Value]bool{}, bufs: map[*Buffer]bool{}}
	if err := v.kernel(k); err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	return nil
}

type verifier struct {
	defined map[*Value]bool
	bufs    map[*Buffer]bool
}

func (v *verifier) kernel(k *Kernel) error {
	if k.Name == "" || k.Tasks < 0 {
		return fmt.Errorf("needs a name and a task count of at least 0, has %q and %d", k.Name, k.Tasks)
	}
	for i, b := range k.Buffers {
		if b.Elem.Bytes() == 0 || b.Len < 0 {
			return fmt.Errorf("buffer %d %s has element %s and length %d", i, b.Name, b.Elem, b.Len)
		}
		v.bufs[b] = true
	}
	for i, b := range k.Args() {
		if b.Arg != i {
			return fmt.Errorf("buffer %s is argument %d but declared as %d", b.Name, i, b.Arg)
		}
	}
	if len(k.Sections) > 0 {
		return sections(k)
	}
	v.defined[k.Task] = true
	if x := k.Batch; x != nil {
		if x.Row < 1 || x.Rows < 1 || x.Most < 1 || x.MostRows < 1 {
			return fmt.Errorf("has batches of %d tasks of %d and %d rows of %d", x.Most, x.Row, x.MostRows, x.Rows)
		}
		v.defined[x.End] = true
	}
	if len(k.Body.Yield) != 0 {
		return fmt.Errorf("the task body yields values")
	}
	if err := v.block(k.Body, nil); err != nil {
		return err
	}
	return checkBounds(k)
}

// sections checks each kernel of a joined one.
func sections(k *Kernel) error {
	if k.Body != nil || k.Task != nil {
		return fmt.Errorf("has a body and sections")
	}
	for _, b := range k.Bodies() {
		if len(b.Sections) > 0 {
			return fmt.Errorf("section %s has sections", b.Name)
		}
		if err := Verify(b); err != nil {
			return err
		}
	}
	return nil
}

// block checks one region whose yields must have the types of want. What it
// defines goes out of scope at its end.
func (v *verifier) block(b *Block, want []*Value) error {
	var local []*Value
	defer func() {
		for _, x := range local {
			delete(v.defined, x)
		}
	}()
	for _, s := range b.Stmts {
		if err := v.stmt(s); err != nil {
			return err
		}
		for _, r := range s.Results {
			if v.defined[r] {
				return fmt.Errorf("%s: defines %%%d twice", s.Op, r.ID)
			}
			v.defined[r] = true
			local = append(local, r)
		}
	}
	if len(b.Yield) != len(want) {
		return fmt.Errorf("a block yields %d values, %d wanted", len(b.Yield), len(want))
	}
	for i, y := range b.Yield {
		if !v.defined[y] {
			return fmt.Errorf("a block yields %%%d, not defined there", y.ID)
		}
		if y.Type != want[i].Type {
			return fmt.Errorf("a block yields %s, %s wanted", y.Type, want[i].Type)
		}
	}
	return nil
}

func (v *verifier) stmt(s *Stmt) error {
	if err := checkStmt(s); err != nil {
		return err
	}
	for _, a := range s.Uses() {
		if !v.defined[a] {
			return fmt.Errorf("%s: uses %%%d, not defined there", s.Op, a.ID)
		}
	}
	if s.Ref.Buf != nil && !v.bufs[s.Ref.Buf] {
		return fmt.Errorf("%s: buffer %s is not declared", s.Op, s.Ref.Buf.Name)
	}
	switch s.Op {
	case OpFor:
		return v.loop(s)
	case OpIf:
		if err := v.block(s.Then, s.Results); err != nil {
			return err
		}
		return v.block(s.Else, s.Results)
	}
	return nil
}

func (v *verifier) loop(s *Stmt) error {
	l := s.Loop
	inner := append([]*Value{l.Var}, l.Carry...)
	for _, x := range inner {
		if v.defined[x] {
			return fmt.Errorf("for: defines %%%d twice", x.ID)
		}
		v.defined[x] = true
	}
	defer func() {
		for _, x := range inner {
			delete(v.defined, x)
		}
	}()
	return v.block(l.Body, l.Carry)
}

// Uses are the values s reads itself, not counting those inside its blocks.
func (s *Stmt) Uses() []*Value {
	uses := append([]*Value(nil), s.Args...)
	index := func(x Index) {
		for _, t := range x.Terms {
			uses = append(uses, t.Var)
		}
	}
	index(s.Index)
	index(s.Ref.Index)
	if s.Ref.Gather != nil {
		uses = append(uses, s.Ref.Gather)
	}
	if s.Ref.Mask != nil {
		uses = append(uses, s.Ref.Mask)
	}
	if s.Loop != nil {
		index(s.Loop.Lo)
		index(s.Loop.Hi)
	}
	return uses
}
