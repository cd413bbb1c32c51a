//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package checkpoint

import (
	"errors"
	"os"
)

func tryLock(*os.File) error { return errors.ErrUnsupported }
