package kernel

import "slices"

// Prefetch asks for what body loads first, of what it would load from arguments at places
// known without loading: that load becomes an [OpPrefetch] of its first element, and nothing
// else of body is kept than what its place is computed from. The place may lie anywhere.
func (b *Builder) Prefetch(body func()) {
	inner, defined := b.aside(body)
	for _, s := range inner.Stmts {
		if s.Op != OpLoad || s.Ref.Buf.Space != Global || s.Ref.Gather != nil {
			continue
		}
		needed := map[*Stmt]bool{}
		if !pure(s.Ref.Index, defined, needed) {
			continue
		}
		for _, d := range inner.Stmts {
			if needed[d] {
				b.append(d)
			}
		}
		b.append(&Stmt{Op: OpPrefetch, Ref: Ref{Buf: s.Ref.Buf, Index: s.Ref.Index, Stride: 1}})
		return
	}
}

// aside runs body into a block of its own, and maps each value to the statement that defines it.
func (b *Builder) aside(body func()) (inner *Block, defined map[*Value]*Stmt) {
	inner, defined = &Block{}, map[*Value]*Stmt{}
	b.within(inner, func() []*Value { body(); return nil })
	for _, s := range inner.Stmts {
		for _, r := range s.Results {
			defined[r] = s
		}
	}
	return inner, defined
}

// PrefetchRow asks for the lines of what body loads and stores, of arguments, that has a line
// or more for each value of row, at places known without loading. A line that begins less
// than first elements before has been asked for already.
func (b *Builder) PrefetchRow(row Index, first int64, body func()) {
	inner, defined := b.aside(body)
	var asked []Ref
	kept := map[*Stmt]bool{}
	for _, s := range inner.Stmts {
		r, needed := Ref{Buf: s.Ref.Buf, Index: s.Ref.Index, Stride: 1}, map[*Stmt]bool{}
		if s.Op != OpLoad && s.Op != OpStore || r.Buf.Space != Global || s.Ref.Gather != nil || !pure(r.Index, defined, needed) {
			continue
		}
		size := int64(r.Buf.Elem.Bytes())
		same := func(x Ref) bool {
			return x.Buf == r.Buf && x.Index.Const == r.Index.Const && slices.Equal(x.Index.Terms, r.Index.Terms)
		}
		if size*r.Index.along(row) < prefetched || first*size%prefetched != 0 || slices.ContainsFunc(asked, same) {
			continue
		}
		for _, d := range inner.Stmts {
			if needed[d] && !kept[d] {
				b.append(d)
				kept[d] = true
			}
		}
		b.append(&Stmt{Op: OpPrefetch, Ref: r})
		asked = append(asked, r)
	}
}

// prefetched is the bytes that one prefetch asks for.
const prefetched = 64

// along is how far x moves where the only variable of v moves by one.
func (x Index) along(v Index) int64 {
	for _, t := range x.Terms {
		if len(v.Terms) == 1 && t.Var == v.Terms[0].Var {
			return max(t.Coef, -t.Coef)
		}
	}
	return 0
}

// pure collects the statements that x is computed from, and says whether none of them
// loads or branches.
func pure(x Index, defined map[*Value]*Stmt, of map[*Stmt]bool) bool {
	return !slices.ContainsFunc(x.Terms, func(t Term) bool { return !pureValue(t.Var, defined, of) })
}

func pureValue(v *Value, defined map[*Value]*Stmt, of map[*Stmt]bool) bool {
	s := defined[v]
	if s == nil || of[s] {
		return true
	}
	if s.Op == OpLoad || s.Op == OpFor || s.Op == OpIf {
		return false
	}
	of[s] = true
	return !slices.ContainsFunc(s.Args, func(a *Value) bool { return !pureValue(a, defined, of) }) && pure(s.Index, defined, of)
}
