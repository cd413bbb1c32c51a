//go:build !linux

package native

import (
	"fmt"
	"runtime"
)

var errSystem = fmt.Errorf("native code runs on linux, and this is %s: use the reference backend", runtime.GOOS)

func mapMemory(int) ([]byte, error)    { return nil, errSystem }
func unmapMemory([]byte)               {}
func protectMemory([]byte, bool) error { return errSystem }
func adviseHuge([]byte)                {}
