package syntax

import (
	"testing"
)

// TestMended: a declaration without the lines at fault, whatever is wrong with them.
func TestMended(t *testing.T) {
	for src, stmts := range map[string]int{
		"fn f(x) {\n  a = 1\n  b = dot(x,\n  c = 2\n  return a\n}\n": 3,
		"fn f(x) {\n  a = 1\n  b = \n  return a\n}\n":                2,
		"fn f(x) {\n  a = 1\n  x.\n  return a\n}\n":                  2,
		"fn f(x) {\n  a = 1 +\n}\n":                                  0,
		"fn f(x) {\n  a = $\n  return a\n}\n":                        1,
	} {
		f, errs := ParsePart("a.ptl", []byte(src+"config { n = 1 }\n"))
		if len(errs) == 0 || f == nil || len(f.Decls) != 2 {
			t.Errorf("%q: %v, %v", src, f, errs)
			continue
		}
		if n := len(f.Decls[0].(*Fn).Body.Stmts); n != stmts {
			t.Errorf("%q: %d statements are left, want %d", src, n, stmts)
		}
		if whole, _ := Parse("a.ptl", []byte(src)); whole != nil {
			t.Errorf("%q: Parse takes a part", src)
		}
	}
}

// FuzzParsePart: a part of any text, whose nodes are within it; and tokens that are where
// they say, in order.
func FuzzParsePart(f *testing.F) {
	f.Add([]byte("fn f(x) {\n  a = dot(x,\n  return a\n}\nmodel M { p : B[2]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		part, errs := ParsePart("a.ptl", src)
		if part == nil && len(errs) == 0 {
			t.Fatal("neither a file nor a mistake")
		}
		if part != nil {
			Inspect(part, func(n Node) bool {
				if at := n.Extent(); at.Pos.Offset < 0 || at.EndPos.Offset > len(src) || at.Pos.Offset > at.EndPos.Offset {
					t.Fatalf("%T from %d to %d of %d", n, at.Pos.Offset, at.EndPos.Offset, len(src))
				}
				return true
			})
		}
		last := 0
		for _, k := range Tokens(src) {
			if k.Pos.Offset < last || string(src[k.Pos.Offset:k.End()]) != k.Text {
				t.Fatalf("%q at %d, after %d", k.Text, k.Pos.Offset, last)
			}
			last = k.End()
		}
	})
}
