package kernel

// Rewrite copies k, asking f for a replacement of each statement other than
// loops and branches: f appends what it wants to b, given the statement and its
// operands in the copy, and returns the value that takes the result's place, or
// nil to have the statement copied.
func Rewrite(k *Kernel, f func(b *Builder, s *Stmt, args []*Value) *Value) (*Kernel, error) {
	b := New(k.Name, k.Tasks)
	b.k.Buffers = k.Buffers
	c := &copier{b: b, f: f, to: map[*Value]*Value{k.Task: b.k.Task}}
	if x := k.Batch; x != nil {
		c.to[x.End] = b.Batch(*x).Terms[0].Var
	}
	c.block(k.Body)
	return b.Finish()
}

type copier struct {
	b  *Builder
	f  func(*Builder, *Stmt, []*Value) *Value
	to map[*Value]*Value
}

func (c *copier) values(vs []*Value) []*Value {
	var out []*Value
	for _, v := range vs {
		out = append(out, c.to[v])
	}
	return out
}

func (c *copier) index(x Index) Index {
	y := Index{Const: x.Const}
	for _, t := range x.Terms {
		y.Terms = append(y.Terms, Term{c.to[t.Var], t.Coef})
	}
	return y
}

func (c *copier) ref(r Ref) Ref {
	r.Index = c.index(r.Index)
	if r.Gather != nil {
		r.Gather = c.to[r.Gather]
	}
	if r.Mask != nil {
		r.Mask = c.to[r.Mask]
	}
	return r
}

func (c *copier) block(b *Block) []*Value {
	for _, s := range b.Stmts {
		c.stmt(s)
	}
	return c.values(b.Yield)
}

func (c *copier) stmt(s *Stmt) {
	args := c.values(s.Args)
	var results []*Value
	switch s.Op {
	case OpFor:
		r := s.Loop.Range
		r.Lo, r.Hi = c.index(r.Lo), c.index(r.Hi)
		results = c.b.ForCarry(r, args, func(i Index, carry []*Value) []*Value {
			c.to[s.Loop.Var] = i.Terms[0].Var
			c.bind(s.Loop.Carry, carry)
			return c.block(s.Loop.Body)
		})
	case OpIf:
		results = c.b.If(args[0],
			func() []*Value { return c.block(s.Then) },
			func() []*Value { return c.block(s.Else) })
	default:
		if v := c.f(c.b, s, args); v != nil {
			results = []*Value{v}
			break
		}
		t := *s
		t.Args, t.Index, t.Ref, t.Results = args, c.index(s.Index), c.ref(s.Ref), nil
		for _, r := range s.Results {
			t.Results = append(t.Results, c.b.value(r.Type, &t))
		}
		c.b.append(&t)
		results = t.Results
	}
	c.bind(s.Results, results)
}

func (c *copier) bind(from, to []*Value) {
	for i, v := range from {
		c.to[v] = to[i]
	}
}
