package average

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// Average is a scalar as a sum of terms.
type Average struct {
	Terms []Term
	// Rows is of how many consecutive rows the sums are sums: more than one where an
	// operation relates rows, as those of a pair.
	Rows int
}

// Term is a quotient. Of totals Σ over batches it is
//
//	Σ Sum / (max(Σ Weight, Floor) + Plus)
//
// and the mean of Sum over batches where there is no weight.
type Term struct {
	Sum    *ir.Value
	Weight *ir.Value
	Floor  float64
	Plus   float64
	// Zero: without any weight it is 0.
	Zero bool
	// Related: rows of a batch are related in another way, so that Sum is no sum over
	// rows, and its mean over batches depends on which rows are together.
	Related bool
	At      diag.Pos
}

// Exact reports whether the average is one of rows alone.
func (x *Average) Exact() bool {
	return !slices.ContainsFunc(x.Terms, func(t Term) bool { return t.Related })
}

// Of is v, a scalar of f, whose batch has size rows, as terms; b appends to f. Of a single
// term without a weight the sum is v.
func Of(f *ir.Func, v *ir.Value, size int, b *op.Builder) *Average {
	var best []quotient
	rows, least := 0, -1
	for n := 1; n <= size && least != 0; n++ {
		if size%n != 0 {
			continue
		}
		d := &decomposition{a: analyze(f, size/n)}
		terms := d.merge(d.terms(v))
		related := 0
		for _, t := range terms {
			if t.related {
				related++
			}
		}
		if least < 0 || related < least {
			best, rows, least = terms, n, related
		}
	}
	x := &Average{Rows: rows}
	if len(best) == 1 && best[0].weight == nil {
		x.Terms = []Term{{Sum: v, Related: best[0].related, At: best[0].at}}
		return x
	}
	for _, q := range best {
		t := Term{Floor: q.floor, Plus: q.plus, Zero: q.zero, Related: q.related, At: q.at}
		for _, s := range q.sums {
			n := s.emit(b)
			if t.Sum == nil {
				t.Sum = n
			} else {
				t.Sum = b.Add(t.Sum, n)
			}
		}
		if q.weight != nil {
			t.Weight = b.Cast(q.weight, ir.F32)
		}
		x.Terms = append(x.Terms, t)
	}
	return x
}

// quotient is a term before it is computed.
type quotient struct {
	sums    []scaled
	weight  *ir.Value
	floor   float64
	plus    float64
	zero    bool
	related bool
	at      diag.Pos
}

// scaled is a value that is multiplied, divided or negated, in order.
type scaled struct {
	v  *ir.Value
	by []factor
}

type factor struct {
	name string // of the operation
	v    *ir.Value
}

func (s scaled) emit(b *op.Builder) *ir.Value {
	x := b.Cast(s.v, ir.F32)
	for _, f := range s.by {
		if f.v == nil {
			x = b.Neg(x)
			continue
		}
		x = b.Emit(f.name, nil, x, b.Cast(f.v, ir.F32))
	}
	return x
}
