package lives

import (
	"fmt"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/ranges"
	"ptc/runtime/program"
)

// Value is what an instruction leaves in device memory while it is needed: for the
// instructions From up to and without Until, at the bytes from Lo on.
type Value struct {
	From, Until int
	Lo, Bytes   int64
	Space       program.Space
	Of          Origin
	Lasts       bool // a tensor, or what is fed once: until the end
}

// Origin is what made a value: comparable, so that the same of another instance is found.
type Origin struct {
	Module, Source, Name, Type string
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
	values []Value
	types  []string        // of buffers, as far as they were asked for
	at     ranges.Map[int] // at each byte the number of the value there, from 1
}

// Of are the values of a program of a device, which is written out: those of an expanded plan.
func Of(p *program.Plan, d *program.Device, prog *program.Program) []Value {
	l := &lives{plan: p, device: d, prog: prog, types: make([]string, len(d.Buffers))}
	for _, t := range d.Tensors {
		l.begin(0, t.Buffer, Origin{Name: t.Path}, true)
	}
	for _, x := range d.Ports {
		if x.Program == prog.Name && x.In() {
			name := strings.TrimSpace(x.Role + " " + x.Path)
			l.begin(0, x.Buffer, Origin{Name: name}, x.Role == program.RoleCoord || x.Role == program.RoleIndex || x.Role == program.RoleSetting)
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
		if v.Lasts {
			v.Until = len(prog.Instrs)
		}
		if v.Until > v.From {
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
func (l *lives) begin(i, buffer int, of Origin, lasts bool) {
	b, lo, hi, ok := l.place(buffer)
	if !ok {
		return
	}
	kept := false
	l.at.Each(lo, hi, func(_, _ int64, n int) bool {
		kept = l.values[n-1].Lasts
		return !kept
	})
	if kept {
		return
	}
	of.Type = l.typeOf(buffer)
	l.values = append(l.values, Value{From: i, Until: i + 1, Lo: lo, Bytes: b.Bytes, Space: b.Space, Of: of, Lasts: lasts})
	l.at.Set(lo, hi, len(l.values))
}

// read notes that instruction i needs the bytes of a buffer.
func (l *lives) read(i, buffer int) {
	_, lo, hi, ok := l.place(buffer)
	if !ok {
		return
	}
	l.at.Each(lo, hi, func(_, _ int64, n int) bool {
		if v := &l.values[n-1]; v.Until <= i {
			v.Until = i + 1
		}
		return true
	})
}

// write ends what is in a buffer, and begins what instruction i leaves there.
func (l *lives) write(i, buffer int, of Origin) {
	b, lo, hi, ok := l.place(buffer)
	if !ok {
		return
	}
	goes := false
	of.Type = l.typeOf(buffer)
	l.at.Each(lo, hi, func(_, _ int64, n int) bool {
		v := &l.values[n-1]
		if v.Lasts || v.Until <= i {
			return true
		}
		if v.Lo == lo && v.Bytes == b.Bytes && v.Of == of {
			goes = true
		} else {
			v.Until = i
		}
		return true
	})
	if !goes {
		l.begin(i, buffer, of, false)
	}
}

func (l *lives) instr(i int) {
	in := &l.prog.Instrs[i]
	if c := in.Comm; c != nil && c.Kind == collective.Done {
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
		of := Origin{Module: in.Scope, Source: in.Pos, Name: name}
		if len(writes) > 1 {
			of.Name = fmt.Sprintf("%s, %d", name, j)
		}
		l.write(i, b, of)
	}
}

// typeOf is the type of a buffer: f32[batch=4, seq=64].
func (l *lives) typeOf(buffer int) string {
	if l.types[buffer] == "" {
		l.types[buffer] = typeOf(&l.device.Buffers[buffer])
	}
	return l.types[buffer]
}

func typeOf(b *program.Buffer) string {
	var axes []string
	for _, a := range b.Axes {
		axes = append(axes, fmt.Sprintf("%s=%d", a.Name, a.Size))
	}
	return b.DType + "[" + strings.Join(axes, ", ") + "]"
}
