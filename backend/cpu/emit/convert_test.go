package emit

import (
	"testing"

	"ptc/backend/kernel/kerneltest"
)

// Every element that is not in a register as it is in memory has its conversions.
func TestEveryElementIsConverted(t *testing.T) {
	for _, e := range kerneltest.Memory() {
		c, ok := conversions[e]
		if need := e.Register() != e; need != ok || need && (c.widen == nil || c.narrow == nil) {
			t.Errorf("%s is in registers as %s: conversions %v", e, e.Register(), ok)
		}
		if memType(e) == nil {
			t.Errorf("%s has no type in memory", e)
		}
	}
}
