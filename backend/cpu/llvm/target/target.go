package target

import (
	"fmt"
	"strings"

	"ptc/internal/diag"
)

// Target is the named description of one kind of processor.
type Target struct {
	// Name is the canonical name, with its `cpu:` prefix.
	Name string
	// Arch is the instruction set: "x86-64" or "arm64".
	Arch string
	// Triple, CPU and Features are LLVM's: `-mtriple`, `-mcpu` and `-mattr`.
	Triple, CPU, Features string
	// Requires lists the processor features, by LLVM's names, that a host needs
	// to run the code. A plan carries it and the runtime checks it.
	Requires []string

	// VectorBits is the width of one vector register, Registers how many there
	// are, both as the generator should use them.
	VectorBits, Registers int
	// L1 and L2 are the data caches of one core, L3 the cache its cores share,
	// in bytes. CacheLine is the size of a line in bytes.
	L1, L2, L3, CacheLine int

	// HasFMA: f32 and f64 multiply-adds are one instruction with one rounding.
	HasFMA bool
	// HasF16: conversions between f16 and f32 are instructions.
	HasF16 bool
	// HasDotBF16: multiplying pairs of bf16 and adding both products to f32 is an
	// instruction, the VDPBF16PS of AVX512-BF16.
	HasDotBF16 bool
	// HasMatBF16: multiplying matrices of 2 × 4 bf16 and adding to 2 × 2 of f32 is an
	// instruction, the BFMMLA of NEON.
	HasMatBF16 bool
	// HasTileBF16: tile registers and multiplying them are instructions, AMX and its
	// TDPBF16PS.
	HasTileBF16 bool
	// HasMask: loads and stores under a lane mask are instructions.
	HasMask bool
}

// Lanes is the number of elements of the given width, in bits, in one vector.
func (t Target) Lanes(bits int) int { return t.VectorBits / bits }

const (
	kib = 1 << 10
	mib = 1 << 20

	x86Triple = "x86_64-unknown-linux-gnu"
	armTriple = "aarch64-unknown-linux-gnu"
)

// The x86-64 levels are those of the psABI (System V ABI, AMD64 supplement,
// table 3.1 "Micro-Architecture Levels"). Only what a kernel can use or LLVM
// can choose by itself is required of a host.
var (
	requiresV2 = []string{"cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"}
	requiresV3 = append(clone(requiresV2), "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
	requiresV4 = append(clone(requiresV3), "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
)

func clone(s []string) []string { return append([]string(nil), s...) }

// all lists the targets, narrower before wider within an instruction set.
var all = []Target{
	{
		Name: "cpu:x86-64-v2", Arch: "x86-64", Triple: x86Triple, CPU: "x86-64-v2",
		Requires:   requiresV2,
		VectorBits: 128, Registers: 16,
		L1: 32 * kib, L2: 256 * kib, L3: 4 * mib, CacheLine: 64,
	},
	{
		Name: "cpu:x86-64-v3", Arch: "x86-64", Triple: x86Triple, CPU: "x86-64-v3",
		Requires:   requiresV3,
		VectorBits: 256, Registers: 16,
		L1: 32 * kib, L2: 256 * kib, L3: 8 * mib, CacheLine: 64,
		HasFMA: true, HasF16: true,
	},
	{
		Name: "cpu:x86-64-v4", Arch: "x86-64", Triple: x86Triple, CPU: "x86-64-v4",
		Requires:   requiresV4,
		VectorBits: 512, Registers: 32,
		L1: 32 * kib, L2: 1 * mib, L3: 16 * mib, CacheLine: 64,
		HasFMA: true, HasF16: true, HasMask: true,
	},
	{
		Name: "cpu:x86-64-v4+avx512bf16", Arch: "x86-64", Triple: x86Triple, CPU: "x86-64-v4",
		Features:   "+avx512bf16",
		Requires:   append(clone(requiresV4), "avx512bf16"),
		VectorBits: 512, Registers: 32,
		L1: 32 * kib, L2: 1 * mib, L3: 32 * mib, CacheLine: 64,
		HasFMA: true, HasF16: true, HasMask: true, HasDotBF16: true,
	},
	{
		// AMX came to servers with the 2 MiB of L2 that a core has from then on.
		Name: "cpu:x86-64-v4+amx", Arch: "x86-64", Triple: x86Triple, CPU: "x86-64-v4",
		Features:   "+avx512bf16,+amx-tile,+amx-bf16",
		Requires:   append(clone(requiresV4), "amx-bf16", "amx-tile", "avx512bf16"),
		VectorBits: 512, Registers: 32,
		L1: 48 * kib, L2: 2 * mib, L3: 32 * mib, CacheLine: 64,
		HasFMA: true, HasF16: true, HasMask: true, HasDotBF16: true, HasTileBF16: true,
	},
	{
		Name: "cpu:arm64", Arch: "arm64", Triple: armTriple, CPU: "generic",
		Requires:   []string{"neon"},
		VectorBits: 128, Registers: 32,
		L1: 32 * kib, L2: 512 * kib, L3: 4 * mib, CacheLine: 64,
		HasFMA: true, HasF16: true,
	},
	{
		Name: "cpu:arm64+bf16", Arch: "arm64", Triple: armTriple, CPU: "generic",
		Features:   "+bf16",
		Requires:   []string{"bf16", "neon"},
		VectorBits: 128, Registers: 32,
		L1: 64 * kib, L2: 1 * mib, L3: 32 * mib, CacheLine: 64,
		HasFMA: true, HasF16: true, HasMatBF16: true,
	},
	{
		// The scalable vectors of this core are 128 bits wide, so NEON loses no
		// width and the generator needs no second kind of vector.
		Name: "cpu:neoverse-v2", Arch: "arm64", Triple: armTriple, CPU: "neoverse-v2",
		Requires:   []string{"bf16", "dotprod", "fullfp16", "i8mm", "lse", "neon", "sve", "sve2"},
		VectorBits: 128, Registers: 32,
		L1: 64 * kib, L2: 1 * mib, L3: 32 * mib, CacheLine: 64,
		HasFMA: true, HasF16: true, HasMatBF16: true,
	},
}

// Names lists every target's name.
func Names() []string {
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	return names
}

// Resolve finds a target by name, with or without the `cpu:` prefix. `cpu`
// alone is this host's: see Host. An unknown name is an error that lists the
// names and suggests the nearest.
func Resolve(name string) (Target, error) {
	if name == "cpu" {
		return Host()
	}
	full := "cpu:" + strings.TrimPrefix(name, "cpu:")
	for _, t := range all {
		if t.Name == full {
			t.Requires = clone(t.Requires)
			return t, nil
		}
	}
	names := append([]string{"cpu"}, Names()...)
	return Target{}, &diag.Error{Code: "E0701", Msg: fmt.Sprintf("unknown target `%s`", name),
		Want: diag.OneOf(names), Hint: diag.DidYouMean(full, names)}
}
