package train

import (
	"testing"

	"ptc/runtime/device/fake"
)

func init() { fake.FromEnv() }

// TestOnFake runs the tests of the package on devices whose memory is not the
// host's, and which run everything at the last moment, or at any that is allowed.
func TestOnFake(t *testing.T) {
	fake.Rerun(t, "TestStepsDoNotAllocate", fake.Latest, 1, 2)
}
