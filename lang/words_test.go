package lang

import (
	"testing"

	"ptc/ir/op"
)

// The language has every word that a row of ir/op says it has.
func TestWordsOfOperations(t *testing.T) {
	syntax := map[string]string{"-": op.Neg, "not": op.Not, "[]": op.Gather}
	for _, d := range op.All() {
		_, function := builtins[d.Word]
		_, operator := opNames[d.Word]
		_, other := syntax[d.Word]
		if d.Word != "" && !function && !operator && !other {
			t.Errorf("%s: the language has no %q", d.Name, d.Word)
		}
	}
}
