//go:build unix

package generator

import (
	"os"
	"os/exec"
	"syscall"
)

// apart gives a program a process group of its own: a terminal's Ctrl-C is the run's, which ends the
// program itself, and with it what it has started.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// tell asks a program and what it has started to end, or ends them.
func tell(cmd *exec.Cmd, force bool) {
	sig := syscall.SIGTERM
	if force {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-cmd.Process.Pid, sig)
}

// descriptorFile is a copy of a descriptor, one that a reader can be woken from.
func descriptorFile(fd int, name string) (*os.File, error) {
	again, err := syscall.Dup(fd)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(again)
	_ = syscall.SetNonblock(again, true)
	return os.NewFile(uintptr(again), name), nil
}
