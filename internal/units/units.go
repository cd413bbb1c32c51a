// Package units writes quantities for people: bytes, counts and durations with
// a prefix and three digits, and numbers of things. Numbers go in, text comes
// out, the same on every machine. It imports nothing of ours.
package units

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Bytes is a size with a binary prefix and three digits.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := binary(n)
	return fmt.Sprintf("%s %s", digits(v), unit)
}

// AtLeast is [Bytes] rounded up, so that who provides what it says has n bytes.
func AtLeast(n int64) string {
	if n < 1024 {
		return Bytes(n)
	}
	v, unit := binary(n)
	scale := 1.0
	for v*scale < 99.5 {
		scale *= 10
	}
	return fmt.Sprintf("%s %s", digits(math.Ceil(v*scale)/scale), unit)
}

// binary is a size in the binary unit in which it is below a thousand.
func binary(n int64) (v float64, unit string) {
	v = float64(n)
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		if v /= 1024; v < 999.5 {
			break
		}
	}
	return v, unit
}

// Count is a number with a decimal prefix, three digits, and what is counted,
// if that is said: "220 MFLOP", "853k".
func Count[N int | int64 | float64](n N, what string) string {
	v, unit := float64(n), ""
	text := fmt.Sprint(n)
	if n >= 1000 {
		for _, unit = range []string{"k", "M", "G", "T", "P", "E", "Z", "Y"} {
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

// Duration is a time in the unit that suits it.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f us", float64(d)/float64(time.Microsecond))
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// Plural is "1 launch" or "2 launches".
func Plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "ch"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
