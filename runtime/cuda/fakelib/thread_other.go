//go:build !linux

package fakecuda

// thread is the same for all, where the system has no numbers for them.
func thread() int { return 0 }
