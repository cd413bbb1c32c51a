package emit

import (
	"fmt"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"ptc/backend/kernel"
)

func (fn *function) stmts(b *kernel.Block) {
	for _, s := range b.Stmts {
		lower := lowerings[s.Op]
		if lower == nil {
			fn.fail("no code for %s", s.Op)
			return
		}
		v := lower(fn, s)
		if fn.err != nil {
			return
		}
		if v != nil {
			fn.vals[s.Result()] = v
		}
	}
}

func (fn *function) values(vs []*kernel.Value) []value.Value {
	out := make([]value.Value, len(vs))
	for i, v := range vs {
		out[i] = fn.vals[v]
	}
	return out
}

func (fn *function) bind(vs []*kernel.Value, to []value.Value) {
	for i, v := range vs {
		fn.vals[v] = to[i]
	}
}

// index is an affine expression as an i64.
func (fn *function) index(x kernel.Index) value.Value {
	var sum value.Value
	for _, t := range x.Terms {
		v := fn.vals[t.Var]
		if t.Coef != 1 {
			mul := fn.b.NewMul(v, constant.NewInt(types.I64, t.Coef))
			mul.OverflowFlags = []enum.OverflowFlag{enum.OverflowFlagNSW}
			v = mul
		}
		sum = fn.offset(sum, v)
	}
	c := constant.NewInt(types.I64, x.Const)
	if sum == nil {
		return c
	}
	if x.Const == 0 {
		return sum
	}
	return fn.offset(sum, c)
}

func (fn *function) offset(x, y value.Value) value.Value {
	if x == nil {
		return y
	}
	add := fn.b.NewAdd(x, y)
	add.OverflowFlags = []enum.OverflowFlag{enum.OverflowFlagNSW}
	return add
}

func lowerFor(fn *function, s *kernel.Stmt) value.Value {
	l := s.Loop
	loop := fn.countedLoop
	if n := l.Hi.Sub(l.Lo); n.IsConst() && n.Const > 0 && n.Const%l.Step == 0 {
		loop = fn.fixedLoop
	}
	out := loop(fn.index(l.Lo), fn.index(l.Hi), l.Step, fn.values(s.Args), l.Unroll,
		func(i value.Value, carry []value.Value) []value.Value {
			fn.vals[l.Var] = i
			fn.bind(l.Carry, carry)
			fn.stmts(l.Body)
			return fn.values(l.Body.Yield)
		})
	fn.bind(s.Results, out)
	return nil
}

// countedLoop emits for i = lo; i < hi; i += step with carried registers, and
// returns their values after the loop:
//
//	head: i = phi, carry = phi…; br i < hi, body, exit
//	body: …; br head
func (fn *function) countedLoop(lo, hi value.Value, step int64, init []value.Value, unroll int,
	body func(i value.Value, carry []value.Value) []value.Value) []value.Value {
	head, work, exit := fn.f.NewBlock(""), fn.f.NewBlock(""), fn.f.NewBlock("")
	c := fn.enter(head, lo, init)
	head.NewCondBr(head.NewICmp(enum.IPredSLT, c.i, hi), work, exit)
	fn.b = work
	next := body(c.i, c.values)
	if fn.err != nil {
		return c.values
	}
	c.addBackEdge(fn.b, step, next)
	back := fn.b.NewBr(head)
	back.Metadata = fn.m.unrollHint(unroll)
	fn.b = exit
	return c.values
}

// fixedLoop emits a counted loop whose constant bounds show that it runs at least once and ends exactly
// at hi. It has the rotated form that LLVM's loop-rotate would make: the test at the end, for equality.
//
//	work: i = phi, carry = phi…; body; br i + step != hi, work, exit
func (fn *function) fixedLoop(lo, hi value.Value, step int64, init []value.Value, unroll int,
	body func(i value.Value, carry []value.Value) []value.Value) []value.Value {
	work, exit := fn.f.NewBlock(""), fn.f.NewBlock("")
	c := fn.enter(work, lo, init)
	fn.b = work
	next := body(c.i, c.values)
	if fn.err != nil {
		return c.values
	}
	more := c.addBackEdge(fn.b, step, next)
	back := fn.b.NewCondBr(fn.b.NewICmp(enum.IPredNE, more, hi), work, exit)
	back.Metadata = fn.m.unrollHint(unroll)
	fn.b = exit
	return next
}

// batches emits the task loop of a kernel that computes several adjacent tasks per iteration.
//
//	head: task = phi; br task < end, work, exit
//	work: last = …; body; task = last; br head
func (fn *function) batches(k *kernel.Kernel, begin, end value.Value) {
	x := k.Batch
	head, work, exit := fn.f.NewBlock(""), fn.f.NewBlock(""), fn.f.NewBlock("")
	c := fn.enter(head, begin, nil)
	head.NewCondBr(head.NewICmp(enum.IPredSLT, c.i, end), work, exit)
	fn.b = work
	last := fn.last(x, c.i, end)
	fn.vals[k.Task], fn.vals[x.End] = c.i, last
	fn.stmts(k.Body)
	if fn.err != nil {
		return
	}
	c.i.Incs = append(c.i.Incs, ir.NewIncoming(last, fn.b))
	fn.b.NewBr(head)
	fn.b = exit
}

// last is [kernel.Batch.Last], the end of the batch that begins with task.
func (fn *function) last(x *kernel.Batch, task, end value.Value) value.Value {
	b := fn.b
	number := func(n int64) value.Value { return constant.NewInt(types.I64, n) }
	least := func(p, q value.Value) value.Value { return b.NewSelect(b.NewICmp(enum.IPredSLT, p, q), p, q) }
	row := b.NewUDiv(task, number(x.Row))
	first := b.NewMul(row, number(x.Row))
	part := least(least(end, b.NewAdd(task, number(x.Most))), b.NewAdd(first, number(x.Row)))
	if x.Most < x.Row {
		return part
	}
	rows := least(b.NewUDiv(b.NewSub(end, task), number(x.Row)), number(x.MostRows))
	rows = least(rows, b.NewSub(number(x.Rows), b.NewURem(row, number(x.Rows))))
	whole := b.NewAnd(b.NewICmp(enum.IPredEQ, task, first), b.NewICmp(enum.IPredSGT, rows, number(0)))
	return b.NewSelect(whole, b.NewAdd(task, b.NewMul(rows, number(x.Row))), part)
}

// carried is the loop-carried state: the counter and the registers.
type carried struct {
	i      *ir.InstPhi
	phis   []*ir.InstPhi
	values []value.Value // phis
}

// enter branches to the header of a loop, with the initial counter and registers.
func (fn *function) enter(first *ir.Block, lo value.Value, init []value.Value) carried {
	fn.b.NewBr(first)
	c := carried{i: first.NewPhi(ir.NewIncoming(lo, fn.b))}
	for _, v := range init {
		p := first.NewPhi(ir.NewIncoming(v, fn.b))
		c.phis, c.values = append(c.phis, p), append(c.values, p)
	}
	return c
}

// addBackEdge adds b to the predecessors of the loop header, and returns the incremented counter. The
// caller emits the branch.
func (c *carried) addBackEdge(b *ir.Block, step int64, next []value.Value) value.Value {
	more := b.NewAdd(c.i, constant.NewInt(types.I64, step))
	more.OverflowFlags = []enum.OverflowFlag{enum.OverflowFlagNSW}
	c.i.Incs = append(c.i.Incs, ir.NewIncoming(more, b))
	for n, p := range c.phis {
		p.Incs = append(p.Incs, ir.NewIncoming(next[n], b))
	}
	return more
}

// unrollHint is a loop's metadata: a distinct node that begins with itself.
func (m *module) unrollHint(unroll int) ir.Metadata {
	var fields []metadata.Field
	switch {
	case unroll == 0:
		return nil
	case unroll == 1:
		fields = []metadata.Field{&metadata.String{Value: "llvm.loop.unroll.disable"}}
	case unroll == kernel.UnrollFull:
		fields = []metadata.Field{&metadata.String{Value: "llvm.loop.unroll.full"}}
	default:
		fields = []metadata.Field{&metadata.String{Value: "llvm.loop.unroll.count"},
			constant.NewInt(types.I32, int64(unroll))}
	}
	hint := &metadata.Tuple{MetadataID: -1, Fields: fields}
	loop := &metadata.Tuple{MetadataID: -1, Distinct: true}
	loop.Fields = []metadata.Field{loop, hint}
	m.MetadataDefs = append(m.MetadataDefs, loop, hint)
	return ir.Metadata{{Name: "llvm.loop", Node: loop}}
}

func lowerIf(fn *function, s *kernel.Stmt) value.Value {
	then, els, exit := fn.f.NewBlock(""), fn.f.NewBlock(""), fn.f.NewBlock("")
	fn.b.NewCondBr(fn.vals[s.Args[0]], then, els)
	arm := func(b *ir.Block, k *kernel.Block) ([]value.Value, *ir.Block) {
		fn.b = b
		fn.stmts(k)
		fn.b.NewBr(exit)
		return fn.values(k.Yield), fn.b
	}
	x, thenEnd := arm(then, s.Then)
	y, elseEnd := arm(els, s.Else)
	if fn.err != nil {
		return nil
	}
	fn.b = exit
	for i, r := range s.Results {
		fn.vals[r] = exit.NewPhi(ir.NewIncoming(x[i], thenEnd), ir.NewIncoming(y[i], elseEnd))
	}
	return nil
}

// call emits a call of an intrinsic overloaded on t, which all operands and the
// result have as their type.
func (fn *function) call(name string, t types.Type, args ...value.Value) value.Value {
	params := make([]types.Type, len(args))
	for i := range params {
		params[i] = t
	}
	return fn.b.NewCall(fn.m.intrinsic(fmt.Sprintf("llvm.%s.%s", name, mangle(t)), t, params...), args...)
}
