package kernel

import "fmt"

// Builder makes a Kernel. Its methods append to the innermost open block and
// return the new register. A mistyped call records the first error, which
// Finish returns; building goes on with placeholder values, so generators need
// no error handling of their own.
type Builder struct {
	k       *Kernel
	block   *Block
	values  int
	scratch int64
	err     error
}

// New starts a kernel of a static number of tasks.
func New(name string, tasks int64) *Builder {
	k := &Kernel{Name: name, Tasks: tasks, Body: &Block{}}
	b := &Builder{k: k, block: k.Body}
	k.Task = b.value(Scalar(I64), nil)
	return b
}

// Finish verifies and returns the kernel.
func (b *Builder) Finish() (*Kernel, error) {
	if b.err != nil {
		return nil, fmt.Errorf("kernel %s: %w", b.k.Name, b.err)
	}
	if err := Verify(b.k); err != nil {
		return nil, err
	}
	return b.k, nil
}

// Task is the number of the running task as an index.
func (b *Builder) Task() Index { return Of(b.k.Task) }

// Arg declares the next entry of bufs: n elements e that no other argument
// overlaps.
func (b *Builder) Arg(name string, e Elem, n int64, use Use) *Buffer {
	buf := b.ArgAliased(name, e, n, use)
	buf.Distinct = true
	return buf
}

// ArgAliased declares the next entry of bufs, which may overlap other arguments:
// the operands of an in-place operation.
func (b *Builder) ArgAliased(name string, e Elem, n int64, use Use) *Buffer {
	buf := &Buffer{Name: name, Elem: e, Len: n, Space: Global, Use: use, Arg: len(b.k.Args())}
	b.k.Buffers = append(b.k.Buffers, buf)
	return buf
}

// Panel declares n elements e of memory shared by the threads of a task.
func (b *Builder) Panel(name string, e Elem, n int64) *Buffer { return b.alloc(name, Shared, e, n) }

// Scratch declares n elements e of thread-private memory.
func (b *Builder) Scratch(name string, e Elem, n int64) *Buffer {
	return b.alloc(name, Private, e, n)
}

func (b *Builder) alloc(name string, s Space, e Elem, n int64) *Buffer {
	buf := &Buffer{Name: name, Elem: e, Len: n, Space: s, Use: ReadWrite, Distinct: true, Offset: b.scratch}
	b.scratch += roundUp(buf.Bytes(), 64)
	b.k.Buffers = append(b.k.Buffers, buf)
	return buf
}

// View is the memory of buf seen as elements e, say packed bf16 pairs as i32.
func (b *Builder) View(buf *Buffer, e Elem) *Buffer {
	v := *buf
	v.Name = fmt.Sprintf("%s.%s", buf.Name, e)
	v.Base = buf.Root()
	v.Elem, v.Len = e, buf.Bytes()/int64(e.Bytes())
	b.k.Buffers = append(b.k.Buffers, &v)
	return &v
}

// For appends a loop without carried registers.
func (b *Builder) For(r Range, body func(i Index)) {
	b.ForCarry(r, nil, func(i Index, _ []*Value) []*Value { body(i); return nil })
}

// ForCarry appends a loop that carries len(init) registers: body receives
// their values and returns the next ones, of the same types. The result is
// their values after the last iteration (init if there is none).
func (b *Builder) ForCarry(r Range, init []*Value, body func(i Index, c []*Value) []*Value) []*Value {
	l := &Loop{Range: r, Body: &Block{}}
	s := &Stmt{Op: OpFor, Args: init, Loop: l}
	l.Var = b.value(Scalar(I64), s)
	for _, v := range init {
		l.Carry = append(l.Carry, b.value(v.Type, s))
	}
	l.Body.Yield = b.within(l.Body, func() []*Value { return body(Of(l.Var), l.Carry) })
	return b.results(s, init)
}

// If appends a branch on a scalar mask; both arms return values of the same
// types, the results. A nil arm does nothing and returns nothing.
func (b *Builder) If(cond *Value, then, els func() []*Value) []*Value {
	s := &Stmt{Op: OpIf, Args: []*Value{cond}, Then: &Block{}, Else: &Block{}}
	if then != nil {
		s.Then.Yield = b.within(s.Then, then)
	}
	if els != nil {
		s.Else.Yield = b.within(s.Else, els)
	}
	return b.results(s, s.Then.Yield)
}

func (b *Builder) within(inner *Block, f func() []*Value) []*Value {
	outer := b.block
	b.block = inner
	defer func() { b.block = outer }()
	return f()
}

// results appends s with one result of the type of each of like.
func (b *Builder) results(s *Stmt, like []*Value) []*Value {
	for _, v := range like {
		s.Results = append(s.Results, b.value(v.Type, s))
	}
	b.block.Stmts = append(b.block.Stmts, s)
	return s.Results
}

// emit appends s with one result of type t.
func (b *Builder) emit(t Type, s *Stmt) *Value {
	v := b.value(t, s)
	s.Results = []*Value{v}
	b.append(s)
	return v
}

func (b *Builder) append(s *Stmt) {
	b.block.Stmts = append(b.block.Stmts, s)
	if err := checkStmt(s); err != nil {
		b.fail(err)
	}
}

func (b *Builder) value(t Type, def *Stmt) *Value {
	v := &Value{Type: t, ID: b.values, Def: def}
	b.values++
	return v
}

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// ForVector appends a loop over [lo, hi) in vectors of lanes elements, whole
// ones first and then, if the range may not divide, the rest once under a mask.
// body gets the first element's index, the mask (nil for whole vectors) and the
// carried registers; a masked body must leave lanes of the carried registers
// where the mask is false as they were or neutral, say by loads that give zero.
// With bounds that are not constant, lanes must be a power of two.
func (b *Builder) ForVector(lo, hi Index, lanes, unroll int, init []*Value, body func(i Index, mask *Value, c []*Value) []*Value) []*Value {
	n := int64(lanes)
	span := hi.Sub(lo)
	whole := func(i Index, c []*Value) []*Value { return body(i, nil, c) }
	if span.IsConst() {
		full := max(0, span.Const) / n * n
		r := Between(lo, lo.Plus(full)).By(n).Unrolled(unroll)
		out := b.ForCarry(r, init, whole)
		if rest := span.Const - full; rest > 0 {
			out = body(lo.Plus(full), b.TailMask(Int(rest), lanes), out)
		}
		return out
	}
	if n&(n-1) != 0 {
		b.fail(fmt.Errorf("a loop of run-time length in vectors of %d lanes, not a power of two", lanes))
	}
	full := Of(b.And(b.Value(span), b.ConstInt(Scalar(I64), -n)))
	out := b.ForCarry(Between(lo, lo.Add(full)).By(n).Unrolled(unroll), init, whole)
	rest := span.Sub(full)
	some := b.TailMask(rest, 1)
	return b.If(some,
		func() []*Value { return body(lo.Add(full), b.TailMask(rest, lanes), out) },
		func() []*Value { return out })
}
