package emu

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ptc/backend/gpu/ptx"
)

// Load decodes an entry. An instruction that is not known is an error.
func Load(e *ptx.Entry) (*Program, error) {
	d := &decoder{p: &Program{entry: e, symbols: map[string]int64{}}, labels: map[string]int{}, constants: map[uint64]int{}}
	if e.Threads < 1 || e.Threads > 1024 {
		return nil, fmt.Errorf("emu: %s: %d threads; expected 1 to 1024", e.Name, e.Threads)
	}
	for _, s := range e.Static {
		if s.Align < 1 || s.Bytes < 0 || s.Bytes > maxShared {
			return nil, fmt.Errorf("emu: %s: %d bytes of shared memory for %s, at a multiple of %d", e.Name, s.Bytes, s.Name, s.Align)
		}
	}
	for _, x := range e.Params {
		if x.Bytes != 0 && (x.Bytes < 0 || x.Align < 1) {
			return nil, fmt.Errorf("emu: %s: %d bytes for parameter %s, at a multiple of %d", e.Name, x.Bytes, x.Name, x.Align)
		}
	}
	d.layout()
	for i := range e.Body {
		if s := &e.Body[i]; s.Label != "" {
			if _, twice := d.labels[s.Label]; twice {
				return nil, fmt.Errorf("emu: %s: label %s is there twice", e.Name, s.Label)
			}
			d.labels[s.Label] = d.length
		} else {
			d.length++
		}
	}
	for i := range e.Body {
		if s := &e.Body[i]; s.Label == "" {
			in, err := d.inst(s)
			if err != nil {
				return nil, fmt.Errorf("emu: %s: `%s`: %w", e.Name, s, err)
			}
			in.at = i
			d.p.code = append(d.p.code, in)
		}
	}
	// Who comes here, ends.
	d.p.code = append(d.p.code, inst{guard: -1, target: ended, at: len(e.Body) - 1})
	d.p.first = make([]row, d.p.slots)
	for i := range d.p.first {
		x := uint64(undefined)
		if i >= d.constant0 {
			x = d.values[i-d.constant0]
		}
		for l := range lanes {
			d.p.first[i][l] = x
		}
	}
	return d.p, nil
}

type decoder struct {
	p         *Program
	labels    map[string]int
	length    int
	first     [ptx.B64 + 1]int // slot of register 0 of each class
	constants map[uint64]int   // slots, from constant0 on
	constant0 int
	values    []uint64 // of these slots
}

// layout gives registers their slots, and symbols their places.
func (d *decoder) layout() {
	counts := d.p.entry.Registers()
	for c, n := range counts {
		d.first[c] = d.p.slots
		d.p.slots += n
	}
	d.p.special0 = d.p.slots
	d.p.slots += len(specials)
	d.constant0 = d.p.slots
	at := 0
	for _, s := range d.p.entry.Static {
		at = (at + s.Align - 1) / s.Align * s.Align
		d.p.symbols[s.Name] = int64(at)
		at += s.Bytes
	}
	d.p.static = (at + 1023) / 1024 * 1024
	if !d.p.entry.Dynamic {
		d.p.static = at
	}
	d.p.symbols[ptx.DynamicName] = int64(d.p.static)
	for _, x := range d.p.entry.Params {
		n, align := x.Bytes, x.Align
		if n == 0 {
			n, align = 8, 8
		}
		d.p.paramBytes = (d.p.paramBytes + align - 1) / align * align
		d.p.symbols[x.Name] = int64(d.p.paramBytes)
		d.p.paramBytes += n
	}
}

func (d *decoder) slot(r ptx.Reg) int { return d.first[r.Class] + r.N }

// constant is the slot of a value that all lanes have.
func (d *decoder) constant(x uint64) int {
	if s, ok := d.constants[x]; ok {
		return s
	}
	d.constants[x] = d.p.slots
	d.values = append(d.values, x)
	d.p.slots++
	return d.constants[x]
}

// operand is the slot of what is read; numbers are cut to so many bits.
func (d *decoder) operand(o ptx.Operand, bits int) (int, error) {
	switch o.Kind {
	case ptx.IsReg:
		return d.slot(o.Reg), nil
	case ptx.IsImm, ptx.IsF32, ptx.IsF64:
		return d.constant(uint64(o.Imm) & mask(bits)), nil
	case ptx.IsSymbol:
		for i, s := range specials {
			if s == o.Symbol {
				return d.p.special0 + i, nil
			}
		}
		if at, ok := d.p.symbols[o.Symbol]; ok {
			return d.constant(uint64(at)), nil
		}
		return 0, fmt.Errorf("%s is not known", o.Symbol)
	}
	return 0, fmt.Errorf("an operand is neither a register nor a number")
}

func mask(bits int) uint64 {
	if bits >= 64 {
		return math.MaxUint64
	}
	return 1<<bits - 1
}

// family decodes the instructions whose names begin with one word; parts has the words.
type family func(d *decoder, s *ptx.Stmt, parts []string, in *inst) error

func (d *decoder) inst(s *ptx.Stmt) (inst, error) {
	in := inst{guard: -1, not: s.Not}
	if s.Guard.Class != ptx.NoReg {
		in.guard = d.slot(s.Guard)
	}
	parts := strings.Split(s.Op, ".")
	in.double = slices.Contains(parts, "f64") && parts[0] != "ld" && parts[0] != "st" && parts[0] != "mov"
	f := families[parts[0]]
	if f == nil {
		return in, fmt.Errorf("the instruction is not known")
	}
	err := f(d, s, parts, &in)
	return in, err
}

// form decodes an operand: see [decoder.address], [decoder.result] and [decoder.read].
type form = func(d *decoder, o ptx.Operand, in *inst) error

// number is the form of what is read, of so many bits.
func number(bits int) form {
	return func(d *decoder, o ptx.Operand, in *inst) error { return d.read(o, bits, in) }
}

// operands decodes args, one in each of the forms; else they are not what was expected.
func (d *decoder) operands(args []ptx.Operand, in *inst, expected string, forms ...form) error {
	if len(args) != len(forms) {
		return fmt.Errorf("expected %s", expected)
	}
	for i, f := range forms {
		if err := f(d, args[i], in); err != nil {
			return err
		}
	}
	return nil
}

// each is an instruction that does f for each lane that it is for.
func each(f func(w *warp, in *inst, l int) error) func(*warp, *inst) error {
	return func(w *warp, in *inst) error {
		return w.flow.each(func(l int) error { return f(w, in, l) })
	}
}

// registers appends the slots of the operands of s: the first results, then what is read,
// of so many bits.
func (d *decoder) registers(s *ptx.Stmt, in *inst, results, operands, bits int) error {
	forms := append(slices.Repeat([]form{(*decoder).result}, results), slices.Repeat([]form{number(bits)}, operands)...)
	if len(s.Args) != len(forms) {
		return fmt.Errorf("%d operands; expected %d", len(s.Args), len(forms))
	}
	return d.operands(s.Args, in, "", forms...)
}

func (d *decoder) result(o ptx.Operand, in *inst) error {
	switch {
	case o.Kind == ptx.IsReg:
		in.to = append(in.to, d.slot(o.Reg))
	case o.Kind == ptx.IsVec:
		for _, v := range o.Vec {
			if err := d.result(v, in); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("a result is no register")
	}
	return nil
}

func (d *decoder) read(o ptx.Operand, bits int, in *inst) error {
	if o.Kind == ptx.IsVec {
		for _, v := range o.Vec {
			if err := d.read(v, bits, in); err != nil {
				return err
			}
		}
		return nil
	}
	slot, err := d.operand(o, bits)
	in.from = append(in.from, slot)
	return err
}

// address appends the slot of the base of [base + offset].
func (d *decoder) address(o ptx.Operand, in *inst) error {
	if o.Kind != ptx.IsMem {
		return fmt.Errorf("found no address")
	}
	in.offset = o.Imm
	if o.Symbol == "" {
		in.from = append(in.from, d.slot(o.Reg))
		return nil
	}
	at, ok := d.p.symbols[o.Symbol]
	if !ok {
		return fmt.Errorf("%s is not known", o.Symbol)
	}
	in.from = append(in.from, d.constant(uint64(at)))
	return nil
}

// text is the instruction at a place.
func (p *Program) text(pc int) string {
	if pc >= len(p.code)-1 {
		return "its end"
	}
	return p.entry.Body[p.code[pc].at].String()
}
