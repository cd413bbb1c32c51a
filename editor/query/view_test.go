package query

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"ptc/editor/protocol"
	"ptc/editor/text"
)

// TestNearestPastWideCharacters: where characters of several bytes were typed since, the nearest place that was
// analyzed is before them.
func TestNearestPastWideCharacters(t *testing.T) {
	const src = "\n\nconfig { a = 4 }\n"
	v := viewOf(&txtar.Archive{}, "a.ptl", src)
	v.Now = text.New(strings.Replace(src, "a =", "a öö\U0001F600ö =", 1))
	first, last := strings.Index(src, "\nconfig"), strings.Index(src, "=")
	if at := v.nearest(protocol.Position{Line: 2, Character: 15}); at < first || at > last {
		t.Errorf("offset %d; expected one from the end of the line before, %d, to what was typed, %d", at, first, last)
	}
}
