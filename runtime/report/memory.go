package report

import (
	"fmt"
	"strings"

	"ptc/internal/ranges"
	"ptc/runtime/program"
)

// value is what an instruction leaves in device memory while it is needed: for the
// instructions from up to and without until, at the bytes from lo on.
type value struct {
	from, until int
	lo, bytes   int64
	space       program.Space
	of          origin
	lasts       bool // a tensor, or what is fed once: until the end
}

// origin is what made a value: comparable, so that the same of another instance is found.
type origin struct {
	module, source, name, typ string
}

// lives finds the values of a program that is written out, in the order in which they
// begin.
//
// A read is of what was written last at its bytes, whatever buffer it names: several
// name one place, and a piece is read as a part of the whole. So a value lives until
// the last instruction that reads a byte of it. Where one is overwritten by an
// instruction that reads it, it ends there, and where that is what made it, as of a sum
// over microbatches, it goes on. A tensor is one value for the whole step, and what is
// written in its place is a new state of it.
type lives struct {
	plan   *program.Plan
	device *program.Device
	prog   *program.Program
	values []value
	at     ranges.Map[int] // at each byte the number of the value there, from 1
}

func livesOf(p *program.Plan, d *program.Device, prog *program.Program) []value {
	l := &lives{plan: p, device: d, prog: prog}
	for _, t := range d.Tensors {
		l.begin(0, t.Buffer, origin{name: t.Path}, true)
	}
	for _, x := range d.Ports {
		if x.Program == prog.Name && x.In() {
			name := strings.TrimSpace(x.Role + " " + x.Path)
			l.begin(0, x.Buffer, origin{name: name}, x.Role == program.RoleCoord || x.Role == program.RoleIndex || x.Role == program.RoleSetting)
		}
	}
	for i := range prog.Instrs {
		l.instr(i)
	}
	for _, x := range d.Ports {
		if x.Program == prog.Name && (x.Role == program.RoleLoss || x.Role == program.RoleStat) {
			l.read(len(prog.Instrs)-1, x.Buffer)
		}
	}
	out := l.values[:0]
	for _, v := range l.values {
		if v.lasts {
			v.until = len(prog.Instrs)
		}
		if v.until > v.from {
			out = append(out, v)
		}
	}
	return out
}

// place is where a buffer of device memory is.
func (l *lives) place(buffer int) (b *program.Buffer, lo, hi int64, ok bool) {
	b = &l.device.Buffers[buffer]
	return b, b.Offset, b.Offset + b.Bytes, b.Memory == "" && b.Bytes > 0
}

// begin adds a value, unless the place is that of one that lasts.
func (l *lives) begin(i, buffer int, of origin, lasts bool) {
	b, lo, hi, ok := l.place(buffer)
	if !ok {
		return
	}
	kept := false
	l.at.Each(lo, hi, func(_, _ int64, n int) bool {
		kept = l.values[n-1].lasts
		return !kept
	})
	if kept {
		return
	}
	of.typ = typeOf(b)
	l.values = append(l.values, value{from: i, until: i + 1, lo: lo, bytes: b.Bytes, space: b.Space, of: of, lasts: lasts})
	l.at.Set(lo, hi, len(l.values))
}

// read notes that instruction i needs the bytes of a buffer.
func (l *lives) read(i, buffer int) {
	_, lo, hi, ok := l.place(buffer)
	if !ok {
		return
	}
	l.at.Each(lo, hi, func(_, _ int64, n int) bool {
		if v := &l.values[n-1]; v.until <= i {
			v.until = i + 1
		}
		return true
	})
}

// write ends what is in a buffer, and begins what instruction i leaves there.
func (l *lives) write(i, buffer int, of origin) {
	b, lo, hi, ok := l.place(buffer)
	if !ok {
		return
	}
	goes := false
	of.typ = typeOf(b)
	l.at.Each(lo, hi, func(_, _ int64, n int) bool {
		v := &l.values[n-1]
		if v.lasts || v.until <= i {
			return true
		}
		if v.lo == lo && v.bytes == b.Bytes && v.of == of {
			goes = true
		} else {
			v.until = i
		}
		return true
	})
	if !goes {
		l.begin(i, buffer, of, false)
	}
}

func (l *lives) instr(i int) {
	in := &l.prog.Instrs[i]
	if c := in.Comm; c != nil && c.Kind == program.Done {
		reads, writes := l.plan.Touches(&l.prog.Instrs[c.Of])
		for _, b := range append(append([]int{}, reads...), writes...) {
			l.read(i, b)
		}
		return
	}
	reads, writes := l.plan.Touches(in)
	for _, b := range reads {
		l.read(i, b)
	}
	name := ""
	if in.Comm == nil {
		name = l.plan.Kernels[in.Kernel].Name
	} else {
		name = in.Comm.Kind
	}
	for j, b := range writes {
		of := origin{module: in.Scope, source: in.Pos, name: name}
		if len(writes) > 1 {
			of.name = fmt.Sprintf("%s, %d", name, j)
		}
		l.write(i, b, of)
	}
}

// typeOf is the type of a buffer: f32[batch=4, seq=64].
func typeOf(b *program.Buffer) string {
	var axes []string
	for _, a := range b.Axes {
		axes = append(axes, fmt.Sprintf("%s=%d", a.Name, a.Size))
	}
	return b.DType + "[" + strings.Join(axes, ", ") + "]"
}
