package thread

import (
	"encoding/binary"
	"fmt"
	"strings"

	"ptc/backend/gpu/ptx"
	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
)

// Value is a scalar of a thread: an i1, i32, i64, f32 or f64.
type Value = kernel.Value

// Builder makes an entry. A mistaken call records the first error, which Finish returns.
type Builder struct {
	*kernel.Builder // arithmetic on scalars
	entry           *ptx.Entry
	of              map[*Value]ptx.Operand // where values are: a register, or a number
	next            [ptx.B64 + 1]int       // registers in use, by class
	labels          int
	known           []map[string]ptx.Reg // results of pure instructions, by block of code
	key             []byte               // of the instruction that is looked for
	shared          int                  // bytes of dynamic shared memory so far
	overlaid        int                  // and of what ended
	party           int                  // threads that wait for each other; 0 is all
	near            bool                 // exponentials are the hardware's
	fp8             bool                 // conversions and products of floats of eight bits are the hardware's
	err             error
}

// New begins an entry of so many threads.
func New(name string, threads int) *Builder {
	b := &Builder{entry: &ptx.Entry{Name: name, Threads: threads, Dynamic: true}, of: map[*Value]ptx.Operand{},
		known: []map[string]ptx.Reg{{}}}
	b.Builder = kernel.Stream(b.stmt, b.If)
	return b
}

// Finish ends the entry. Shared is how many bytes of dynamic shared memory it takes.
func (b *Builder) Finish() (e *ptx.Entry, shared int, err error) {
	b.op("ret")
	if err := b.Builder.Err(); err != nil {
		b.fail(err)
	}
	if b.err != nil {
		return nil, 0, fmt.Errorf("kernel %s: %w", b.entry.Name, b.err)
	}
	shared = max(b.shared, b.overlaid)
	b.entry.Dynamic = shared > 0
	return b.entry, shared, nil
}

// Entry is what has been made so far, whose limits a caller may set.
func (b *Builder) Entry() *ptx.Entry { return b.entry }

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *Builder) op(name string, args ...ptx.Operand) {
	b.entry.Body = append(b.entry.Body, ptx.Stmt{Op: name, Args: args})
}

func (b *Builder) reg(c ptx.Class) ptx.Reg {
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
func (b *Builder) value(e kernel.Elem, o ptx.Operand) *Value {
	v := b.Fresh(kernel.Scalar(e))
	b.of[v] = o
	return v
}

// operand is where v is.
func (b *Builder) operand(v *Value) ptx.Operand {
	o, ok := b.of[v]
	if !ok {
		b.fail(fmt.Errorf("a value is used outside of the block of code that computes it"))
	}
	return o
}

// inReg is v in a register.
func (b *Builder) inReg(v *Value) ptx.Operand {
	o := b.operand(v)
	if o.Kind == ptx.IsReg {
		return o
	}
	return b.pure(class(v.Type.Elem), moves[class(v.Type.Elem)], o)
}

var moves = map[ptx.Class]string{ptx.B32: "mov.b32", ptx.B64: "mov.b64", ptx.B16: "mov.b16"}

// pure is the result of an instruction that depends on its operands alone.
func (b *Builder) pure(c ptx.Class, name string, args ...ptx.Operand) ptx.Operand {
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
func (b *Builder) within(body func()) {
	b.known = append(b.known, map[string]ptx.Reg{})
	body()
	b.known = b.known[:len(b.known)-1]
}

// stmt makes instructions of a statement of the arithmetic.
func (b *Builder) stmt(s *kernel.Stmt) {
	if s.Math == vmath.Exp && b.near {
		b.of[s.Result()] = b.nearExp(b.operand(s.Args[0]))
		return
	}
	if s.Math != nil {
		b.of[s.Result()] = b.operand(s.Math.Expand(b.Builder, s.Args))
		return
	}
	f := translations[s.Op]
	if f == nil {
		b.fail(fmt.Errorf("%s is not for one thread", s.Op))
		b.of[s.Result()] = ptx.Imm(0)
		return
	}
	args := make([]ptx.Operand, len(s.Args))
	for i, a := range s.Args {
		args[i] = b.operand(a)
	}
	b.of[s.Result()] = f(b, s, args)
}

// label is a new one.
func (b *Builder) label() string {
	b.labels++
	return fmt.Sprintf("L%d", b.labels-1)
}

func (b *Builder) place(label string) { b.entry.Body = append(b.entry.Body, ptx.Stmt{Label: label}) }

// String is the entry so far, for errors.
func (b *Builder) String() string {
	var lines []string
	for i := range b.entry.Body {
		lines = append(lines, b.entry.Body[i].String())
	}
	return strings.Join(lines, "\n")
}

// Anew runs body, which computes again what is known already, but for values that it is given: what is
// known for a long time takes registers all that time.
func (b *Builder) Anew(body func()) {
	known := b.known
	b.known = []map[string]ptx.Reg{{}}
	body()
	b.known = known
}
