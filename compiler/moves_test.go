package compiler

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/passes/decode"
)

// randomMoves are lines of a model that move values along positions, back, forth, or both.
func randomMoves(r *rand.Rand) string {
	by := func() int { return 1 + r.Intn(3) }
	pick := func(of ...string) string { return of[r.Intn(len(of))] }
	shift := func(x, axis string) string {
		k := by()
		return pick(
			fmt.Sprintf("concat(0 * %[1]s[%[2]s = 0..%[3]d], %[1]s[%[2]s = 0..%[4]d], over = %[2]s)", x, axis, k, 8-k),
			fmt.Sprintf("concat(%[1]s[%[2]s = %[3]d..8], 0 * %[1]s[%[2]s = 0..%[3]d], over = %[2]s)", x, axis, k),
			fmt.Sprintf("concat(%[1]s[%[2]s = 0..%[3]d], %[1]s[%[2]s = 0..%[4]d], over = %[2]s)", x, axis, k, 8-k),
		)
	}
	at := func() string {
		return pick("index(seq) - 1", "max(index(seq) - 2, 0)", "min(index(seq), 3)", "7 - index(seq)", "min(index(seq) + 1, index(seq))",
			"index(seq) + 1", "max(index(seq) - 3, 1)", "where(index(seq) > 2, index(seq) - 3, index(seq))")
	}
	mask := func() string {
		return fmt.Sprintf("index(seq) %s %d %s index(kseq)", pick("+", "-"), r.Intn(2)*r.Intn(3), pick(">", ">=", ">=", ">="))
	}
	attention := func() string {
		s := pick("s", "s", shift("s", "seq"), shift("s", "kseq"))
		return fmt.Sprintf("    q = dot(x, wq, over = embed)\n    s = dot(q, k, over = head)\n    s = %s\n    p = where(%s, tanh(s), 0)\n    x = x + dot(dot(p, v, over = kseq), wo, over = (heads, head))\n", s, mask())
	}
	var b strings.Builder
	b.WriteString("p = where(" + causal + ", s, 0)\n")
	for n := 1 + r.Intn(2); n > 0; n-- {
		switch r.Intn(7) {
		case 0, 1:
			fmt.Fprintf(&b, "    x = x + tanh(%s)\n", shift("x", "seq"))
		case 2:
			fmt.Fprintf(&b, "    y = %s\n    x = x + %s\n", shift("x", "seq"), shift("y", "seq"))
		case 3:
			fmt.Fprintf(&b, "    x = x + x.rename(seq = kseq)[kseq = %s]\n", at())
		case 4:
			b.WriteString(attention())
		case 5:
			c := pick("concat(0 * c[chunk = 0..1], c[chunk = 0..3], over = chunk)", "concat(c[chunk = 1..4], 0 * c[chunk = 0..1], over = chunk)",
				"concat(0 * c[inner = 0..1], c[inner = 0..1], over = inner)", "broadcast(sum(c.rename(inner = other), over = other), as = c)")
			fmt.Fprintf(&b, "    c = x.split(seq = (chunk, inner))\n    c = %s\n    x = x + c.merge(seq = (chunk, inner))\n", c)
		case 6:
			fmt.Fprintf(&b, "    x = x + cumsum(%s, over = seq)\n", pick("x", shift("x", "seq")))
		}
	}
	return b.String()
}

// Of models that move values at random, those that are derived give what all positions
// give, one by one, by blocks, and with sequences apart: what looks ahead is not among
// them. Others are refused by what they are.
func TestRandomMoves(t *testing.T) {
	met := map[string]int{}
	for seed := range int64(300) {
		lines := randomMoves(rand.New(rand.NewSource(seed)))
		m := sampled(t, "m.ptl", attends(lines))
		d, err := decode.Derive(m.Funcs[0])
		if err != nil {
			var list diag.List
			if e := new(diag.Error); errors.As(err, &e) {
				list = diag.List{e}
			}
			if len(list) == 0 || list[0].Code != "E0721" && list[0].Code != "E0722" {
				t.Fatalf("seed %d: %v\n%s", seed, err, lines)
			}
			met[list[0].Code]++
			continue
		}
		met["derived"]++
		if diff := apart(t, m, d.Func, 16); !(diff <= 1e-12) {
			t.Fatalf("seed %d: logits differ by %.2g\n%s", seed, diff, lines)
		}
		f, err := d.Block(3)
		if err != nil {
			met["no block"]++
			continue
		}
		if diff := prefilled(t, newText(t, m, d, 16), f, 3, 5); !(diff <= 1e-11) {
			t.Fatalf("seed %d: by blocks it differs by %.2g\n%s", seed, diff, lines)
		}
	}
	t.Log(met)
	if met["derived"] < 60 || met["E0721"] < 60 {
		t.Errorf("of 300 models there are %v", met)
	}
}
