package nvptx

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// control is the flow of control.
type control struct{ *arithmetic }

// branch runs then where cond holds for the thread, and els, if it is not nil, where it does not. Both
// give values of the same types, which are the results.
func (b *control) branch(cond *thread.Value, then, els func() []*thread.Value) []*thread.Value {
	no, end := b.label(), b.label()
	guard := b.operand(cond).Reg
	var results []ptx.Operand
	var types []kernel.Elem
	arm := func(body func() []*thread.Value) {
		b.within(func() {
			if body == nil {
				return
			}
			for i, v := range body() {
				if i == len(results) {
					results = append(results, ptx.R(b.reg(class(v.Type.Elem))))
					types = append(types, v.Type.Elem)
				}
				b.move(results[i], v)
			}
		})
	}
	b.out.Body = append(b.out.Body, ptx.Stmt{Guard: guard, Not: true, Op: "bra", Args: []ptx.Operand{ptx.Sym(no)}})
	arm(then)
	if els != nil {
		b.op("bra", ptx.Sym(end))
	}
	b.place(no)
	if els != nil {
		arm(els)
		b.place(end)
	}
	out := make([]*thread.Value, len(results))
	for i, r := range results {
		out[i] = b.value(types[i], r)
	}
	return out
}

func (b *control) Loop(from, to *thread.Value, step int64, init []*thread.Value, body func(i *thread.Value, carry []*thread.Value) []*thread.Value) []*thread.Value {
	if step < 1 {
		b.Fail(fmt.Errorf("a loop by %d", step))
		return init
	}
	i := ptx.R(b.reg(ptx.B32))
	b.move(i, from)
	regs := make([]ptx.Operand, len(init))
	carry := make([]*thread.Value, len(init))
	for k, v := range init {
		regs[k] = ptx.R(b.reg(class(v.Type.Elem)))
		b.move(regs[k], v)
		carry[k] = b.value(v.Type.Elem, regs[k])
	}
	limit := b.operand(to)
	again, end := b.label(), b.label()
	none := ptx.R(b.reg(ptx.Pred))
	b.op("setp.ge.s32", none, i, limit)
	b.out.Body = append(b.out.Body, ptx.Stmt{Guard: none.Reg, Op: "bra", Args: []ptx.Operand{ptx.Sym(end)}})
	b.place(again)
	b.within(func() {
		next := body(b.value(kernel.I32, i), carry)
		if len(next) != len(regs) {
			b.Fail(fmt.Errorf("a loop carries %d values, and its body returns %d", len(regs), len(next)))
			return
		}
		b.assign(regs, next)
		b.op("add.s32", i, i, ptx.Imm(step))
		more := ptx.R(b.reg(ptx.Pred))
		b.op("setp.lt.s32", more, i, limit)
		b.out.Body = append(b.out.Body, ptx.Stmt{Guard: more.Reg, Op: "bra", Args: []ptx.Operand{ptx.Sym(again)}})
	})
	b.place(end)
	return carry
}

func (b *control) Anew(body func()) {
	known := b.known
	b.known = []map[string]ptx.Reg{{}}
	body()
	b.known = known
}
