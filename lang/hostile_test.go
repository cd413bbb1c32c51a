package lang_test

import (
	"strings"
	"testing"
	"time"

	"ptc/internal/diag"
	"ptc/lang"
)

// Programs that would take forever, or all memory, end with an error soon.
func TestHostilePrograms(t *testing.T) {
	const train = "\ntrain M { loss = M(x)  optimizer = optim.SGD(lr = 1)  data = source(\"synthetic\", x = f32[batch = 4]) }\n"
	double := strings.Repeat("t = (t, t)\n", 60)
	for name, c := range map[string]struct{ src, code string }{
		"calls that branch":       {"fn f(x) { return f(x) + f(x) }\nmodel M { param w : f32 ~ zeros  fn apply(x) { return f(w) } }", "E0218"},
		"calls without end":       {"fn f(n) { return f(n + 1) if n < 100000 else n }\nmodel M { param w : f32 ~ zeros  fn apply(x) { return w * f(0) } }", "E0218"},
		"modules in modules":      {"module C { }\nmodule B { c : C[10000] }\nmodule A { b : B[10000] }\nmodel M { a : A[10000]  param w : f32 ~ zeros  fn apply(x) { return w } }", "E0218"},
		"parameters":              {"module B { param w : f32 ~ zeros }\nmodule A { b : B[10000] }\nmodel M { a : A[10000]  param w : f32 ~ zeros  fn apply(x) { return w } }", "E0218"},
		"tuples of tuples":        {"model M { param w : f32 ~ zeros  fn apply(x) {\nt = (batch, batch)\n" + double + "return sum(x, over = t) } }", "E0203"},
		"loops in loops":          {"model M { param w : f32 ~ zeros  fn apply(x) {\nt = (" + strings.Repeat("1, ", 500) + ")\nfor a in t { for b in t { for c in t { for d in t { } } } }\nreturn w } }", "E0218"},
		"operations":              {"model M { param w : f32 ~ zeros  fn apply(x) {\nt = (" + strings.Repeat("1, ", 500) + ")\nfor a in t { for b in t { for c in t { w = w + 1 } } }\nreturn w } }", "E0218"},
		"axes":                    {"model M { param w : f32 ~ zeros  fn apply(x) {\n" + axes(40) + "return sum(w) } }", "E0216"},
		"powers":                  {"config { a = 2 ** 5000  b = a - a }\nmodel M { param w : [n = b] ~ zeros  fn apply(x) { return w } }", "E0216"},
		"patterns":                {"model M { param w : f32 ~ zeros  fn apply(x) { return w } }\nlayout l { mesh dp = 2\nreplicate " + strings.Repeat("**.", 200) + "u over dp }", "E0412"},
		"a mesh that overflows":   {"model M { param w : f32 ~ zeros  fn apply(x) { return w + sum(x) } }\nlayout l { mesh dp = 16777216\n" + strings.Repeat("shard batch over dp\n", 10) + "pipeline w over dp { microbatches = 2 } }", "E0404"},
		"strings that double":     {"config { s = \"aaaaaaaaaaaaaaaa\" " + doubled(40) + " }\nmodel M { param w : f32 ~ zeros  fn apply(x) { return w } }", "E0218"},
		"config that refers back": {"config { a = b  b = c  c = a }\nmodel M { param w : f32 ~ zeros  fn apply(x) { return w } }", "E0213"},
	} {
		start := time.Now()
		p, errs := lang.Load("main.ptl", []byte("import std.optim\n"+c.src+train), nil)
		if len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
			continue
		}
		_, errs = p.Lower(lang.Options{})
		found := false
		for _, e := range errs {
			found = found || e.Code == c.code
		}
		if !found {
			t.Errorf("%s: no %s in\n%s", name, c.code, diag.Plain.Render(errs, p.Source))
		}
		if d := time.Since(start); d > 3*time.Minute { // without a limit, all of them take hours
			t.Errorf("%s: took %v", name, d)
		}
	}
}

// axes makes a tensor of n axes by outer products.
func axes(n int) string {
	var b strings.Builder
	for i := range n {
		a := "a" + strings.Repeat("i", i)
		b.WriteString("w = outer(w, cast(index(x.rename(batch = " + a + "), " + a + "), f32))\n")
	}
	return b.String()
}

// doubled are config entries that are each the one before, twice.
func doubled(n int) string {
	var b strings.Builder
	last := "s"
	for range n {
		b.WriteString(" " + last + "s = " + last + " + " + last)
		last += "s"
	}
	return b.String()
}
