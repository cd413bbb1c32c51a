package fusion

import (
	"math"
	"math/bits"

	"ptc/ir"
	"ptc/ir/op"
)

// Flops is the work of a kernel function, of those with one result the sum over its
// operations. Of an attention under a mask made of positions, such as a causal one or
// a window, only the pairs of query and key count that it lets through: others are
// skipped, up to the blocks in which both kinds are.
func Flops(f *ir.Func) int64 {
	over, seen, all := map[*ir.Op]bool{}, int64(1), int64(1)
	if attends(f) {
		if k, err := Analyze(f); err == nil {
			seen, all = k.pairs()
			for _, list := range [][]*ir.Op{k.Attention.Into, k.Attention.Body, k.Attention.Outs} {
				for _, o := range list {
					over[o] = true
				}
			}
			over[k.Attention.Top], over[k.Attention.Sum] = true, true
		}
	}
	var sum int64
	for _, o := range f.Ops {
		n := op.Of(o).Flops(o)
		if over[o] && seen < all {
			hi, lo := bits.Mul64(uint64(n), uint64(seen))
			q, _ := bits.Div64(hi, lo, uint64(all))
			n = int64(q)
		}
		sum += min(n, math.MaxInt64-sum)
	}
	return sum
}

// pairs are how many pairs of query and key a mask of positions lets through, and how
// many there are, along the axis of queries that it is of.
func (k *Kernel) pairs() (seen, all int64) {
	m := masks{key: k.Attention.Key.Name, seen: map[*ir.Value]bool{}}
	m.hidden(k.Attention.Exp.Args[0].Def.Args[0])
	var rows, keys int64 = 1, int64(k.Attention.Key.Size)
	for _, x := range k.Attention.Rows {
		if x.Name == m.row {
			rows = int64(x.Size)
		}
	}
	for i := range rows {
		lo, hi := int64(0), keys
		for _, c := range m.list {
			m.left = mostOfMask
			l, h, _ := m.interval(c.v, i, c.holds, keys)
			lo, hi = max(lo, l), min(hi, h)
		}
		seen += max(0, hi-lo)
	}
	return seen, rows * keys
}

// masks are conditions on positions along one axis of queries and the keys, without
// which a score is −inf.
type masks struct {
	key, row string
	list     []mask
	seen     map[*ir.Value]bool // values whose masks are there
	left     int                // operations that an interval may still be made of
}

// mostOfMask is how many operations a mask is made of that is looked into.
const mostOfMask = 1 << 8

type mask struct {
	v     *ir.Value
	holds bool
}

// hidden collects those that v, over the scores, is under.
func (m *masks) hidden(v *ir.Value) {
	o := v.Def
	if o == nil || m.seen[v] {
		return
	}
	m.seen[v] = true
	switch o.Name {
	case op.Select:
		if IsConst(o.Args[2], math.Inf(-1)) {
			m.add(o.Args[0], true)
			m.hidden(o.Args[1])
		} else if IsConst(o.Args[1], math.Inf(-1)) {
			m.add(o.Args[0], false)
			m.hidden(o.Args[2])
		}
	case op.Add:
		m.hidden(o.Args[0])
		m.hidden(o.Args[1])
	case op.Mul, op.Div:
		if c := o.Args[1].Def; c != nil && c.Name == op.Const && c.Attrs.Float("value", 0) > 0 {
			m.hidden(o.Args[0])
		}
	case op.Cast:
		m.hidden(o.Args[0])
	}
}

// add takes a condition whose keys are an interval for every query.
func (m *masks) add(v *ir.Value, holds bool) {
	row := ""
	for _, n := range v.Type.Names() {
		if n != m.key {
			row = n
		}
	}
	if v.Type.Rank() > 2 || m.row != "" && row != "" && row != m.row {
		return
	}
	m.left = mostOfMask
	if _, _, ok := m.interval(v, 0, holds, 1); ok {
		m.list = append(m.list, mask{v, holds})
		if row != "" {
			m.row = row
		}
	}
}

// interval is the keys, from the first to before the last, for which a query's
// condition holds, or does not; false where they are none.
func (m *masks) interval(v *ir.Value, row int64, holds bool, keys int64) (lo, hi int64, ok bool) {
	o := v.Def
	if m.left--; o == nil || len(o.Args) == 0 || len(o.Args) > 2 || m.left < 0 {
		return 0, 0, false
	}
	switch {
	case o.Name == op.Not:
		return m.interval(o.Args[0], row, !holds, keys)
	case o.Name == op.Broadcast:
		return m.interval(o.Args[0], row, holds, keys)
	case o.Name == op.And && holds, o.Name == op.Or && !holds:
		l, h, ok := m.interval(o.Args[0], row, holds, keys)
		l2, h2, ok2 := m.interval(o.Args[1], row, holds, keys)
		return max(l, l2), min(h, h2), ok && ok2
	case len(o.Args) != 2:
		return 0, 0, false
	}
	a, ok1 := m.linear(o.Args[0], row)
	b, ok2 := m.linear(o.Args[1], row)
	d := line{a.of - b.of, a.at - b.at} // of·key + at, compared with 0
	if !ok1 || !ok2 || d.of < -1 || d.of > 1 {
		return 0, 0, false
	}
	name := o.Name
	if !holds {
		name = map[string]string{op.Ge: op.Lt, op.Gt: op.Le, op.Le: op.Gt, op.Lt: op.Ge}[name]
	}
	switch name { // as ≥ 0
	case op.Ge:
	case op.Gt:
		d.at--
	case op.Le:
		d = line{-d.of, -d.at}
	case op.Lt:
		d = line{-d.of, -d.at - 1}
	default:
		return 0, 0, false
	}
	switch d.of {
	case 1:
		return max(0, -d.at), keys, true
	case -1:
		return 0, min(keys, d.at+1), true
	}
	if d.at >= 0 {
		return 0, keys, true
	}
	return 0, 0, true
}

// line is of·key + at.
type line struct{ of, at int64 }

// linear is v for one query as a line over the keys: sums of positions and constants.
func (m *masks) linear(v *ir.Value, row int64) (line, bool) {
	o := v.Def
	if m.left--; m.left < 0 || o == nil || op.DependsOnDevice(o) || v.Type.DType.IsFloat() {
		return line{}, false
	}
	switch o.Name {
	case op.Const:
		x := o.Attrs.Float("value", math.NaN())
		return line{0, int64(x)}, x == math.Trunc(x) && math.Abs(x) < 1<<40
	case op.Index:
		if o.Attrs.Has("first") {
			return line{}, false
		}
		if o.Attrs.Text("axis") == m.key {
			return line{1, 0}, true
		}
		return line{0, row}, true
	case op.Broadcast, op.Cast:
		return m.linear(o.Args[0], row)
	case op.Add, op.Sub:
		a, ok := m.linear(o.Args[0], row)
		b, ok2 := m.linear(o.Args[1], row)
		if o.Name == op.Sub {
			b = line{-b.of, -b.at}
		}
		return line{a.of + b.of, a.at + b.at}, ok && ok2
	}
	return line{}, false
}

// Factors is the dtype of what the products of a kernel function multiply, the widest of several;
// empty where it has no product.
func Factors(f *ir.Func) string {
	var widest ir.DType
	found := false
	for _, o := range f.Ops {
		if op.Of(o).Class != op.Contraction {
			continue
		}
		for _, v := range o.Args {
			if !found || v.Type.DType.Size() > widest.Size() {
				widest, found = v.Type.DType, true
			}
		}
	}
	if !found {
		return ""
	}
	return widest.String()
}
