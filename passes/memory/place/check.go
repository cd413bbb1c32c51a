package place

import "fmt"

// Check reports whether two buffers that are in use at the same time overlap. It
// compares every pair, and shares no code with [Place].
func Check(bufs []Buffer, offsets []int64) error {
	if len(offsets) != len(bufs) {
		return fmt.Errorf("%d offsets for %d buffers", len(offsets), len(bufs))
	}
	for i, a := range bufs {
		if offsets[i] < 0 {
			return fmt.Errorf("buffer %d is at %d", i, offsets[i])
		}
		for j, b := range bufs[:i] {
			if a.Lo < b.Hi && b.Lo < a.Hi && offsets[i] < offsets[j]+b.Size && offsets[j] < offsets[i]+a.Size {
				return fmt.Errorf("buffers %d and %d overlap, at %d and %d", j, i, offsets[j], offsets[i])
			}
		}
	}
	return nil
}
