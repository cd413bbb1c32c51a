//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package folderlock

import (
	"errors"
	"os"
)

// Try says that there are no locks.
func Try(*os.File) error { return errors.ErrUnsupported }
