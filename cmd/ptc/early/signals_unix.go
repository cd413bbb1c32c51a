//go:build unix

package early

import (
	"os"
	"syscall"
)

// Signals ask a process to end. SIGUSR1 is the one that mpirun passes on to the
// processes of its job, and that batch systems are told to send before they end
// one.
func Signals() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1}
}
