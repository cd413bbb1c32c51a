package thread

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/kernel"
)

// If runs then where cond holds for the thread, and els, if it is not nil, where it does not. Both
// give values of the same types, which are the results.
func (b *Builder) If(cond *Value, then, els func() []*Value) []*Value {
	no, end := b.label(), b.label()
	guard := b.operand(cond).Reg
	var results []ptx.Operand
	var types []kernel.Elem
	arm := func(body func() []*Value) {
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
	b.entry.Body = append(b.entry.Body, ptx.Stmt{Guard: guard, Not: true, Op: "bra", Args: []ptx.Operand{ptx.Sym(no)}})
	arm(then)
	if els != nil {
		b.op("bra", ptx.Sym(end))
	}
	b.place(no)
	if els != nil {
		arm(els)
		b.place(end)
	}
	out := make([]*Value, len(results))
	for i, r := range results {
		out[i] = b.value(types[i], r)
	}
	return out
}

// When runs body where cond holds for the thread.
func (b *Builder) When(cond *Value, body func()) {
	b.If(cond, func() []*Value { body(); return nil }, nil)
}

// move puts v into a register.
func (b *Builder) move(to ptx.Operand, v *Value) {
	switch from := b.operand(v); {
	case to.Reg.Class == ptx.Pred: // mov takes predicates as well
		b.op("mov.pred", to, from)
	default:
		b.op(moves[to.Reg.Class], to, from)
	}
}

// Loop runs body for i = from, from + step, … below to, i32 values that are the same in all threads of
// a warp, and carries registers: body receives their values and returns the next ones.
func (b *Builder) Loop(from, to *Value, step int64, init []*Value, body func(i *Value, carry []*Value) []*Value) []*Value {
	if step < 1 {
		b.fail(fmt.Errorf("a loop by %d", step))
		return init
	}
	i := ptx.R(b.reg(ptx.B32))
	b.move(i, from)
	regs := make([]ptx.Operand, len(init))
	carry := make([]*Value, len(init))
	for k, v := range init {
		regs[k] = ptx.R(b.reg(class(v.Type.Elem)))
		b.move(regs[k], v)
		carry[k] = b.value(v.Type.Elem, regs[k])
	}
	limit := b.operand(to)
	again, end := b.label(), b.label()
	none := ptx.R(b.reg(ptx.Pred))
	b.op("setp.ge.s32", none, i, limit)
	b.entry.Body = append(b.entry.Body, ptx.Stmt{Guard: none.Reg, Op: "bra", Args: []ptx.Operand{ptx.Sym(end)}})
	b.place(again)
	b.within(func() {
		next := body(b.value(kernel.I32, i), carry)
		if len(next) != len(regs) {
			b.fail(fmt.Errorf("a loop carries %d values, and its body returns %d", len(regs), len(next)))
			return
		}
		b.assign(regs, next)
		b.op("add.s32", i, i, ptx.Imm(step))
		more := ptx.R(b.reg(ptx.Pred))
		b.op("setp.lt.s32", more, i, limit)
		b.entry.Body = append(b.entry.Body, ptx.Stmt{Guard: more.Reg, Op: "bra", Args: []ptx.Operand{ptx.Sym(again)}})
	})
	b.place(end)
	return carry
}

// assign moves values into registers, of which some may be the values of others.
func (b *Builder) assign(to []ptx.Operand, from []*Value) {
	held := map[ptx.Reg]bool{}
	for _, r := range to {
		held[r.Reg] = true
	}
	late := make([]ptx.Operand, len(from))
	for i, v := range from {
		late[i] = b.operand(v)
		if late[i].Kind == ptx.IsReg && held[late[i].Reg] && late[i].Reg != to[i].Reg {
			copied := ptx.R(b.reg(late[i].Reg.Class))
			b.move(copied, v)
			late[i] = copied
		}
	}
	for i, o := range late {
		if o.Kind == ptx.IsReg && o.Reg == to[i].Reg {
			continue
		}
		b.op(map[bool]string{true: "mov.pred", false: moves[to[i].Reg.Class]}[to[i].Reg.Class == ptx.Pred], to[i], o)
	}
}

// Special is the number of the thread in its block, of its lane, of its warp, of the block, of the block in its
// cluster, or of the cluster.
type Special string

// The special registers.
const (
	Thread  Special = "%tid.x"
	Lane    Special = "%laneid"
	Block   Special = "%ctaid.x"
	Rank    Special = "%cluster_ctarank"
	Cluster Special = "%clusterid.x"
)

// Special is an i32, the same throughout the kernel.
func (b *Builder) Special(s Special) *Value {
	return b.value(kernel.I32, b.pure(ptx.B32, "mov.u32", ptx.Sym(string(s))))
}

// Lanes is how many threads a warp has.
func (b *Builder) Lanes() int { return 32 }

// Warp is the number of the thread's warp.
func (b *Builder) Warp() *Value {
	return b.LShr(b.Special(Thread), b.whole(5))
}

// Sync waits until all threads of the block are here, or of the party that [Builder.Among] says.
func (b *Builder) Sync() {
	if b.party > 0 {
		b.op("bar.sync", ptx.Imm(1), ptx.Imm(int64(b.party)))
		return
	}
	b.op("bar.sync", ptx.Imm(0))
}

// Among runs body, which only so many threads of the block execute.
func (b *Builder) Among(threads int, body func()) {
	before := b.party
	b.party = threads
	body()
	b.party = before
}

// SyncWarp waits until all lanes of the warp are here.
func (b *Builder) SyncWarp() { b.op("bar.warp.sync", ptx.Imm(-1)) }

// Exchange is v of the lane whose number differs in the bits of mask.
func (b *Builder) Exchange(v *Value, mask int64) *Value {
	if class(v.Type.Elem) != ptx.B32 {
		b.fail(fmt.Errorf("lanes exchange 32 bits, not %s", v.Type))
		return v
	}
	to := ptx.R(b.reg(ptx.B32))
	b.op("shfl.sync.bfly.b32", to, b.inReg(v), ptx.Imm(mask), ptx.Imm(31), ptx.Imm(-1))
	return b.value(v.Type.Elem, to)
}
