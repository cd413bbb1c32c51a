package main

import (
	"strings"
	"testing"
)

// TestVerifying: a verification says how far it is when that is due, and nothing where nobody looks.
func TestVerifying(t *testing.T) {
	var out strings.Builder
	due := false
	progress := progressOf(&out, func() bool { return due })
	progress(1, 3)
	due = true
	progress(2, 3)
	if got := out.String(); got != "2 of 3 layouts compiled\n" {
		t.Errorf("%q", got)
	}
	if a := (&app{err: &out}); a.verifying() != nil || a.searching() != nil {
		t.Error("progress for nobody")
	}
}
