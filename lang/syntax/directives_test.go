package syntax

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptc/ir/layout"
)

// Every directive of the grammar has a row in the table of layouts, and every row
// a node or, where it is an option, a word.
func TestDirectivesHaveRows(t *testing.T) {
	text, err := os.ReadFile("ast_layout.go")
	if err != nil {
		t.Fatal(err)
	}
	words := slices.Clone(optionWords)
	for _, m := range regexp.MustCompile(`func \(\*(\w+)\) directive\(\)`).FindAllStringSubmatch(string(text), -1) {
		if m[1] != "Entry" {
			words = append(words, strings.ToLower(m[1]))
		}
	}
	slices.Sort(words)
	if want := layout.Words(); !slices.Equal(words, want) {
		t.Errorf("the grammar has %v, the table of layouts %v", words, want)
	}
	for _, r := range layout.Table {
		if got := slices.Contains(optionWords, r.Word); got != (r.Option != nil) || slices.Contains(directiveWords, r.Word) == got {
			t.Errorf("%s: an option %v, a directive %v", r.Word, got, !got)
		}
	}
}
