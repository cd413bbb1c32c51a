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

// laneBits is how many bits the number of a lane has.
const laneBits = 5

// lanes are the threads of a block.
type lanes struct {
	*entry
	party int // threads that wait for each other; 0 is all
}

// places are the special registers.
var places = map[thread.Place]string{thread.Thread: "%tid.x", thread.Lane: "%laneid", thread.Block: "%ctaid.x", thread.Rank: "%cluster_ctarank", thread.Cluster: "%clusterid.x"}

func (b *lanes) Special(p thread.Place) *thread.Value {
	if p == thread.Warp {
		return b.LShr(b.Special(thread.Thread), b.whole(laneBits))
	}
	return b.value(kernel.I32, b.pure(ptx.B32, "mov.u32", ptx.Sym(places[p])))
}

func (b *lanes) Sync() {
	if b.party > 0 {
		b.op("bar.sync", ptx.Imm(1), ptx.Imm(int64(b.party)))
		return
	}
	b.op("bar.sync", ptx.Imm(0))
}

func (b *lanes) Among(threads int, body func()) {
	before := b.party
	b.party = threads
	body()
	b.party = before
}

func (b *lanes) Exchange(v *thread.Value, mask int64) *thread.Value {
	if class(v.Type.Elem) != ptx.B32 {
		b.Fail(fmt.Errorf("lanes exchange 32 bits, not %s", v.Type))
		return v
	}
	to := ptx.R(b.reg(ptx.B32))
	b.op("shfl.sync.bfly.b32", to, b.inReg(v), ptx.Imm(mask), ptx.Imm(1<<laneBits-1), ptx.Imm(-1))
	return b.value(v.Type.Elem, to)
}
