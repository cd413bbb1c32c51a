package fusion_test

import (
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/fusion"
)

// horizontal reads a function of class horizontal.
func horizontal(t *testing.T, body string) *ir.Func {
	t.Helper()
	f := kernel(t, body)
	f.Attrs = f.Attrs.With("kind", ir.Name(string(fusion.Horizontal)))
	return f
}

const updates = `
arg %0 : f32[a=4] in
arg %1 : f32[] in
arg %2 : f32[b=6] in
arg %3 : f32[a=4, b=6] in
%4 : f32[a=4] = mul %0, %1
%5 : f32[b=6] = mul %2, %1
%6 : f32[a=4] = add %4, %0
%7 : f32[a=4] = reduce_sum %3 over=(b)
result %6 out
result %5 out
result %7 out`

func TestSections(t *testing.T) {
	k, err := fusion.Analyze(horizontal(t, updates))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range k.Sections {
		got = append(got, string(s.Class)+" over "+axes(s.Space))
	}
	if strings.Join(got, ", ") != "map over a, map over b, row over a b" {
		t.Errorf("sections: %q", got)
	}
	for _, c := range []struct {
		arg, result int
		want        bool
	}{{0, 0, true}, {1, 0, false}, {2, 1, true}, {0, 1, false}, {0, 2, false}, {3, 2, false}} {
		if got := k.InPlace(c.arg, c.result); got != c.want {
			t.Errorf("result %d in the place of argument %d: %v", c.result, c.arg, got)
		}
	}
}

// TestSectionsShare: no result may take the place of what another section reads.
func TestSectionsShare(t *testing.T) {
	k, err := fusion.Analyze(horizontal(t, `
arg %0 : f32[a=4] in
arg %1 : f32[a=4] in
%2 : f32[a=4] = neg %0
%3 : f32[a=4] = add %0, %1
result %2 out
result %3 out`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arg, result int
		want        bool
	}{{0, 0, false}, {0, 1, false}, {1, 1, true}, {1, 0, false}} {
		if got := k.InPlace(c.arg, c.result); got != c.want {
			t.Errorf("result %d in the place of argument %d: %v", c.result, c.arg, got)
		}
	}
}

func TestSectionsRefused(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"arg %0 : f32[a=4] in\n%1 : f32[a=4] = neg %0\nresult %1 out", "1 sections"},
		{"arg %0 : f32[a=4] in\narg %1 : f32[a=4] in\n%2 : f32[a=4] = neg %0\n%3 : f32[a=4] = exp %0\nresult %2 out\nresult %3 out", "no section reads argument 1"},
		{"arg %0 : f32[a=4] in\n%1 : f32[a=4] = neg %0\n%2 : f32[a=4] = exp %0\nresult %1 out", "section 1: no result"},
		{"arg %0 : f32[a=4] in\n%1 : f32[a=4] = neg %0\n%2 : f32[a=4] = exp %0\nresult %1 out\nresult %2 out\nresult %0 out", "result 2"},
		{"arg %0 : f32[a=4] in\narg %1 : f32[b=3] in\n%2 : f32[a=4] = neg %0\n%3 : f32[a=4] = exp %0\n%4 : f32[a=4, b=3] = mul %3, %1\nresult %2 out\nresult %3 out\nresult %4 out", "section 1: results"},
	} {
		if _, err := fusion.Analyze(horizontal(t, c.body)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q, of\n%s", err, c.want, c.body)
		}
	}
}
