package syntax

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// A Dimension is what a unit measures.
type Dimension string

// The dimensions. A rate is one of them per [Time].
const (
	Bytes Dimension = "bytes"
	Work  Dimension = "FLOP"
	Time  Dimension = "time"
	Power Dimension = "power"
	Money Dimension = "money"
)

// measure is a word of units: what it measures, and how much of that in bytes, FLOP,
// seconds, watts and US dollars.
type measure struct {
	of     Dimension
	factor float64
}

// measures are the words of the units of a [Measure].
var measures = func() map[string]measure {
	m := map[string]measure{
		"B": {Bytes, 1}, "PB": {Bytes, 1e15}, "PiB": {Bytes, 1 << 50},
		"s": {Time, 1}, "ms": {Time, 1e-3}, "us": {Time, 1e-6}, "ns": {Time, 1e-9}, "min": {Time, 60}, "h": {Time, 3600}, "d": {Time, 86400},
		"W": {Power, 1}, "kW": {Power, 1e3}, "MW": {Power, 1e6},
		"USD": {Money, 1},
	}
	for i, prefix := range []string{"", "k", "M", "G", "T", "P", "E"} {
		factor := 1.0
		for range i {
			factor *= 1000
		}
		m[prefix+"FLOP"] = measure{Work, factor}
	}
	for unit, bytes := range units {
		m[unit] = measure{Bytes, bytes}
	}
	return m
}()

// SI is the number in bytes, FLOP, seconds, watts or US dollars, or in one of these per
// second; of is empty for a number without a unit, and per where there is no `/`.
func (m *Measure) SI() (x float64, of, per Dimension) {
	if m.Unit == nil {
		return m.Number, "", ""
	}
	u := measures[m.Unit.Of]
	if m.Unit.Per == "" {
		return m.Number * u.factor, u.of, ""
	}
	p := measures[m.Unit.Per]
	return m.Number * u.factor / p.factor, u.of, p.of
}

// bits are units of bits, which other tools count links in.
var bits = regexp.MustCompile(`^[kKMGT]?(b|bit|bits|bps)$`)

// flops are units of work as others write them: TFLOPS, TFLOPs, TFlops.
var flops = regexp.MustCompile(`(?i)^([kmgtpe]?)flop(s|/s)?$`)

// unknownMeasure is the error for a word that is no unit.
func unknownMeasure(t lexer.Token) error {
	e := unexpectedAt(t, "unknown unit "+show(t), "a unit such as `TFLOP/s`, `GB/s`, `GiB`, `us`, `W` or `USD/h`")
	if f := flops.FindStringSubmatch(t.Value); f != nil {
		e.Hint = "write `" + strings.ToUpper(f[1]) + "FLOP/s`"
		return e
	}
	if t.Value == "µs" || t.Value == "μs" { // micro sign, mu
		e.Hint = "write `us`"
		return e
	}
	if bits.MatchString(t.Value) {
		e.Hint = "a byte has 8 bits: write `50 GB/s` for 400 Gb/s"
		return e
	}
	e.Hint = diag.DidYouMean(t.Value, slices.Sorted(maps.Keys(measures)))
	return e
}

// apart is the hint for a number and its unit without a space; empty for anything else.
func apart(text string) string {
	unit := strings.TrimLeft(text, "0123456789_.")
	if _, known := measures[unit]; !known || unit == text {
		return ""
	}
	return "put a space between a number and its unit: `" + strings.TrimSuffix(text, unit) + " " + unit + "`"
}
