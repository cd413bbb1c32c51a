package ir

import "fmt"

// Level says what holds in a module; see docs/ir.md.
type Level uint8

const (
	// Global: the mathematics of one device; every axis has its full size.
	Global Level = iota
	// Sharded: the same operations; each axis says over which mesh axes it is
	// sharded and each value over which it is partial. Sizes are global.
	Sharded
	// Local: sizes are those of one device; reshards are explicit collectives.
	Local
	// Fused: calls of kernel functions (fusion regions) only.
	Fused
	// Planned: as Fused, and every buffer has an offset in an arena and every
	// call its place in the final order.
	Planned
)

var levelNames = [...]string{"global", "sharded", "local", "fused", "planned"}

func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// ParseLevel is the inverse of [Level.String].
func ParseLevel(s string) (Level, bool) {
	for i, n := range levelNames {
		if n == s {
			return Level(i), true
		}
	}
	return 0, false
}
