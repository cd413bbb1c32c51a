package native

import (
	"encoding/binary"
	"os"
)

// armBit is where Linux reports a feature: a bit of the auxiliary vector's
// AT_HWCAP or AT_HWCAP2 (arch/arm64/include/uapi/asm/hwcap.h).
type armBit struct {
	tag uint64
	bit uint
}

const atHWCAP, atHWCAP2 = 16, 26

// armFeatures maps LLVM's feature names.
var armFeatures = map[string]armBit{
	"neon":     {atHWCAP, 1},
	"lse":      {atHWCAP, 8},
	"fullfp16": {atHWCAP, 10},
	"dotprod":  {atHWCAP, 20},
	"sve":      {atHWCAP, 22},
	"sve2":     {atHWCAP2, 1},
	"i8mm":     {atHWCAP2, 13},
	"bf16":     {atHWCAP2, 14},
}

func armHas(feature string) (has, known bool) {
	b, known := armFeatures[feature]
	if !known {
		return false, false
	}
	if feature == "neon" {
		return true, true // part of the base architecture, also without an auxiliary vector
	}
	auxv, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return false, true
	}
	return auxBit(auxv, b), true
}

// auxBit looks a bit up in an auxiliary vector: pairs of 64-bit tag and value.
func auxBit(auxv []byte, b armBit) bool {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == b.tag {
			return binary.LittleEndian.Uint64(auxv[8:])>>b.bit&1 != 0
		}
	}
	return false
}
