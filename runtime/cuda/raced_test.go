//go:build race

package cuda

// raced says that the code is instrumented for the race detector, which makes
// steps allocate that otherwise do not.
const raced = true
