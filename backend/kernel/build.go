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
	sink    func(s *Stmt) // of a stream
	branch  Branch
	err     error
}

// New starts a kernel of a static number of tasks.
func New(name string, tasks int64) *Builder {
	k := &Kernel{Name: name, Tasks: tasks, Body: &Block{}}
	b := &Builder{k: k, block: k.Body}
	k.Task = b.value(Scalar(I64), nil)
	return b
}

// Branch makes a branch of its own: what If does.
type Branch = func(cond *Value, then, els func() []*Value) []*Value

// Stream is a Builder of arithmetic alone, each statement of which goes to sink as it is
// made, rather than into a kernel, and each call of If to branch. For, Load, Store, Arg,
// Scratch and Finish are not for it.
func Stream(sink func(s *Stmt), branch Branch) *Builder {
	b := New("stream", 1)
	b.sink, b.branch = sink, branch
	return b
}

// Err is the first error of a call.
func (b *Builder) Err() error { return b.err }

// Fresh is a new value that no statement gives: what a sink has from elsewhere.
func (b *Builder) Fresh(t Type) *Value { return b.value(t, nil) }

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

// Batch makes the body compute several tasks per iteration, as x says. The result is x.End, the
// number after the last of them.
func (b *Builder) Batch(x Batch) Index {
	x.End = b.value(Scalar(I64), nil)
	b.k.Batch = &x
	return Of(x.End)
}

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

// Scratch declares n elements e of thread-private memory.
func (b *Builder) Scratch(name string, e Elem, n int64) *Buffer {
	buf := &Buffer{Name: name, Elem: e, Len: n, Space: Private, Use: ReadWrite, Distinct: true, Offset: b.scratch}
	b.scratch += roundUp(buf.Bytes(), 64)
	b.k.Buffers = append(b.k.Buffers, buf)
	return buf
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
	if b.branch != nil {
		return b.branch(cond, then, els)
	}
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
	if err := checkStmt(s); err != nil {
		b.fail(err)
	}
	if b.sink != nil {
		b.sink(s)
		return
	}
	b.block.Stmts = append(b.block.Stmts, s)
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
