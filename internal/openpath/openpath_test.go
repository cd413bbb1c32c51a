package openpath_test

import (
	"testing"

	"ptc/internal/openpath"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		path, first, fourth string
		open                bool
	}{
		{"blocks.{i}.w", "blocks.0.w", "blocks.3.w", true},
		{"blocks." + openpath.Open(1, 3), "blocks.3", "blocks.6", true},
		{"blocks." + openpath.Open(2, 1) + ".w/m", "blocks.1.w/m", "blocks.7.w/m", true},
		{"{i}", "0", "3", true},
		{"blocks.3.w", "blocks.3.w", "blocks.3.w", false},
		{"a.{j}", "a.{j}", "a.{j}", false},
		{"a.{0i}", "a.{0i}", "a.{0i}", false},
		{"a.{i-1}", "a.{i-1}", "a.{i-1}", false},
		{"a.{i", "a.{i", "a.{i", false},
		{"", "", "", false},
	} {
		_, open := openpath.Parse(c.path)
		if a, b := openpath.Of(c.path, 0), openpath.Of(c.path, 3); a != c.first || b != c.fourth || open != c.open {
			t.Errorf("%q is %q, %q, open: %v", c.path, a, b, open)
		}
	}
}
