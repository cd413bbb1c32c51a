package compiler_test

import (
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/passes/check"
)

const (
	sinkFields    = headFields + "\n  param sink : [heads] ~ normal(std = 1.0)"
	groupedFields = `  param wq : [embed, heads, head] ~ normal(std = 0.5)
  param wk, wv : [embed, kv, head] ~ normal(std = 0.5)
  param wo : [heads, head, embed] ~ normal(std = 0.5)
  param sink : [heads] ~ normal(std = 1.0)`
	groupedValues = `    q = nn.rope(dot(x, wq, over = embed)).split(heads = (kv, group))
    k = nn.rope(dot(x, wk, over = embed)).rename(seq = kseq)
    v = dot(x, wv, over = embed).rename(seq = kseq)
    s = dot(q, k, over = head) / sqrt(head)
    see = index(s, seq) >= index(s, kseq)
    t = sink.split(heads = (kv, group))
`
	groupedResult = "\n    return dot(dot(p, v, over = kseq).merge(heads = (kv, group)), wo, over = (heads, head))"
)

// Sinks are terms of the softmax's sum that no key has.
func init() {
	kinds = append(kinds,
		kind{"sinks", sinkFields, headValues + `    s = where(see, s, -inf)
    top = stop_gradient(max(max(s, over = kseq), sink))
    e = exp(s - top)
    p = e / (sum(e, over = kseq) + exp(sink - top))` + headResult},
		kind{"sinks, grouped, window", groupedFields, groupedValues + `    s = where(see and index(s, seq) < index(s, kseq) + 3, s, -inf)
    top = max(max(s, over = kseq), t)
    e = exp(s - top)
    p = e / (exp(t - top) + sum(e, over = kseq))` + groupedResult},
		kind{"sinks, grouped, as a column, documents", groupedFields, groupedValues + `    s = where(see and docs == docs.rename(seq = kseq), s, -inf)
    all = concat(s, broadcast(t, as = s[kseq = 0..1]), over = kseq)
    p = softmax(all - max(all, over = kseq), over = kseq)[kseq = 0..seq]` + groupedResult},
		kind{"sinks, dropout", sinkFields + "\n  drop : nn.Dropout(0.25)", headValues + `    s = where(see, s, -inf)
    p = drop(softmax(concat(broadcast(sink, as = s[kseq = 0..1]), s, over = kseq), over = kseq)[kseq = 1..seq + 1])` + headResult},
		kind{"one more than the sum", headFields, headValues + `    s = where(see, s, -inf)
    top = stop_gradient(max(max(s, over = kseq), 0))
    e = exp(s - top)
    p = e / (exp(-top) + sum(e, over = kseq))` + headResult},
		kind{"sinks by the logarithm of the sum", sinkFields, headValues + `    s = where(see, s, -inf)
    top = max(max(s, over = kseq), sink)
    p = exp(s - (top + log(exp(sink - top) + sum(exp(s - top), over = kseq))))` + headResult},
		kind{"sinks as a gate", sinkFields, headValues + `    s = where(see, s, -inf)
    top = stop_gradient(max(s, over = kseq))
    e = exp(s - top)
    l = sum(e, over = kseq)
    y = dot(e / l, v, over = kseq) * sigmoid(top + log(l) - sink)
    return dot(y, wo, over = (heads, head))`},
		kind{"no maximum", headFields, headValues + "    e = exp(where(see, s, -inf))\n    p = e / sum(e, over = kseq)" + headResult},
		kind{"a maximum with a gradient", headFields, headValues + `    s = where(see, s, -inf)
    e = exp(s - max(s, over = kseq))
    p = e / sum(e, over = kseq)` + headResult},
	)
}

// In every ring and precision a sink counts once, and every step is a kernel.
func TestSinksCountOnce(t *testing.T) {
	var k kind
	for _, x := range kinds {
		if x.name == "sinks, grouped, window" {
			k = x
		}
	}
	for i, l := range ringLayouts {
		d := ringPrecisions[i%4]
		t.Run(l.name+", "+d.name, func(t *testing.T) {
			rules := strings.Replace(l.rules, "HEADS", k.heads(), 1) + "\n" + d.rule
			source := strings.Replace(attentionSource(k.fields, k.body, rules), "seq    = 8", "seq    = 16", 1)
			text, r := fusedPlan(t, compiler.Options{Source: []byte(source), Target: "ref"})
			if got := pairs(text); len(got) > 0 {
				t.Errorf("%d values over queries and keys: %s", len(got), got[0])
			}
			for _, w := range r.Warnings {
				if strings.Contains(w, "attention") || strings.Contains(w, "keys and values") {
					t.Error(w)
				}
			}
			sameAsOneDevice(t, source)
		})
	}
}

// sameAsOneDevice checks that no pass changes results.
func sameAsOneDevice(t *testing.T, source string) {
	t.Helper()
	report, _, err := compiler.Check(compiler.Options{File: "m.ptl", Source: []byte(source), Layout: "l", Target: "ref"})
	if err != nil {
		t.Fatal(err)
	}
	nothingChanges(t, report)
}

// nothingChanges holds a report to results that no pass changes, and to gradients all of which are
// compared.
func nothingChanges(t *testing.T, report *check.Report) {
	t.Helper()
	for _, x := range report.Rows {
		if !x.OK {
			t.Errorf("%s changes results: %s by %.3g, tolerance %.3g", x.Pass, x.Worst, x.Diff, x.Tol)
		}
	}
	if len(report.Zero) > 0 {
		t.Errorf("gradients are not checked, as they are zero: %v", report.Zero)
	}
}

// An attention that is not one kernel warns, with a ring and without, and says why.
func TestAttentionThatIsNoKernelWarns(t *testing.T) {
	for _, k := range []struct{ name, fields, body, why string }{
		{"a learned bias", headFields + "\n  param slope : [heads] ~ normal(std = 0.5)",
			headValues + "    p = softmax(where(see, s - outer(cast(index(s, kseq), f32), slope), -inf), over = kseq)" + headResult, "scores are read by"},
		{"exponentials that are read", headFields, headValues + `    e = exp(where(see, s, -inf))
    p = e / (sum(e, over = kseq) + 1e-3 * sum(e * e, over = kseq))` + headResult, "its softmax does not have the form exp(s - max(s)) / sum(exp(s - max(s)))"},
		{"a column that is read", sinkFields, headValues + `    s = where(see, s, -inf)
    all = softmax(concat(s, broadcast(sink, as = s[kseq = 0..1]), over = kseq), over = kseq)
    p = all[kseq = 0..seq] * sum(all[kseq = seq..seq + 1], over = kseq)` + headResult, "its scores go through `concat`"},
	} {
		for _, rules := range []string{"", "  mesh cp = 2\n  shard seq over cp", "  precision { compute = bf16 }"} {
			t.Run(k.name+rules, func(t *testing.T) {
				_, r := fusedPlan(t, compiler.Options{Source: []byte(attentionSource(k.fields, k.body, rules)), Target: "ref"})
				warned := strings.Join(r.Warnings, "\n")
				if !strings.Contains(warned, "attention takes several kernels and stores its scores: "+k.why) {
					t.Errorf("the warnings are %q, want %q", r.Warnings, k.why)
				}
				if n := strings.Count(warned, "takes several kernels"); n > 1 {
					t.Errorf("%d warnings of one attention: %s", n, warned)
				}
			})
		}
	}
}
