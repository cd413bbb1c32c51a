package hfclass

import "strings"

// RowsIn is whether the matrices of a family have the elements that their product sums along their rows: the layers of
// GPT-2 are of the class Conv1D, where others are of torch's Linear.
func RowsIn(family string) bool { return family == "gpt2" }

// Embedding is whether a module, by its name, is looked up by numbers of tokens or positions.
func Embedding(module string) bool {
	switch module[strings.LastIndex(module, ".")+1:] {
	case "embed_tokens", "wte", "wpe":
		return true
	}
	return false
}
