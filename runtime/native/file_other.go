//go:build !linux

package native

import (
	"fmt"
	"os"
	"runtime"
)

func reserve(f *os.File, bytes int64) error { return fill(f, bytes) }

func mapFile(*os.File, int) ([]byte, error) {
	return nil, fmt.Errorf("files are mapped into memory on linux, and this is %s", runtime.GOOS)
}
