//go:build static

package foreign

func callValue(uintptr, int, []uint64, []uintptr) uintptr { panic(errStatic) }
