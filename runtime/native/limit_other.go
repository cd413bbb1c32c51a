//go:build !linux

package native

// AddressSpace says of no limit here.
func AddressSpace() (limit, used int64, ok bool) { return 0, 0, false }
