package memory

import (
	"fmt"
	"strings"

	"ptc/ir"
)

// inPlace puts result j of operation i over an operand that dies there, if the
// kernel may write it so.
func (l *layout) inPlace(o *ir.Op, i, j int, taken map[*buffer]bool) {
	v := o.Results[j]
	c := l.of[v]
	if c.arg != nil || ends(o) || c.from != l.time.of(i, l.slot[v]) || l.at[v] != 0 {
		return
	}
	first, end := 0, len(o.Args)
	if o.Callee == nil { // no other operand than the one at its place, see mayOverwrite
		first, end = min(j, end), min(j+1, end)
	}
	var whys []string
	for n := first; n < end; n++ {
		a := o.Args[n]
		b := l.of[a]
		if b == c || b.memory != c.memory || b.bytes < c.bytes {
			continue
		}
		why := l.refuses(i, v, a, taken)
		if why != "" && l.p.c.Asked() && l.p.mayOverwrite(o, n, j) {
			whys = append(whys, fmt.Sprintf("operand %d, %s", n, why))
		}
		if why != "" || !l.p.mayOverwrite(o, n, j) {
			continue
		}
		if !l.p.c.May(fmt.Sprintf("result %d over operand %d of", j, n), o) {
			return
		}
		taken[b] = true
		read := l.time.shifted(c.read, l.slot[a]-l.slot[v]) // as it is seen from the place
		l.join(v, a, 0)
		l.of[v].read = read
		taken[l.of[v]] = true
		return
	}
	if len(whys) > 0 {
		l.p.c.Because(o, "result %d of %s is not written over %s", j, called(o), strings.Join(whys, ", nor over "))
	}
}

// called is an operation in a sentence: a call by its kernel.
func called(o *ir.Op) string {
	if o.Callee != nil {
		return "@" + o.Callee.Name
	}
	return "`" + o.Name + "`"
}

// refuses says why result v of operation i cannot be in the place of its operand a, though the kernel could write it
// there; empty if it can.
func (l *layout) refuses(i int, v, a *ir.Value, taken map[*buffer]bool) string {
	b, c := l.of[a], l.of[v]
	switch {
	case b.arg != nil:
		return "which is an argument"
	case taken[b]:
		return "which another result has"
	case b.read != l.time.of(i, l.slot[a]):
		return "which is read later"
	case l.at[a] != 0:
		return "which is a part of another value"
	case usedTwice(l.f.Ops[i], a):
		return "which is an operand twice"
	case !l.together(b, c):
		return "which is in use for other microbatches"
	case a.In() != v.In() || v.In() == nil && (b.chain != single || c.chain != single):
		return "whose instances have places of their own"
	}
	return ""
}
