package ir_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"ptc/ir"
)

const head = "ptir 1 global \"\"\n"

// body wraps lines into a function; the first is line 3.
func body(lines ...string) string {
	return head + "func @f\n" + strings.Join(lines, "\n") + "\nend\n"
}

func TestParseErrors(t *testing.T) {
	deep := "meta a(" + strings.Repeat("a=a(", 40) + strings.Repeat(")", 41)
	for _, c := range []struct {
		name, text string
		want       string // "line:col code, ..." of all diagnostics
	}{
		{"empty", "", "1:1 E0301"},
		{"not IR", "hello", "1:1 E0301"},
		{"version", "ptir 2 global \"\"", "1:6 E0301"},
		{"level", "ptir 1 globl \"\"", "1:8 E0301"},
		{"name", "ptir 1 global x", "1:15 E0302"},
		{"header tail", "ptir 1 global \"x\" y", "1:19 E0302"},
		{"outside", head + "arg %0 : f32[]\nfunc @f\nend", "2:1 E0302"},
		{"unclosed", head + "func @f", "2:8 E0302"},
		{"unclosed before next", head + "func @f\nfunc @g\nend", "3:1 E0302"},
		{"function twice", head + "func @f\nend\nfunc @f\nend", "4:6 E0306"},
		{"mesh twice", head + "mesh a=2, a=2", "2:11 E0306"},
		{"mesh size", head + "mesh a=0", "2:8 E0305"},
		{"mesh too large", head + "mesh a=16777216, b=2", "2:20 E0305"},
		{"meta", head + "meta config", "2:12 E0302"},
		{"nesting", head + deep, "2:134 E0309"},
		{"lists of terms nest", head + "meta a(" + strings.Repeat("a=[a(", 40), "2:86 E0309"},
		{"dtype", body("arg %0 : fp32[]"), "3:10 E0304"},
		{"no type", body("arg %0 : "), "3:10 E0302"},
		{"size 0", body("arg %0 : f32[a=0]"), "3:16 E0305"},
		{"size word", body("arg %0 : f32[a=1x]"), "3:16 E0303"},
		{"size negative", body("arg %0 : f32[a=-1]"), "3:16 E0302"},
		{"size of 30 digits", body("arg %0 : f32[a=" + strings.Repeat("9", 30) + "]"), "3:16 E0305"},
		{"overflow", body("arg %0 : f32[a=4294967296, b=4294967296]"), "3:28 E0305"},
		{"overflow in sizes", body("%0 : f32[] = x axes={a=4294967296, b=4294967296}"), "3:36 E0305"},
		{"rank", body("arg %0 : f32[" + axes(65) + "]"), fmt.Sprintf("3:%d E0305", 14+len(axes(64))+2)},
		{"axis twice", body("arg %0 : f32[a=1, a=2]"), "3:19 E0306"},
		{"reduction", body("arg %0 : f32[] partial(mex tp)"), "3:24 E0302"},
		{"undefined", body("%1 : f32[] = neg %0"), "3:18 E0307"},
		{"reads itself", body("%1 : f32[] = neg %1"), "3:18 E0307"},
		{"unknown function", body("_ = call fn=@g"), "3:10 E0307"},
		{"undefined result", body("result %7 loss"), "3:8 E0307"},
		{"defined twice", body("arg %0 : f32[]", "%0 : f32[] = x"), "4:1 E0308"},
		{"twice on one line", body("%0 : f32[], %0 : f32[] = x"), "3:13 E0308"},
		{"value number", body("arg %99999999999 : f32[]"), "3:5 E0302"},
		{"no number", body("arg % : f32[]"), "3:5 E0302"},
		{"padding of another axis", body("arg %0 : f32[a=2+1, b=3]"), "3:21 E0305"},
		{"padding of nothing", body("arg %0 : f32[a=2+0]"), "3:18 E0305"},
		{"endless padding", body("arg %0 : f32[b=3, a=2+9223372036854775807]"), "3:23 E0305"},
		{"much padding", body("arg %0 : f32[b=1048576, a=2+1099511627776]"), "3:25 E0305"},
		{"attribute twice", body("%0 : f32[] = x a=1 a=2"), "3:23 E0306"},
		{"attribute value", body("%0 : f32[] = x a= // c"), "3:19 E0302"},
		{"integer", body("%0 : f32[] = x a=9223372036854775808"), "3:18 E0303"},
		{"float", body("%0 : f32[] = x a=1e999"), "3:18 E0303"},
		{"string", body(`%0 : f32[] = x a="b`), "3:18 E0303"},
		{"escape", body(`%0 : f32[] = x a="\q"`), "3:18 E0303"},
		{"list", body("%0 : f32[] = x a=[1, 2.5]"), "3:22 E0303"},
		{"sizes twice", body("%0 : f32[] = x a={b=1, b=2}"), "3:24 E0306"},
		{"braces", body("%0 : f32[] = x a={b}"), "3:20 E0302"},
		{"op line", body("add %1, %2"), "3:1 E0302"},
		{"byte", body("\x00"), "3:1 E0302"},
		{"argument after op", body("%0 : f32[] = x", "arg %1 : f32[]"), "4:1 E0302"},
		{"op after result", body("arg %0 : f32[]", "result %0", "%1 : f32[] = x"), "5:1 E0302"},
		{"stack twice", body("stack b count=2", "stack b count=2"), "4:7 E0306"},
		{"stack of none", body("stack b count=0"), "3:7 E0302"},
		{"stack of too many", body("stack b count=1048577"), "3:7 E0302"},
		{"stack after argument", body("arg %0 : f32[]", "stack b count=2"), "4:7 E0302"},
		{"run of no stack", body("for b", "end for"), "3:5 E0307"},
		{"run in a run", body("stack b count=2", "for b", "for b", "end for"), "5:4 E0302"},
		{"run is open", body("stack b count=2", "for b"), "5:4 E0302"},
		{"end of no run", body("end for"), "3:5 E0302"},
		{"each of no stack", body("arg %0 : f32[] each b"), "3:21 E0307"},
		{"several, no cascade", body("arg %0 : fp32[]", "%1 : f32[] = neg %0", "%2 : f32[] = neg %9", "%3 : f32[] = neg %2"), "3:10 E0304, 5:18 E0307"},
	} {
		m, errs := ir.Parse("a.ptir", []byte(c.text))
		var got []string
		for _, e := range errs {
			got = append(got, fmt.Sprintf("%d:%d %s", e.Pos.Line, e.Pos.Col, e.Code))
		}
		if s := strings.Join(got, ", "); s != c.want || m != nil {
			t.Errorf("%s: got %q, want %q (module %v)\n%v", c.name, s, c.want, m != nil, errs)
		}
	}
}

func axes(n int) string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprintf("a%d=1", i)
	}
	return strings.Join(s, ", ")
}

func TestParseErrorText(t *testing.T) {
	for text, want := range map[string]string{
		body("arg %0 : bf61[]"): "a.ptir:3:10: error[E0304]: unknown dtype `bf61`; expected one of bf16, bool, f16, f32, f64, f8e4m3, f8e5m2, i32; did you mean `bf16`?",
		"ptir 1 globl \"\"":     "a.ptir:1:8: error[E0301]: unknown level `globl`; expected one of fused, global, local, planned, sharded; did you mean `global`?",
		body("add %1"):          "a.ptir:3:1: error[E0302]: unexpected `add`; expected `arg`, `result`, `end` or an operation such as %3 : f32[] = add %1, %2",
	} {
		if _, errs := ir.Parse("a.ptir", []byte(text)); errs.Error() != want {
			t.Errorf("got  %s\nwant %s", errs.Error(), want)
		}
	}
}

func TestParseLimits(t *testing.T) {
	if _, errs := ir.Parse("a", bytes.Repeat([]byte("\n"), ir.MaxText+1)); len(errs) != 1 || errs[0].Code != "E0301" {
		t.Errorf("large text: %v", errs)
	}
	if _, errs := ir.Parse("a", []byte(head+strings.Repeat("x\n", 1000))); len(errs) != 50 {
		t.Errorf("%d diagnostics", len(errs))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(body("arg %0 : f32[a=2] in // \"x\":1:2", "%1 : f32[] = reduce_sum %0 over=(a) // b c:1:2", "result %1 out")))
	f.Fuzz(func(t *testing.T, src []byte) {
		m, errs := ir.Parse("fuzz", src)
		if (m == nil) != (len(errs) > 0) {
			t.Fatalf("module %v with %d diagnostics", m != nil, len(errs))
		}
		if m == nil {
			return
		}
		text := ir.Print(m)
		again, errs := ir.Parse("printed", []byte(text))
		if len(errs) > 0 {
			t.Fatalf("printed text does not parse: %v\n%s", errs, text)
		}
		if got := ir.Print(again); got != text {
			t.Fatalf("printed\n%s\nand after parsing\n%s", text, got)
		}
	})
}
