package eval_test

import (
	"testing"

	"ptc/ir/op"
	_ "ptc/lang/builtin" // defines the functions
	"ptc/lang/eval"
)

// The language has every word that a row of ir/op says it has.
func TestWordsOfOperations(t *testing.T) {
	syntax := map[string]string{"-": op.Neg, "not": op.Not, "[]": op.Gather}
	for _, d := range op.All() {
		if _, other := syntax[d.Word]; d.Word != "" && !eval.HasWord(d.Word) && !other {
			t.Errorf("%s: the language has no %q", d.Name, d.Word)
		}
	}
}
