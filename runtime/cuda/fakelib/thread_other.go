//go:build !linux

package fakelib

// Thread is the same for all, where the system has no numbers for them.
func Thread() int { return 0 }
