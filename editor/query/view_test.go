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
	if at, first := v.nearest(protocol.Position{Line: 2, Character: 15}), strings.Index(src, "config"); at < first || at > strings.Index(src, "=") {
		t.Errorf("offset %d; expected one of the line, from %d on, before what was typed", at, first)
	}
}
