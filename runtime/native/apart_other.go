//go:build !linux

package native

// Where threads are is the system's affair.

func processor() int { return -1 }

func leave([]seat) int { return -1 }
