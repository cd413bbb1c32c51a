package main

import (
	"fmt"
	"strings"
	"time"
)

// bytesText is a size with a binary prefix and three digits.
func bytesText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if v /= 1024; v < 999.5 {
			break
		}
	}
	return fmt.Sprintf("%s %s", digits(v), unit)
}

// countText is a number with a decimal prefix, three digits, and what is
// counted, if that is said: "220 MFLOP", "853k".
func countText(n int64, what string) string {
	v, unit := float64(n), ""
	text := fmt.Sprint(n)
	if n >= 1000 {
		for _, unit = range []string{"k", "M", "G", "T", "P"} {
			if v /= 1000; v < 999.5 {
				break
			}
		}
		text = digits(v)
	}
	if what != "" {
		text += " "
	}
	return text + unit + what
}

// digits writes 1 to 999 with three digits.
func digits(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func durationText(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f us", float64(d)/float64(time.Microsecond))
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// plural is "1 launch" or "2 launches".
func plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "ch"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
