package fusion_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/ir/fusion"
)

// loops writes loops by their names: "b s.h".
func loops(all ...fusion.Loop) string {
	var out []string
	for _, l := range all {
		out = append(out, l.Name())
	}
	return strings.Join(out, " ")
}

// TestContraction: the axes of products are rows, columns and sums, and one loop where every view
// has them next to each other.
func TestContraction(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"an affine map", linear, "m a, n c, k b"},
		{"rows of two axes", `
arg %0 : f32[b=4, s=8, e=3] in
arg %1 : f32[e=3, f=5] in
%2 : f32[b=4, s=8, f=5] = dot %0, %1 over=(e)
result %2 out`, "m b.s, n f, k e"},
		{"a bias lies between the rows", `
arg %0 : f32[b=4, s=8, e=3] in
arg %1 : f32[e=3, f=5] in
arg %2 : f32[s=8, f=5] in
%3 : f32[b=4, s=8, f=5] = dot %0, %1 over=(e)
%4 : f32[b=4, s=8, f=5] = add %3, %2
result %4 out`, "m s, n f, k e, outer b"},
		{"operands change places, so that columns are contiguous", `
arg %0 : f32[f=5, e=3] in
arg %1 : f32[h=2, s=8, e=3] in
%2 : f32[h=2, s=8, f=5] = dot %1, %0 over=(e)
%3 : f32[h=2, s=8, f=5] = neg %2
result %3 out`, "m h.s, n f, k e"},
		{"the gradient of a weight, of heads", `
arg %0 : f32[b=4, s=8, h=2, e=3] in
arg %1 : f32[b=4, s=8, h=2, f=1] in
%2 : f32[h=2, f=1, e=3] = dot %1, %0 out=(h, f, e) over=(b, s)
result %2 out`, "n e, k b.s, outer h"},
	} {
		k, err := fusion.Analyze(kernel(t, c.body))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		x, got := k.Contraction, ""
		for _, r := range []struct {
			name  string
			loops []fusion.Loop
		}{{"m", x.M}, {"n", x.N}, {"k", x.K}, {"outer", x.Outer}, {"outerK", x.OuterK}} {
			if len(r.loops) > 0 {
				got += fmt.Sprintf(", %s %s", r.name, loops(r.loops...))
			}
		}
		if got := strings.TrimPrefix(got, ", "); got != c.want {
			t.Errorf("%s: %s; expected %s", c.name, got, c.want)
		}
		for _, a := range x.Cols {
			if !x.Right.Type.Has(a.Name) {
				t.Errorf("%s: the right operand has no column axis %s", c.name, a.Name)
			}
		}
	}
}

// TestAttentionLoops: all products of a kernel, and those of each group, have the loops of their sums.
func TestAttentionLoops(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"forward", forward, "outer b h, rows s, cols d; limits 1, open 1"},
		{"grouped", grouped, "outer b kv, groups g, rows s, cols d; limits 0, open 0"},
		{"backward", backward, "outer b h, rows s, cols d r; limits 0, open 0 | outer b h, rows s, cols d r; limits 0, open 0 | " +
			"outer b, inner h, rows s, cols d r; limits 0, open 0"},
	} {
		k, err := fusion.Analyze(kernel(t, c.body))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var all []string
		for _, outs := range k.Attention.Groups() {
			l := k.AttentionLoops(outs)
			s := "outer " + loops(l.Outer...)
			if len(l.Inner) > 0 {
				s += ", inner " + loops(l.Inner...)
			}
			if len(l.Groups) > 0 {
				s += ", groups " + loops(l.Groups...)
			}
			all = append(all, fmt.Sprintf("%s, rows %s, cols %s; limits %d, open %d", s, loops(l.Rows...), loops(l.Cols...), len(l.Limits), len(l.Open)))
		}
		if got := strings.Join(all, " | "); got != c.want {
			t.Errorf("%s: %s\nexpected %s", c.name, got, c.want)
		}
	}
}
