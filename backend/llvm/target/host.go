package target

import (
	"fmt"
	"runtime"

	"github.com/klauspost/cpuid/v2"
)

// Host is the widest target whose features this machine has. The answer is one
// of the named descriptions: nothing else of the machine enters it.
//
// On arm64 it is always `cpu:arm64`; a core with more is named explicitly.
func Host() (Target, error) {
	name := hostName(runtime.GOARCH, cpuid.CPU.X64Level(), cpuid.CPU.Supports(cpuid.AVX512BF16))
	if name == "" {
		return Target{}, fmt.Errorf("no target describes this host (%s without the features of x86-64-v2 or NEON): "+
			"name one to compile for another machine, or use the reference backend", runtime.GOARCH)
	}
	return Resolve(name)
}

// hostName chooses by the Go architecture, the psABI level (0 where there is
// none) and the one extension that has a name of its own.
func hostName(goarch string, level int, bf16 bool) string {
	switch {
	case goarch == "arm64":
		return "cpu:arm64" // NEON is part of the base architecture
	case goarch != "amd64":
		return ""
	case level >= 4 && bf16:
		return "cpu:x86-64-v4+avx512bf16"
	case level >= 4:
		return "cpu:x86-64-v4"
	case level == 3:
		return "cpu:x86-64-v3"
	case level == 2:
		return "cpu:x86-64-v2"
	}
	return ""
}
