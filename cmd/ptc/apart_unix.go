//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// apart keeps the signals of a terminal from a process: whoever starts it passes them on,
// once.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
