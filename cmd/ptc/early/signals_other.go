//go:build !unix

package early

import (
	"os"
	"syscall"
)

// Signals ask a process to end.
func Signals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }
