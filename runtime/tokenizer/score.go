package tokenizer

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// readScore reads a number as the reference's JSON library does, which is at
// times one bit off the nearest number: the digits as a whole number, times or by
// a power of ten. Texts with two ways of nearly the same score depend on it.
// github.com/serde-rs/json, src/de.rs, f64_from_parts.
func readScore(raw json.RawMessage, to *float64) bool {
	if json.Unmarshal(raw, to) != nil {
		return false
	}
	text := string(raw)
	rest, negative := strings.CutPrefix(text, "-")
	mantissa, power, _ := strings.Cut(strings.ReplaceAll(rest, "E", "e"), "e")
	whole, fraction, point := strings.Cut(mantissa, ".")
	digits, err := strconv.ParseUint(whole+fraction, 10, 64)
	exponent := 0
	if power != "" {
		if exponent, _ = strconv.Atoi(power); exponent == 0 && strings.Trim(power, "+-0") != "" {
			return true
		}
	}
	exponent -= len(fraction)
	if err != nil || !point || exponent > 0 || exponent < -300 {
		return true
	}
	*to = float64(digits) / math.Pow10(-exponent)
	if negative {
		*to = -*to
	}
	return true
}
