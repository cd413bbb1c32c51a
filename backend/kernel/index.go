package kernel

// Index is an affine expression over i64 scalars, in elements or iterations:
// Const + Σ Coef·Var. Terms are kept in order of first use, without zero
// coefficients and without repeated variables, so equal sums print equally.
type Index struct {
	Const int64
	Terms []Term
}

// Term is one variable of an Index and its coefficient.
type Term struct {
	Var  *Value // a scalar of type I64
	Coef int64
}

// Int is the constant index c.
func Int(c int64) Index { return Index{Const: c} }

// Of is the index that equals the i64 scalar v.
func Of(v *Value) Index { return Index{Terms: []Term{{v, 1}}} }

// Plus is x + c.
func (x Index) Plus(c int64) Index { return Index{x.Const + c, x.Terms} }

// Mul is x · c.
func (x Index) Mul(c int64) Index {
	if c == 0 {
		return Index{}
	}
	r := Index{Const: x.Const * c, Terms: make([]Term, len(x.Terms))}
	for i, t := range x.Terms {
		r.Terms[i] = Term{t.Var, t.Coef * c}
	}
	return r
}

// Add is x + y.
func (x Index) Add(y Index) Index {
	r := Index{Const: x.Const + y.Const, Terms: append([]Term(nil), x.Terms...)}
next:
	for _, t := range y.Terms {
		for i := range r.Terms {
			if r.Terms[i].Var == t.Var {
				r.Terms[i].Coef += t.Coef
				continue next
			}
		}
		r.Terms = append(r.Terms, t)
	}
	kept := r.Terms[:0]
	for _, t := range r.Terms {
		if t.Coef != 0 {
			kept = append(kept, t)
		}
	}
	r.Terms = kept
	return r
}

// Sub is x - y.
func (x Index) Sub(y Index) Index { return x.Add(y.Mul(-1)) }

// IsConst reports whether x has no variables.
func (x Index) IsConst() bool { return len(x.Terms) == 0 }
