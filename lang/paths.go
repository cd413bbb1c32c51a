package lang

import (
	"strings"

	"ptc/ir/layout"
)

// matchPath reports whether a dotted path matches a pattern: * stands for one
// part or a piece of one, ** for any number of parts.
func matchPath(pattern, p string) bool {
	return layout.Match(strings.Split(pattern, "."), strings.Split(p, "."))
}

func matchesAny(patterns []string, p string) bool {
	for _, s := range patterns {
		if matchPath(s, p) {
			return true
		}
	}
	return false
}
