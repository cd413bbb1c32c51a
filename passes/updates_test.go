package passes

import (
	"testing"

	"ptc/passes/check"
	"ptc/passes/pass"
)

// A new state may be the old value of a parameter or of another state, of each block too.
func TestOldValuesAsNewOnes(t *testing.T) {
	const head = "ptir 1 global \"m\"\n\nfunc @step class=entry\n  arg %0 : f32[a=64, b=16] param \"w\" init=zeros()\n  arg %1 : f32[a=64, b=16] state \"w/m\" init=zeros()\n  arg %9 : f32[a=64, b=16] state \"w/v\" init=ones()\n  %2 : f32[a=64, b=16] = add %0, %9\n"
	for _, results := range []string{
		"  result %2 param \"w\"\n  result %0 state \"w/m\"\n",
		"  result %2 param \"w\"\n  result %9 state \"w/m\"\n  result %1 state \"w/v\"\n",
		"  result %1 param \"w\"\n  result %9 state \"w/m\"\n  result %0 state \"w/v\"\n",
		"  result %2 param \"w\"\n  result %0 state \"w/m\"\n  result %0 state \"w/v\"\n",
	} {
		for _, text := range []string{head + results + "end\n", repeatedly(head+results+"end\n", 6)} {
			k := check.New(1)
			if err := Run(&pass.Context{}, parse(t, text), &Options{VerifyEach: true, Hooks: []Hook{k.Hook}}); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
			for _, r := range k.Report.Rows {
				if !r.OK {
					t.Errorf("%s: %s by %.3g\n%s", r.Pass, r.Worst, r.Diff, text)
				}
			}
		}
	}
}
