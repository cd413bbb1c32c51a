package decode

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// area is a part of a value: where the index along its axes, read as digits, is more
// than the position's, or, with from, not less. Of a cache it is the rows that are not
// there yet:
//
//	[kseq]          kseq > t
//	[major, minor]  what becomes of it by `split`: (major, minor) > (t / n, t % n)
//	[minor]         of its row major = t / n: minor > t % n
//	[major] from    of its sum over minor: major ≥ t / n
//	[seq] plus 1    of rows that are moved on by one: seq > t + 1
type area struct {
	axes   []string
	digits []digit
	from   bool
	plus   int // to the first digit
}

func (a area) String() string {
	return fmt.Sprint(strings.Join(a.axes, " "), a.digits, a.from, a.plus)
}

// within reports whether a is a part of b.
func (a area) within(b area) bool {
	if !slices.Equal(a.axes, b.axes) || !slices.Equal(a.digits, b.digits) {
		return false
	}
	if len(a.axes) == 1 {
		return a.first() >= b.first()
	}
	return a.plus > b.plus || a.plus == b.plus && (b.from || !a.from)
}

// first is the least index of an area along one axis, from the digit on.
func (a area) first() int {
	if a.from {
		return a.plus
	}
	return a.plus + 1
}

// over is an area of a value in which it is a number, or open: what it is there is not
// what the function of all positions has.
type over struct {
	area
	open  bool
	value float64
}

// line is a number that is a sum of indices, digits of the position and a constant.
type line struct {
	index map[string]int // by axis
	digit map[digit]int
	plus  float64
}

// prover knows of every operation of the new function what it computes behind the
// position. What is not open is equal to what the function of all positions has, as
// long as what is open is finite: it is 0, as caches begin.
type prover struct {
	w     *deriver
	overs map[*ir.Value][]over
	lines map[*ir.Value]*line
}

func newProver(w *deriver) *prover {
	return &prover{w: w, overs: map[*ir.Value][]over{}, lines: map[*ir.Value]*line{}}
}

// maxShift bounds what is told apart of a position, so that it can be added up.
const maxShift = 1 << 40

// begin says that v is a cache along the axis.
func (p *prover) begin(v *ir.Value, axis string) {
	p.overs[v] = []over{{area: area{axes: []string{axis}, digits: []digit{{1, p.w.length}}}, open: true}}
}

// number says that v is a digit of the position.
func (p *prover) number(v *ir.Value, d digit) {
	p.lines[v] = &line{digit: map[digit]int{d: 1}}
}

// clean ends the derivation where v is open: o is what it is of the function of all
// positions.
func (w *deriver) clean(v *ir.Value, o *ir.Op) {
	if w.ahead.open(v) {
		w.ahead.fails(o)
	}
}

// open reports whether v is open somewhere.
func (p *prover) open(v *ir.Value) bool {
	return slices.ContainsFunc(p.overs[v], func(x over) bool { return x.open })
}

func (p *prover) fails(o *ir.Op) {
	fail("E0721", o, "the model looks ahead: by `%s` a position depends on those after it along `%s`", wordOf(o), p.w.axis)
}

// follow finds what the result of a new operation is behind the position.
func (p *prover) follow(o *ir.Op) {
	r := o.Result()
	if l := p.lineOf(o); l != nil {
		p.lines[r] = l
	}
	switch op.Of(o).Class {
	case op.Elementwise:
		p.overs[r] = p.elementwise(o)
	case op.Contraction, op.Reduction:
		p.overs[r] = p.summed(o)
	case op.Movement:
		p.overs[r] = p.moved(o)
	case op.Indexed:
		p.overs[r] = p.indexed(o)
	}
}

// areas are those in which operands are known or open, and those that a comparison with
// the position tells apart, each once.
func (p *prover) areas(o *ir.Op) (out []area) {
	seen := map[string]bool{}
	add := func(a area) {
		if key := a.String(); !seen[key] {
			seen[key] = true
			out = append(out, a)
		}
	}
	for _, a := range o.Args {
		for _, x := range p.overs[a] {
			add(x.area)
		}
	}
	if d := p.difference(o); d != nil && len(d.index) == 1 && len(d.digit) == 1 {
		for axis := range d.index {
			for n := range d.digit {
				add(area{axes: []string{axis}, digits: []digit{n}})
				add(area{axes: []string{axis}, digits: []digit{n}, from: true})
				if at := -d.plus / float64(d.index[axis]); at == math.Trunc(at) && math.Abs(at) < maxShift { // where it is 0
					add(area{axes: []string{axis}, digits: []digit{n}, plus: int(at)})
					add(area{axes: []string{axis}, digits: []digit{n}, plus: int(at), from: true})
				}
			}
		}
	}
	return out
}

// there is what an operand is in an area.
func (p *prover) there(v *ir.Value, a area) partial {
	if l := p.lines[v]; l != nil && len(l.index) == 0 && len(l.digit) == 0 {
		return partial{known: true, value: l.plus}
	}
	open := false
	for _, x := range p.overs[v] {
		if !x.open && a.within(x.area) {
			return partial{known: true, value: x.value}
		}
		open = open || x.open && touches(x.area, a)
	}
	return partial{open: open}
}

// touches reports whether two areas may share elements.
func touches(a, b area) bool {
	return slices.ContainsFunc(a.axes, func(n string) bool { return slices.Contains(b.axes, n) })
}

func (p *prover) elementwise(o *ir.Op) (out []over) {
	for _, a := range p.areas(o) {
		args := make([]partial, len(o.Args))
		for i, v := range o.Args {
			args[i] = p.there(v, a)
		}
		x := compute(o, args)
		if truth, ok := p.compares(o, a); ok {
			x = partial{known: true, value: truth}
		}
		switch {
		case x.known:
			out = append(out, over{area: a, value: x.value})
		case x.open && p.opens(o, a): // else it is open in an area of its own
			out = append(out, over{area: a, open: true})
		}
	}
	return out
}

// opens reports whether an operand is open in just this area.
func (p *prover) opens(o *ir.Op, a area) bool {
	return slices.ContainsFunc(o.Args, func(v *ir.Value) bool {
		return slices.ContainsFunc(p.overs[v], func(x over) bool { return x.open && x.within(a) && a.within(x.area) })
	})
}

// summed: what is open may be multiplied by 0, and be left out of a maximum as −inf.
func (p *prover) summed(o *ir.Op) (out []over) {
	names := o.Attrs.Names("over")
	for _, a := range p.areas(o) {
		x := partial{}
		for i, v := range o.Args {
			y := p.there(v, a)
			if i > 0 {
				y = product(x, y)
			}
			x = y
		}
		rest, left := lost(a, names)
		switch {
		case !x.open && !left:
		case !left:
			p.fails(o)
		case x.open:
			out = append(out, over{area: rest, open: true})
		case x.known && x.value == 0 && len(rest.axes) == len(a.axes):
			out = append(out, over{area: rest})
		}
	}
	return out
}

// lost is an area of what is summed over axes; false where it is lost in the sum. The
// sum over the last digit has something of every position of the one before, also of
// that which the position is in.
func lost(a area, names []string) (area, bool) {
	first := slices.IndexFunc(a.axes, func(x string) bool { return slices.Contains(names, x) })
	switch {
	case first < 0:
		return a, true
	case first == 0:
		return area{}, false
	}
	if slices.ContainsFunc(a.axes[first:], func(x string) bool { return !slices.Contains(names, x) }) {
		return area{}, false
	}
	return area{axes: a.axes[:first], digits: a.digits[:first], from: true, plus: a.plus}, true
}

// moved: areas go with their axes.
func (p *prover) moved(o *ir.Op) (out []over) {
	if axis := o.Attrs.Text("axis"); o.Name == op.Concat {
		return p.joined(o, axis)
	}
	for _, a := range p.areas(o) {
		x := p.there(o.Args[0], a)
		to, ok := moveArea(o, a)
		switch {
		case !ok && x.open:
			fail("E0722", o, "`%s` moves values along `%s`, so that a position has those of another one", wordOf(o), p.w.axis)
		case !ok:
		case x.open:
			out = append(out, over{area: to, open: true})
		case x.known && o.Name != op.Pad:
			out = append(out, over{area: to, value: x.value})
		}
	}
	return out
}

// joined: along the axis, what is open of a part is open as far on as the part is; the
// parts behind it are taken to be open too. Along others, parts are side by side.
func (p *prover) joined(o *ir.Op, axis string) (out []over) {
	for _, a := range p.areas(o) {
		if slices.Contains(a.axes, axis) {
			continue
		}
		x := p.there(o.Args[0], a)
		for _, v := range o.Args[1:] {
			y := p.there(v, a)
			x = partial{known: x.known && y.known && x.value == y.value, open: x.open || y.open, value: x.value}
		}
		if x.open || x.known {
			out = append(out, over{area: a, open: x.open, value: x.value})
		}
	}
	at := 0
	for _, v := range o.Args {
		for _, x := range p.overs[v] {
			switch i := slices.Index(x.axes, axis); {
			case i < 0 || !x.open:
			case i > 0:
				fail("E0722", o, "`%s` moves values along `%s`, so that a position has those of another one", wordOf(o), p.w.axis)
			default:
				x.plus += at
				out = append(out, x)
			}
		}
		at += v.Type.Size(axis)
	}
	return out
}

// moveArea is where an area of the operand is in the result of a movement.
func moveArea(o *ir.Op, a area) (area, bool) {
	switch o.Name {
	case op.Transpose, op.Broadcast:
		return a, true
	case op.Rename:
		to := area{digits: a.digits, from: a.from, plus: a.plus}
		for _, n := range a.axes {
			to.axes = append(to.axes, renamed(o, n))
		}
		return to, true
	case op.Split:
		i := slices.Index(a.axes, o.Attrs.Text("axis"))
		if i < 0 {
			return a, true
		}
		into := o.Attrs.Sizes("into")
		parts := partsOf(a.digits[i], into)
		var names []string
		var digits []digit
		for _, s := range into {
			names, digits = append(names, s.Name), append(digits, parts[s.Name])
		}
		return area{slices.Concat(a.axes[:i], names, a.axes[i+1:]), slices.Concat(a.digits[:i], digits, a.digits[i+1:]), a.from, 0}, len(a.axes) == 1 && !a.from && a.plus == 0
	case op.Merge:
		names := o.Attrs.Names("axes")
		if !slices.ContainsFunc(a.axes, func(n string) bool { return slices.Contains(names, n) }) {
			return a, true
		}
		axes := map[string]digit{}
		for i, n := range a.axes {
			axes[n] = a.digits[i]
		}
		d, ok := wholeOf(names, axes)
		return area{[]string{o.Attrs.Text("into")}, []digit{d}, a.from, 0}, ok && slices.Equal(a.axes, names) && a.plus == 0
	}
	axis := o.Attrs.Text("axis")
	switch i := slices.Index(a.axes, axis); {
	case i < 0:
		return a, true
	case i == 0 && o.Name == op.Slice:
		a.plus -= int(o.Attrs.Int("start", 0))
		return a, true
	case i == 0 && o.Name == op.Pad:
		a.plus += int(o.Attrs.Int("low", 0))
		return a, true
	}
	return a, false
}

// picked: of the row of the position, what is behind it within the row is left. Of rows
// that are moved on, nothing is.
func (p *prover) picked(o *ir.Op, axis string, d digit) {
	var out []over
	for _, x := range p.overs[o.Args[0]] {
		i := slices.Index(x.axes, axis)
		switch {
		case i < 0:
			out = append(out, x)
		case i == 0 && x.digits[0] == d && x.plus == 0 && len(x.axes) > 1:
			out = append(out, over{area{x.axes[1:], x.digits[1:], x.from, 0}, x.open, x.value})
		case i == 0 && x.digits[0] == d && (x.plus > 0 || x.plus == 0 && !x.from), !x.open:
		default:
			p.fails(o)
		}
	}
	p.overs[o.Result()] = out
}

// indexed: what is looked up, or added up, may not be open along the axis.
func (p *prover) indexed(o *ir.Op) (out []over) {
	axis, t := o.Attrs.Text("axis"), o.Result().Type
	for _, a := range p.areas(o) {
		x, at := p.there(o.Args[0], a), p.there(o.Args[1], a)
		gone := slices.ContainsFunc(a.axes, func(n string) bool { return n == axis && o.Args[0].Type.Has(n) || !t.Has(n) })
		nothing := o.Name == op.ScatterAdd && x.known && x.value == 0
		switch {
		case !x.open && !at.open || nothing:
		case o.Name == op.Gather && !at.open && p.before(o.Args[1], axis, a):
		case gone:
			p.fails(o)
		default:
			out = append(out, over{area: a, open: true})
		}
	}
	return out
}
