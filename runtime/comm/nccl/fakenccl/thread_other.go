//go:build !linux

package fakenccl

// thread is the same for all, where the system has no numbers for them.
func thread() int { return 0 }
