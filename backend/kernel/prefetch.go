package kernel

// Prefetch asks for what body loads first, of what it would load from arguments at places
// known without loading: that load becomes an [OpPrefetch] of its first element, and nothing
// else of body is kept than what its place is computed from. The place may lie anywhere.
func (b *Builder) Prefetch(body func()) {
	inner := &Block{}
	b.within(inner, func() []*Value { body(); return nil })
	defined := map[*Value]*Stmt{}
	for _, s := range inner.Stmts {
		for _, r := range s.Results {
			defined[r] = s
		}
	}
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

// pure collects the statements that x is computed from, and says whether none of them
// loads or branches.
func pure(x Index, defined map[*Value]*Stmt, of map[*Stmt]bool) bool {
	for _, t := range x.Terms {
		if !pureValue(t.Var, defined, of) {
			return false
		}
	}
	return true
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
	for _, a := range s.Args {
		if !pureValue(a, defined, of) {
			return false
		}
	}
	return pure(s.Index, defined, of)
}
