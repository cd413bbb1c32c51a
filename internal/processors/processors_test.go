package processors

import (
	"runtime"
	"testing"
)

// TestKeep checks that there are free places, and that the number of threads stays.
func TestKeep(t *testing.T) {
	before := Count()
	for range 2 {
		Keep()
		if got := runtime.GOMAXPROCS(0); got != before+spare || Count() != before {
			t.Errorf("found GOMAXPROCS %d and Count %d; expected %d and %d", got, Count(), before+spare, before)
		}
	}
}
