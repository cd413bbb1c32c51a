package target

import (
	"fmt"
	"runtime"

	"github.com/klauspost/cpuid/v2"

	"ptc/internal/amx"
)

// Host is the target of this machine on which its products are fastest, of those whose features it has. The answer is
// one of the named descriptions: nothing else of the machine enters it.
//
// On arm64 it is always `cpu:arm64`; a core with more is named explicitly.
func Host() (Target, error) {
	name := hostName(thisProcessor())
	if name == "" {
		return Target{}, fmt.Errorf("no target describes this host (%s without the features of x86-64-v2 or NEON): "+
			"name one to compile for another machine, or use the reference backend", runtime.GOARCH)
	}
	return Resolve(name)
}

// processor is what the choice depends on.
type processor struct {
	arch  string // Go's
	level int    // of the psABI; 0 if it has none
	amd   bool   // made by AMD
	pairs bool   // AVX512-BF16: multiplying pairs of bf16
	tiles bool   // AMX with bf16, which the system permits
}

func thisProcessor() processor {
	c := &cpuid.CPU
	return processor{
		arch: runtime.GOARCH, level: c.X64Level(), amd: c.VendorID == cpuid.AMD, pairs: c.Supports(cpuid.AVX512BF16),
		tiles: c.Supports(cpuid.AMXTILE, cpuid.AMXBF16, cpuid.AVX512BF16) && amx.Permit() == nil,
	}
}

// hostName chooses by what is fastest, not by what there is. VDPBF16PS does twice the arithmetic of a multiply-add of f32
// on processors of AMD, and two thirds of it on those of Intel: 215 GFLOP/s for 320 on two threads of a Sapphire Rapids.
// So these multiply bf16 by tiles, 6,390 GFLOP/s there, or as f32 if the system does not permit the tile registers.
func hostName(p processor) string {
	switch {
	case p.arch == "arm64":
		return "cpu:arm64" // NEON is part of the base architecture
	case p.arch != "amd64":
		return ""
	case p.level >= 4 && p.tiles:
		return "cpu:x86-64-v4+amx"
	case p.level >= 4 && p.pairs && p.amd:
		return "cpu:x86-64-v4+avx512bf16"
	case p.level >= 4:
		return "cpu:x86-64-v4"
	case p.level == 3:
		return "cpu:x86-64-v3"
	case p.level == 2:
		return "cpu:x86-64-v2"
	}
	return ""
}
