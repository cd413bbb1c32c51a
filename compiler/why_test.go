package compiler_test

import (
	"strings"
	"testing"

	"ptc/compiler"
)

// TestWhy: passes give reasons for what they left as it was, if they are asked, and the plan is the same.
func TestWhy(t *testing.T) {
	for _, c := range []struct{ layout, pass, want string }{
		{"two", "simplify", "is no power of two"},
		{"two", "context", "no ring: the rule at gpt.ptl:"},
		{"kept", "context", "no ring: no rule shards the positions of `kseq`"},
		{"ring", "context", "the order is contiguous"},
		{"two", "memory", "is not written over operand"},
		{"two", "regroup", "no sum is regrouped: none has two terms"},
		{"kept", "remat", "is kept: "},
		{"two", "propagate", "reshard from f32[batch=4, seq=4@tp, embed=8] to f32[batch=4, seq=4, embed=8]: gpt.ptl:"},
		{"pipe", "propagate", "no, a device would send"},
		{"two", "fuse", "is not fused with"},
		{"two", "overlap", "does not overlap with other work: the next operation reads its result"},
		{"pipe", "overlap", "the bucket of"},
		{"none", "overlap", "the layout overlaps other kinds"},
	} {
		o := tiny(t, c.layout)
		o.Stop, o.Why = "memory", c.pass
		_, r, err := compiler.Compile(o)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, x := range r.Reasons {
			if x.Pass != c.pass {
				t.Errorf("%s of %s: a reason of %s: %s", c.pass, c.layout, x.Pass, x.Text)
			}
			texts = append(texts, x.String())
		}
		if all := strings.Join(texts, "\n"); !strings.Contains(all, c.want) {
			t.Errorf("%s of %s: no reason says %q:\n%s", c.pass, c.layout, c.want, all)
		}
		o.Why = ""
		if _, r, err := compiler.Compile(o); err != nil || len(r.Reasons) > 0 {
			t.Errorf("%s of %s: %d reasons though nobody asks (%v)", c.pass, c.layout, len(r.Reasons), err)
		}
	}
}
