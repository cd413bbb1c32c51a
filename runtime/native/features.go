package native

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"ptc/internal/amx"
)

// x86Features gives cpuid's test for each feature name of LLVM's that a plan may
// require. The tests include that the system saves the registers.
var x86Features = map[string]cpuid.FeatureID{
	"amx-bf16": cpuid.AMXBF16, "amx-tile": cpuid.AMXTILE,
	"avx": cpuid.AVX, "avx2": cpuid.AVX2, "avx512bf16": cpuid.AVX512BF16,
	"avx512bw": cpuid.AVX512BW, "avx512cd": cpuid.AVX512CD, "avx512dq": cpuid.AVX512DQ,
	"avx512f": cpuid.AVX512F, "avx512vl": cpuid.AVX512VL,
	"bmi": cpuid.BMI1, "bmi2": cpuid.BMI2, "cx16": cpuid.CX16, "f16c": cpuid.F16C,
	"fma": cpuid.FMA3, "lzcnt": cpuid.LZCNT, "movbe": cpuid.MOVBE, "popcnt": cpuid.POPCNT,
	"sse3": cpuid.SSE3, "sse4.1": cpuid.SSE4, "sse4.2": cpuid.SSE42, "ssse3": cpuid.SSSE3,
}

// Supported says whether this host has every listed processor feature. The error
// names those it lacks, and those that this version cannot test for.
func Supported(features []string) error {
	return supported(features, hostHas, refused)
}

// refused says why the system does not give what the processor has of a feature; nil
// where it gives it.
func refused(feature string) error {
	if feature != "amx-tile" || runtime.GOARCH != "amd64" || !cpuid.CPU.Supports(cpuid.AMXTILE) {
		return nil
	}
	return amx.Permit()
}

// hostHas answers for one feature; known is false for a name that this
// architecture has no test for.
func hostHas(feature string) (has, known bool) {
	switch runtime.GOARCH {
	case "amd64":
		id, ok := x86Features[feature]
		return ok && cpuid.CPU.Supports(id) && refused(feature) == nil, ok
	case "arm64":
		return armHas(feature)
	}
	return false, false
}

func supported(features []string, has func(string) (bool, bool), refused func(string) error) error {
	var lacks, unknown []string
	for _, f := range features {
		switch ok, known := has(f); {
		case !known:
			unknown = append(unknown, f)
		case !ok:
			if err := refused(f); err != nil {
				f = fmt.Sprintf("%s, which its processor has: %v", f, err)
			}
			lacks = append(lacks, f)
		}
	}
	sort.Strings(lacks)
	sort.Strings(unknown)
	var why []string
	if len(lacks) > 0 {
		why = append(why, "it lacks "+strings.Join(lacks, ", "))
	}
	if len(unknown) > 0 {
		why = append(why, "on "+runtime.GOARCH+" there is no "+strings.Join(unknown, ", "))
	}
	if len(why) == 0 {
		return nil
	}
	return fmt.Errorf("this host (%s) cannot run the plan's code: %s; `ptc run --rebuild` compiles its sources for this host",
		runtime.GOARCH, strings.Join(why, "; "))
}

// CPU describes this host's processor, for people: nothing of it may enter a
// plan.
type CPU struct {
	Model      string   // brand name, or empty
	Cores      int      // processors that the system lets this process use
	L1, L2, L3 int      // data caches in bytes, -1 where unknown
	Features   []string // of those that plans may require, sorted
	Refused    []string // those that the processor has and the system does not give, each with the reason
}

// DescribeCPU looks at this host.
func DescribeCPU() CPU {
	c := CPU{
		Model: cpuid.CPU.BrandName, Cores: runtime.NumCPU(),
		L1: cpuid.CPU.Cache.L1D, L2: cpuid.CPU.Cache.L2, L3: cpuid.CPU.Cache.L3,
	}
	for _, f := range slices.AppendSeq(slices.Sorted(maps.Keys(x86Features)), maps.Keys(armFeatures)) {
		if has, _ := hostHas(f); has {
			c.Features = append(c.Features, f)
		} else if err := refused(f); err != nil {
			c.Refused = append(c.Refused, fmt.Sprintf("%s: %v", f, err))
		}
	}
	sort.Strings(c.Features)
	return c
}
