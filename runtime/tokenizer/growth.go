package tokenizer

import (
	"encoding/json"
	"fmt"

	"ptc/internal/units"
)

// Limits of what the rules of a stranger's file make of a text.
const (
	// MaxGrowth is how many times its size a text may have while it is normalized and cut, besides spare bytes.
	// Of the rules in use the decompositions of Unicode grow most, 18 times.
	MaxGrowth = 64
	spare     = 1 << 20
	// mostGrown bounds what is long already: a text beyond it may still have four times its size.
	mostGrown = 1 << 30

	// mostToken is what a token may become when it is decoded; what is longer already does not grow.
	mostToken = 64 << 10

	// maxDepth is how deep components may be in one another, and all else of the file.
	maxDepth = 64
)

// mostOf is what a text of n bytes may become.
func mostOf(n int) int { return max(min(MaxGrowth*n+spare, mostGrown), 4*n) }

// grown says that a text has become too long.
func grown(step string, most int) error {
	return fmt.Errorf("%s of the tokenizer expands a text to more than %s, but %d times its size is the limit: check the tokenizer file", step, units.Bytes(int64(most)), MaxGrowth)
}

// normalizer changes a text, which then has at most most bytes.
type normalizer func(s string, most int) (string, error)

// normal makes a normalizer of a function by which a text grows by a small factor.
func normal(f func(string) string) normalizer {
	return func(s string, most int) (string, error) {
		if s = f(s); len(s) > most {
			return "", grown("a normalizer", most)
		}
		return s, nil
	}
}

// lengths is the size of all texts.
func lengths(in []split) (n int) {
	for _, s := range in {
		n += len(s.text)
	}
	return n
}

// checkDepth refuses JSON whose values are too deep in one another: each component is read with what is in it,
// so that a file of a megabyte would take gigabytes.
func checkDepth(raw json.RawMessage) error {
	depth, text := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("its values are nested more than %d deep, the limit for a tokenizer.json", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
