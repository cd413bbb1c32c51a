package exec

import (
	"testing"

	"ptc/runtime/device/fake"
)

// onFake says that the tests run on fake engines, which allocate.
var onFake = fake.FromEnv()

// TestOnFake runs the tests of the package on devices whose memory is not the
// host's, and which run everything at the last moment, or at any that is allowed.
func TestOnFake(t *testing.T) {
	fake.Rerun(t, "TestQuantile|TestConvert|TestInitialMoments|TestUnreachable", fake.Latest, 1, 2)
}
