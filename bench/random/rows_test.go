package random

import (
	"fmt"
	"regexp"
	"strings"
)

// related are losses of rows of the batch that belong together, by kind: of r, a number for
// each row, or of y. A pipeline may take rows of one microbatch, and refuse others.
var related = map[string]string{
	// Pairs of preferences, one after the other.
	"pairs": `r = r.split(batch = (pairs, two))
  return mean((r[two = 0] - r[two = 1]) ** 2)`,
	// Groups whose rows are compared with their mean: Shao et al., "GRPO" (2024).
	"groups": `g = r.split(batch = (pairs, two))
  return mean(((g - mean(g, over = two)).merge(batch = (pairs, two)) * r) ** 2)`,
	// All tokens in a row.
	"rows": `z = %[1]s.merge(rows = (batch, %[2]s))
  return mean(z * z * cast(index(z, rows), f32)) / size(z, rows)`,
	"halves": `n = size(r, batch) / 2
  return mean((r[batch = 0..n] - r[batch = n..2 * n]) ** 2)`,
	"joined": `z = concat(r, 2 * r, over = batch)
  return mean(z * z * cast(index(z, batch) + 1, f32))`,
	"sums": `z = cumsum(r, over = batch)
  return mean(z * z)`,
	// Each row with every other one.
	"contrast": `z = outer(r, r.rename(batch = other))
  return mean(logsumexp(z, over = other))`,
	"next": `z = r.rename(batch = other)[other = (index(r, batch) + 1) %% size(r, batch)]
  return mean(r * z)`,
}

// relate draws whether and how the loss relates rows of the batch, with dice of its own.
func (m *model) relate(d *dice) {
	if !d.chance(0.2) {
		return
	}
	m.rows = d.one("pairs", "pairs", "pairs", "groups", "groups", "rows", "rows", "halves", "joined", "sums", "contrast", "next")
}

// mayRefuse reports whether a layout of the case may be refused because its loss relates
// rows of several microbatches: it has some, and its loss relates rows.
func (c *Case) mayRefuse(why string) bool {
	return strings.Contains(why, "E0609") && c.m.rows != "" && microbatches.MatchString(c.Source())
}

var microbatches = regexp.MustCompile(`(microbatches|accumulate) = ([2-9]|[1-9][0-9])`)

// relatedText is the function of [related] that the loss adds.
func (m *model) relatedText() string {
	if m.rows == "" {
		return ""
	}
	z, inner, over := "mean(y, over = vocab)", "seq", "(seq, vocab)"
	switch {
	case m.numbers:
		z, inner, over = "y", "outputs", "outputs"
	case m.pool != "":
		z, inner, over = "y", "vocab", "vocab"
	}
	body := fmt.Sprintf(related[m.rows]+"%.0[1]s%.0[2]s", z, inner)
	return fmt.Sprintf("fn related(y) {\n  r = mean(y, over = %s)\n  %s\n}\n\n", over, body)
}
