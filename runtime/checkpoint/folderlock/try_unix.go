//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package folderlock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try locks an open file, or says at once that another process has it. Of the
// two kinds of advisory locks this is the one of an open file: two stores of one
// process exclude each other as well. Linux carries it over NFS.
func Try(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errHeld
		}
		return err
	}
}
