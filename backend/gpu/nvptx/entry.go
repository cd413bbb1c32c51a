package nvptx

import (
	"encoding/binary"
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// entry is an entry while it is made: instructions, and where the values of the arithmetic are.
type entry struct {
	*kernel.Builder
	out    *ptx.Entry
	of     map[*thread.Value]ptx.Operand // a register, or a number
	next   [ptx.B64 + 1]int              // registers in use, by class
	labels int
	known  []map[string]ptx.Reg // results of pure instructions, by block of code
	key    []byte               // of the instruction that is looked for
	err    error
}

// Fail records an error of the caller, which ends the entry with the first one.
func (b *entry) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *entry) op(name string, args ...ptx.Operand) {
	b.out.Body = append(b.out.Body, ptx.Stmt{Op: name, Args: args})
}

func (b *entry) reg(c ptx.Class) ptx.Reg {
	b.next[c]++
	return ptx.Reg{Class: c, N: b.next[c] - 1}
}

// class is that of the registers of elements e.
func class(e kernel.Elem) ptx.Class {
	switch e {
	case kernel.I1:
		return ptx.Pred
	case kernel.I64, kernel.F64:
		return ptx.B64
	}
	return ptx.B32
}

// value is a new value of elements e that is in o.
func (b *entry) value(e kernel.Elem, o ptx.Operand) *thread.Value {
	v := b.Fresh(kernel.Scalar(e))
	b.of[v] = o
	return v
}

// whole is n as an i32.
func (b *entry) whole(n int64) *thread.Value { return b.ConstInt(kernel.Scalar(kernel.I32), n) }

// operand is where v is.
func (b *entry) operand(v *thread.Value) ptx.Operand {
	o, ok := b.of[v]
	if !ok {
		b.Fail(fmt.Errorf("a value is used outside of the block of code that computes it"))
	}
	return o
}

// inReg is v in a register.
func (b *entry) inReg(v *thread.Value) ptx.Operand {
	o := b.operand(v)
	if o.Kind == ptx.IsReg {
		return o
	}
	return b.pure(class(v.Type.Elem), moves[class(v.Type.Elem)], o)
}

var moves = map[ptx.Class]string{ptx.B32: "mov.b32", ptx.B64: "mov.b64", ptx.B16: "mov.b16"}

// pure is the result of an instruction that depends on its operands alone.
func (b *entry) pure(c ptx.Class, name string, args ...ptx.Operand) ptx.Operand {
	b.key = appendOperands(append(append(b.key[:0], name...), 0), args)
	for i := len(b.known) - 1; i >= 0; i-- {
		if r, ok := b.known[i][string(b.key)]; ok {
			return ptx.R(r)
		}
	}
	to := b.reg(c)
	b.known[len(b.known)-1][string(b.key)] = to
	b.op(name, append([]ptx.Operand{ptx.R(to)}, args...)...)
	return ptx.R(to)
}

// appendOperands appends what no other operands have.
func appendOperands(key []byte, args []ptx.Operand) []byte {
	for i := range args {
		a := &args[i]
		key = append(key, byte(a.Kind), byte(a.Reg.Class))
		key = binary.AppendVarint(binary.AppendUvarint(key, uint64(a.Reg.N)), a.Imm)
		key = append(append(key, a.Symbol...), 0)
		if a.Vec != nil {
			key = appendOperands(binary.AppendUvarint(key, uint64(len(a.Vec))), a.Vec)
		}
	}
	return key
}

// within makes a block of code: what it computes is not known behind it.
func (b *entry) within(body func()) {
	b.known = append(b.known, map[string]ptx.Reg{})
	body()
	b.known = b.known[:len(b.known)-1]
}

// label is a new one.
func (b *entry) label() string {
	b.labels++
	return fmt.Sprintf("L%d", b.labels-1)
}

func (b *entry) place(label string) { b.out.Body = append(b.out.Body, ptx.Stmt{Label: label}) }

// guarded is an instruction that is executed where cond holds, or always if there is none.
func (b *entry) guarded(cond *thread.Value, name string, args ...ptx.Operand) {
	s := ptx.Stmt{Op: name, Args: args}
	if cond != nil {
		s.Guard = b.operand(cond).Reg
	}
	b.out.Body = append(b.out.Body, s)
}

// move puts v into a register.
func (b *entry) move(to ptx.Operand, v *thread.Value) {
	switch from := b.operand(v); {
	case to.Reg.Class == ptx.Pred: // mov takes predicates as well
		b.op("mov.pred", to, from)
	default:
		b.op(moves[to.Reg.Class], to, from)
	}
}

// assign moves values into registers, of which some may be the values of others.
func (b *entry) assign(to []ptx.Operand, from []*thread.Value) {
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
