package fuse

import (
	"encoding/binary"

	"ptc/ir"
	"ptc/ir/fusion"
)

// likeness remembers which kernels are one attention. The steps of a ring are as many
// attentions of the same form, and each grows by the same operations: one answer serves
// all of them, and those of every stage of a pipeline.
type likeness struct {
	text    map[string]uint64 // the number of a text
	op      map[*ir.Op]uint64 // that of what an operation computes, without its operands
	typ     map[*ir.Value]uint64
	attends map[string]bool // by form
	buf     []byte
}

func newLikeness() *likeness {
	return &likeness{text: map[string]uint64{}, op: map[*ir.Op]uint64{}, typ: map[*ir.Value]uint64{}, attends: map[string]bool{}}
}

// attention reports whether the kernel of g with this body is one attention.
func (l *likeness) attention(g *group, b body) bool {
	key := l.form(b)
	is, known := l.attends[string(key)]
	if !known {
		name := string(key)
		k, err := fusion.Analyze(kernelOf(g, b))
		is = err == nil && k.Class == fusion.Attend
		l.attends[name] = is
	}
	return is
}

// form is b but for which values it reads: the types of these, the operations and what
// each of them reads, and the results. The next call overwrites it.
func (l *likeness) form(b body) []byte {
	at := make(map[*ir.Value]uint64, len(b.ins)+len(b.ops))
	place := func(v *ir.Value) { at[v] = uint64(len(at)) }
	key := binary.AppendUvarint(l.buf[:0], uint64(len(b.ins)))
	for _, v := range b.ins {
		place(v)
		key = binary.AppendUvarint(key, l.typeOf(v))
	}
	key = binary.AppendUvarint(key, uint64(len(b.ops)))
	for _, o := range b.ops {
		key = binary.AppendUvarint(key, l.kindOf(o)) // which says how many operands there are
		for _, a := range o.Args {
			key = binary.AppendUvarint(key, at[a])
		}
		for _, r := range o.Results {
			place(r)
		}
	}
	for _, v := range b.outs {
		key = binary.AppendUvarint(key, at[v])
	}
	l.buf = key
	return key
}

func (l *likeness) typeOf(v *ir.Value) uint64 {
	n, ok := l.typ[v]
	if !ok {
		n = l.number(v.Type.String())
		l.typ[v] = n
	}
	return n
}

func (l *likeness) kindOf(o *ir.Op) uint64 {
	n, ok := l.op[o]
	if !ok {
		text := binary.AppendUvarint([]byte{0}, l.number(o.Name+"\x00"+o.Attrs.String())) // no name begins so
		text = binary.AppendUvarint(text, uint64(len(o.Args)))
		for _, r := range o.Results {
			text = binary.AppendUvarint(text, l.typeOf(r))
		}
		n = l.number(string(text))
		l.op[o] = n
	}
	return n
}

// number is that of a text, the same whenever it is asked for.
func (l *likeness) number(text string) uint64 {
	n, ok := l.text[text]
	if !ok {
		n = uint64(len(l.text))
		l.text[text] = n
	}
	return n
}
