package value

import (
	"slices"
	"strings"

	"ptc/internal/openpath"
)

// MatchPath reports whether a dotted path matches a pattern: * stands for one
// part or a piece of one, ** for any number of parts.
func MatchPath(pattern, p string) bool {
	return openpath.Match(strings.Split(pattern, "."), strings.Split(p, "."))
}

func MatchesAny(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(s string) bool { return MatchPath(s, p) })
}
