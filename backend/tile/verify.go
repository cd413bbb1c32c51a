package tile

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir"
)

// Limits of what a program may say, so that no arithmetic on its numbers overflows.
const (
	maxSize   = 1 << 40 // extents, sizes, strides, elements of a buffer
	maxTile   = 1 << 39 // elements of a tile
	maxStages = 16
)

// Verify checks that p is well formed: declarations that fit each other, every
// operation typed as its row demands, every tile and range used where it is defined,
// positions within their views, stores of different tasks to different elements as far
// as that follows from the text, copies waited for before they are read, and work
// memory written before it is read. An error says what was found and what was expected.
func Verify(p *Program) error {
	v := &verifier{p: p, stored: map[*Buffer]bool{}}
	if err := v.program(); err != nil {
		return fmt.Errorf("tile %s: %w", p.Name, err)
	}
	return nil
}

type verifier struct {
	p      *Program
	phase  *Phase
	frames []*known
	stored map[*Buffer]bool // by this phase or one before
	guards int              // ifs around the present place
}

// known is what is defined in an open block and those around it.
type known struct {
	ranges []*Range
	values map[*Value]bool
	waited map[*Value]bool
}

func (v *verifier) program() error {
	if !ir.IsIdent(v.p.Name) {
		return fmt.Errorf("found the name %q; expected an identifier", v.p.Name)
	}
	if err := v.declarations(); err != nil {
		return err
	}
	for i, ph := range v.p.Phases {
		v.phase = ph
		if err := v.tasks(ph); err != nil {
			return fmt.Errorf("phase %d: %w", i+1, err)
		}
	}
	for _, b := range v.p.Buffers {
		if b.Use == Write && !v.stored[b] {
			return fmt.Errorf("found no store to %s; expected one, as it is declared write", b.Name)
		}
	}
	return nil
}

func (v *verifier) declarations() error {
	names := map[string]bool{}
	work := false
	for i, b := range v.p.Buffers {
		switch {
		case !ir.IsIdent(b.Name) || names["b "+b.Name]:
			return fmt.Errorf("found buffer %q; expected a name of its own", b.Name)
		case b.DType.Bits() == 0 || b.Len < 1 || b.Len > maxSize:
			return fmt.Errorf("buffer %s: found %s[%d]; expected a dtype and 1 to %d elements", b.Name, b.DType, b.Len, int64(maxSize))
		case work && b.Use != Work:
			return fmt.Errorf("buffer %s: found an argument after work memory; expected arguments first", b.Name)
		}
		names["b "+b.Name] = true
		work = b.Use == Work
		for _, a := range b.Over {
			if !slices.Contains(v.p.Buffers[:i], a) || a.Use != Read || b.Use == Read || b.Use == Work || a.DType != b.DType || a.Len != b.Len {
				return fmt.Errorf("buffer %s: found it over %s; expected a result over an argument before it that is read, of its dtype and length", b.Name, a.Name)
			}
		}
	}
	for _, w := range v.p.Views {
		if !ir.IsIdent(w.Name) || names["v "+w.Name] {
			return fmt.Errorf("found view %q; expected a name of its own", w.Name)
		}
		names["v "+w.Name] = true
		if err := v.view(w); err != nil {
			return fmt.Errorf("view %s: %w", w.Name, err)
		}
	}
	return nil
}

func (v *verifier) view(w *View) error {
	if !slices.Contains(v.p.Buffers, w.Buffer) {
		return fmt.Errorf("found a buffer that is not declared; expected one that is")
	}
	if w.Offset < 0 || w.Offset > maxSize {
		return fmt.Errorf("found offset %d; expected 0 to %d", w.Offset, int64(maxSize))
	}
	last := int64(w.Offset)
	for i, a := range w.Axes {
		if !ir.IsIdent(a.Name) || slices.ContainsFunc(w.Axes[:i], func(b axis) bool { return a.Name == b.Name }) {
			return fmt.Errorf("found axis %q; expected a name of its own", a.Name)
		}
		if a.Size < 1 || a.Size > maxSize || a.Stride < 0 || a.Stride > maxSize {
			return fmt.Errorf("axis %s: found size %d, stride %d; expected 1 to %d and 0 to %d", a.Name, a.Size, a.Stride, int64(maxSize), int64(maxSize))
		}
		if a.Pad < 0 || a.Pad > maxSize || a.Pad > 0 && a.Stride != 1 {
			return fmt.Errorf("axis %s: found %d elements of padding, stride %d; expected padding of neighbours, up to %d", a.Name, a.Pad, a.Stride, int64(maxSize))
		}
		step, ok := mul(int64(a.Size+a.Pad-1), int64(a.Stride))
		if last, ok = add(last, step, ok); !ok {
			return fmt.Errorf("axis %s: found positions beyond all memory; expected fewer", a.Name)
		}
	}
	if last >= w.Buffer.Len {
		return fmt.Errorf("found its last element at %d of %s; expected one of %d elements", last, w.Buffer.Name, w.Buffer.Len)
	}
	return nil
}

func (v *verifier) tasks(ph *Phase) error {
	v.frames = []*known{{values: map[*Value]bool{}, waited: map[*Value]bool{}}}
	tasks, ok := int64(1), true
	for _, r := range ph.Grid {
		if err := v.introduce(r); err != nil {
			return err
		}
		if tasks, ok = mul(tasks, r.Blocks()); !ok || tasks > maxSize {
			return fmt.Errorf("found more than %d tasks; expected fewer", int64(maxSize))
		}
	}
	if len(ph.Body.Yield) > 0 {
		return fmt.Errorf("found a yield; expected none in a phase")
	}
	return v.ops(ph.Body)
}

func (v *verifier) top() *known { return v.frames[len(v.frames)-1] }

// introduce checks r and puts it into the innermost scope.
func (v *verifier) introduce(r *Range) error {
	k := v.top()
	if !ir.IsIdent(r.Name) || !ir.IsIdent(r.Axis) || slices.ContainsFunc(k.ranges, func(x *Range) bool { return x.Name == r.Name }) {
		return fmt.Errorf("found range %q of axis %q; expected identifiers, and a name that no range around it has", r.Name, r.Axis)
	}
	if r.Extent < 1 || r.Extent > maxSize || r.Size < 1 || r.Size > r.Extent {
		return fmt.Errorf("range %s: found %d by %d; expected an extent from 1 to %d, and blocks no larger", r.Name, r.Extent, r.Size, int64(maxSize))
	}
	r.order = len(k.ranges)
	k.ranges = append(slices.Clip(k.ranges), r)
	return nil
}

// inner runs f in a block of its own.
func (v *verifier) inner(f func() error) error {
	if len(v.frames) >= maxDepth {
		return fmt.Errorf("found blocks nested deeper than %d; expected fewer", maxDepth)
	}
	v.frames = append(v.frames, &known{ranges: v.top().ranges, values: map[*Value]bool{}, waited: map[*Value]bool{}})
	defer func() { v.frames = v.frames[:len(v.frames)-1] }()
	return f()
}

func (v *verifier) ops(b *Block) error {
	for _, o := range b.Ops {
		if err := v.op(o); err != nil {
			if nested, ok := err.(*opError); ok {
				return nested
			}
			return &opError{v.p.Line(o), err}
		}
	}
	return nil
}

// opError is an error with the operation where it was found.
type opError struct {
	line string
	err  error
}

func (e *opError) Error() string { return fmt.Sprintf("%v\n\t%s", e.err, e.line) }
func (e *opError) Unwrap() error { return e.err }

// Line is the first line of o as p's text has it.
func (p *Program) Line(o *Op) string {
	all := &printer{names: map[*Value]string{}}
	for _, ph := range p.Phases {
		all.block(ph.Body)
	}
	w := &printer{names: all.names}
	w.op(o)
	line, _, _ := strings.Cut(w.String(), "\n")
	return line
}

// yields checks what a block hands on against the tiles that receive it.
func (v *verifier) yields(b *Block, to []*Value) error {
	if len(b.Yield) != len(to) {
		return fmt.Errorf("found %d tiles yielded; expected %d", len(b.Yield), len(to))
	}
	for i, y := range b.Yield {
		if err := v.read(y); err != nil {
			return err
		}
		if !y.Type.same(to[i].Type) {
			return fmt.Errorf("found %s yielded; expected %s", y.Type, to[i].Type)
		}
	}
	return nil
}

// mul and add are exact, or not ok.
func mul(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	c := a * b
	return c, c/b == a && !(a == -1 && b == -1<<63) && !(b == -1 && a == -1<<63)
}

func add(a, b int64, ok bool) (int64, bool) {
	c := a + b
	return c, ok && (c > a) == (b > 0)
}
