package value

import (
	"fmt"
	"math"
	"strings"
)

func Clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Starred is a path with its numbers as stars.
func Starred(p string) string {
	if p == "" {
		return ""
	}
	parts := strings.Split(p, ".")
	for i, s := range parts {
		if s[0] >= '0' && s[0] <= '9' {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}

// WholeBytes is whether a number of bytes is whole, or so large that a fraction,
// as of 0.1 GiB, does not matter. A smaller one with a fraction lacks its unit.
func WholeBytes(v float64) bool { return v == math.Trunc(v) || v >= 1024 }
