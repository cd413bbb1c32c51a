//go:build !unix

package generator

import (
	"os"
	"os/exec"
)

func apart(*exec.Cmd) {}

func tell(cmd *exec.Cmd, force bool) {
	if force {
		_ = cmd.Process.Kill()
	}
}

func descriptorFile(fd int, name string) (*os.File, error) { return os.NewFile(uintptr(fd), name), nil }
