//go:build !(linux && arm64)

package native

// x86-64 keeps instruction fetch coherent with stores (Intel SDM volume 3,
// section 13.6), and no other system maps code.

func syncInstructions([]byte) {}

func serializeCores() error { return nil }
