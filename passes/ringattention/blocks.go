package ringattention

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// piece is which positions of a block.
type piece uint8

const (
	whole piece = iota
	// In the zig-zag order a block b of n is two chunks, b and 2n−1−b of 2n.
	low    // the chunk b
	high   // the chunk 2n−1−b
	chosen // low in the blocks whose keys come from before, high in the others
)

// view is what one product is over: queries of a block, and keys of the block
// that `step` steps of the ring have brought there.
type view struct {
	queries, keys piece
	step          int
	// visible: every key of the view is before every query, so that a causal
	// mask hides none.
	visible bool
	// back: keys and values are there for the backward phase (see back).
	back bool
}

// blocks computes values of one core over views.
type blocks struct {
	*rewriter
	k      *core
	made   map[blockKey]*ir.Value
	steps  []int             // those behind the first at which a block sees keys
	chosen map[int]*ir.Value // by step: whether a block's keys come from before
	turned map[int]ir.Ints
}

type blockKey struct {
	x *ir.Value
	v view
}

func (w *rewriter) blocks(k *core) *blocks {
	t := &blocks{rewriter: w, k: k, made: map[blockKey]*ir.Value{}, chosen: map[int]*ir.Value{}, turned: map[int]ir.Ints{}}
	if k != nil {
		t.steps = t.stepsOf()
	}
	return t
}

// at is x over a view. Values without positions are the same everywhere.
func (t *blocks) at(x *ir.Value, v view) *ir.Value {
	q, k := x.Type.Has(t.axis), x.Type.Has(t.k.key)
	switch {
	case !q && !k:
		return x
	case !k:
		// A chosen piece of the backward phase is apart, so that its gradient is added to
		// those of both pieces when the step has made it.
		v = view{queries: v.queries, step: stepOf(v.queries, v.step), back: v.back && v.queries == chosen}
	case !q:
		v = view{keys: v.keys, step: v.step, back: v.back}
	}
	key := blockKey{x, v}
	if t.made[key] == nil {
		t.made[key] = t.make(x, v, q, k)
	}
	return t.made[key]
}

// stepOf is the step, where the choice of a piece depends on it.
func stepOf(p piece, step int) int {
	if p == chosen {
		return step
	}
	return 0
}

func (t *blocks) make(x *ir.Value, v view, q, k bool) *ir.Value {
	switch axis := t.position(x); {
	case axis == t.axis:
		return t.positionsOf(axis, v.queries, 0, v.step)
	case axis == t.k.key:
		return t.positionsOf(axis, v.keys, v.step, v.step)
	case t.source(x) || q && k && t.rebuilt(x.Def):
		return t.rebuild(x, v)
	case q && k:
		return t.diagonal(x, v.step)
	case q:
		return t.pieceOf(t.moved(x, t.axis, 0), t.axis, v.queries, v.step, func(p piece) *ir.Value { return t.at(x, view{queries: p}) })
	}
	y := t.moved
	if v.back {
		y = t.back
	}
	return t.pieceOf(y(x, t.k.key, v.step), t.k.key, v.keys, v.step, func(p piece) *ir.Value { return t.at(x, view{keys: p, step: v.step, back: v.back}) })
}

// moved is x, of an axis, in blocks, after so many steps of the ring: device d
// has what device d − step began with.
func (t *blocks) moved(x *ir.Value, axis string, step int) *ir.Value {
	key := blockKey{x, view{step: step, visible: true}} // no view of one axis is visible alone
	if t.made[key] == nil {
		if step == 0 {
			t.made[key] = t.split(t.ordered(x, axis), axis)
		} else {
			last := t.stepBefore(step)
			t.made[key] = t.take(t.moved(x, axis, last), t.neighbours(last-step))
		}
	}
	return t.made[key]
}

// stepBefore is the step before one, 0 for the first.
func (t *blocks) stepBefore(step int) int {
	if i := slices.Index(t.steps, step); i > 0 {
		return t.steps[i-1]
	}
	return 0
}

// ordered is x with its positions in the order of the ring.
func (t *blocks) ordered(x *ir.Value, axis string) *ir.Value {
	if t.order == nil {
		return x
	}
	return t.order.zigzag(x, axis)
}

// pieceOf is a piece of blocks y; of is another piece of them, and by the step that
// chooses between them.
func (t *blocks) pieceOf(y *ir.Value, axis string, p piece, by int, of func(piece) *ir.Value) *ir.Value {
	n := t.part() / 2
	start := 0
	switch p {
	case whole:
		return y
	case chosen:
		return t.b.Select(t.before(by), of(low), of(high))
	case high:
		start = n
	}
	return t.emit(op.Slice, ir.A("axis", ir.Name(axis+t.suffix()), "start", ir.Int(start), "limit", ir.Int(start+n)), y)
}

// before is, for each block, whether the keys that it has at the step are of a
// block before it.
func (t *blocks) before(step int) *ir.Value {
	if t.chosen[step] == nil {
		t.chosen[step] = t.emit(op.Ge, nil, t.blockIndex(), t.int(step))
	}
	return t.chosen[step]
}

// from is the number of the block whose keys a block has at the step.
func (t *blocks) from(step int) *ir.Value {
	b := t.blockIndex()
	if step == 0 {
		return b
	}
	return t.emit(op.Mod, nil, t.b.Add(b, t.int(t.devices-step)), t.int(t.devices))
}

// positionsOf are the logical positions of a piece of the blocks that the step
// moved, by (block, part); chosen pieces are those of step `by`.
func (t *blocks) positionsOf(axis string, p piece, moved, by int) *ir.Value {
	local := axis + t.suffix()
	if t.order == nil {
		return t.b.Add(t.b.Mul(t.from(moved), t.int(t.part())), t.index(local, t.part()))
	}
	n := t.part() / 2
	from, size := t.from(moved), t.int(n)
	if p == low {
		return t.b.Add(t.b.Mul(from, size), t.index(local, n))
	}
	hi := t.b.Mul(t.b.Sub(t.int(2*t.devices-1), from), size)
	if p == high {
		return t.b.Add(hi, t.index(local, n))
	}
	lo := t.b.Mul(from, size)
	if p == chosen {
		return t.b.Add(t.b.Select(t.before(by), lo, hi), t.index(local, n))
	}
	i := t.index(local, 2*n)
	return t.b.Add(t.b.Select(t.emit(op.Lt, nil, i, size), lo, t.b.Sub(hi, size)), i)
}

// rebuilt reports whether an operation on scores can be done view by view.
func (t *rewriter) rebuilt(o *ir.Op) bool {
	if o == nil {
		return false
	}
	switch op.Of(o).Class {
	case op.Elementwise:
		return true
	case op.Reduction, op.Contraction:
		over := o.Attrs.Names("over")
		return !slices.Contains(over, t.axis) && !slices.ContainsFunc(over, func(n string) bool { return t.keys[n] })
	}
	return op.Has(o, op.ByName)
}

// rebuild is the operation that made x, over a view.
func (t *blocks) rebuild(x *ir.Value, v view) *ir.Value {
	o := x.Def
	args := make([]*ir.Value, len(o.Args))
	if o.Name == op.Select && v.visible {
		for i, holds := range []bool{true, false} {
			if behind(t.masks(t.k.key).Condition(o.Args[0], holds)) {
				return t.at(o.Args[1+i], v)
			}
		}
	}
	for i, a := range o.Args {
		args[i] = t.at(a, v)
	}
	scope, pos := t.b.Scope, t.b.Pos
	defer func() { t.b.Scope, t.b.Pos = scope, pos }()
	t.b.Scope, t.b.Pos = o.Scope, o.Pos
	switch o.Name {
	case op.Transpose:
		return args[0]
	case op.Broadcast:
		return t.emit(op.Broadcast, ir.A("axes", t.sizes(x.Type, v)), args[0])
	}
	return t.emit(o.Name, o.Attrs.With("out", nil), args...)
}

// sizes are the axes of type x over a view, the blocks first.
func (t *blocks) sizes(x ir.Type, v view) ir.Sizes {
	s := ir.Sizes{{Name: t.block, N: t.devices}}
	for _, a := range x.Axes {
		p := whole
		switch a.Name {
		case t.axis:
			p = v.queries
		case t.k.key:
			p = v.keys
		default:
			s = append(s, ir.SizeOf{Name: a.Name, N: a.Size})
			continue
		}
		n := t.part()
		if p != whole {
			n /= 2
		}
		s = append(s, ir.SizeOf{Name: a.Name + t.suffix(), N: n})
	}
	return s
}

// diagonal is the part of x, known for all pairs of a query and a key alike,
// for the keys that each block has at the step: random numbers and biases, which
// a device has, or draws, for its queries and all keys.
func (t *blocks) diagonal(x *ir.Value, step int) *ir.Value {
	key := blockKey{x, view{step: -1}}
	if t.made[key] == nil {
		y := t.split(x, t.axis)
		into := ir.Sizes{{Name: t.chunkAxis, N: t.devices}, {Name: t.k.key + t.suffix(), N: t.part()}}
		t.made[key] = t.emit(op.Split, ir.A("axis", ir.Name(t.k.key), "into", into), y)
	}
	return t.emit(op.Gather, ir.A("axis", ir.Name(t.chunkAxis)), t.made[key], t.from(step))
}

// inexpressible is why the core cannot be computed view by view, or empty.
func (w *rewriter) inexpressible(k *core) string {
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value, inner bool) string
	// inner: v is a factor of the weights and must not depend on them again.
	visit = func(v *ir.Value, inner bool) string {
		if v == k.norm.Result() {
			return ""
		}
		if !v.Type.Has(w.axis) || !v.Type.Has(k.key) || seen[v] {
			return ""
		}
		seen[v] = true
		o := v.Def
		if v == k.norm.Args[0] && inner {
			return "the exponentials are read outside the softmax"
		}
		if w.rebuilt(o) {
			for _, a := range o.Args {
				if why := visit(a, inner); why != "" {
					return why
				}
			}
			return ""
		}
		name := "an argument"
		if o != nil {
			name = "`" + o.Name + "`"
		}
		switch {
		case o != nil && w.dependsOnProduct(o, k):
			return fmt.Sprintf("the scores go through %s", name)
		case w.ring.zigzag && !w.source(v):
			return fmt.Sprintf("%s of each query and key cannot be split in the zig-zag order without an exchange as large as the scores", name)
		}
		return ""
	}
	if why := visit(k.weights, true); why != "" {
		return why
	}
	return visit(k.scores, false)
}

// dependsOnProduct reports whether o is computed from a product of queries and
// keys.
func (w *rewriter) dependsOnProduct(o *ir.Op, k *core) bool {
	for _, a := range o.Args {
		if a.Def == nil || !a.Type.Has(w.axis) || !a.Type.Has(k.key) {
			continue
		}
		if op.Of(a.Def).Class == op.Contraction || w.dependsOnProduct(a.Def, k) {
			return true
		}
	}
	return false
}
