package kernel

// Prefetch asks for what body would load from arguments at places known without
// loading: each of these loads becomes an [OpPrefetch] of its first element, and nothing
// else of body is kept than what these places are computed from. The places may lie
// anywhere.
func (b *Builder) Prefetch(body func()) {
	inner := &Block{}
	b.within(inner, func() []*Value { body(); return nil })
	defined := map[*Value]*Stmt{}
	for _, s := range inner.Stmts {
		for _, r := range s.Results {
			defined[r] = s
		}
	}
	needed := map[*Stmt]bool{}
	var out []*Stmt
	for _, s := range inner.Stmts {
		if s.Op != OpLoad || s.Ref.Buf.Space != Global || s.Ref.Gather != nil {
			continue
		}
		if of := map[*Stmt]bool{}; pure(s.Ref.Index, defined, of) {
			for d := range of {
				needed[d] = true
			}
			out = append(out, &Stmt{Op: OpPrefetch, Ref: Ref{Buf: s.Ref.Buf, Index: s.Ref.Index, Stride: 1}})
		}
	}
	for _, s := range inner.Stmts {
		if needed[s] {
			b.append(s)
		}
	}
	for _, s := range out {
		b.append(s)
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
