package native

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/cpuid/v2"

	"ptc/internal/amx"
)

// TestPermitTiles: where the processor has tile registers and Linux is not too old, it
// gives them, twice as well; elsewhere the error says who refuses, and why.
func TestPermitTiles(t *testing.T) {
	first, again := amx.Permit(), amx.Permit()
	if (first == nil) != (again == nil) {
		t.Errorf("first %v, then %v", first, again)
	}
	if first == nil {
		return
	}
	var errno syscall.Errno
	if !errors.As(first, &errno) || !strings.Contains(first.Error(), "the system does not give this process the tile registers") {
		t.Errorf("error %v", first)
	}
	if err := Supported([]string{"amx-tile"}); err == nil || strings.Contains(err.Error(), "which its processor has") != cpuid.CPU.Supports(cpuid.AMXTILE) {
		t.Errorf("error %v", err)
	}
}
