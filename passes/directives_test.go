package passes_test

import (
	"testing"

	"ptc/ir/layout"
	"ptc/passes"
)

// Every directive has a pass that acts on it, and the passes that a row names are
// in the table.
func TestDirectivesHavePasses(t *testing.T) {
	for _, r := range layout.Table {
		if len(r.Passes) == 0 {
			t.Errorf("no pass acts on `%s`", r.Word)
		}
		for _, p := range r.Passes {
			if passes.Index(p) < 0 {
				t.Errorf("`%s`: there is no pass `%s`", r.Word, p)
			}
		}
	}
}
