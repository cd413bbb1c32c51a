package target

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/diag"
)

// Target is the named description of one kind of GPU.
type Target struct {
	Name string // canonical, with its `cuda:` prefix
	Arch string // what PTX is for: "sm_90a"
	PTX  string // version of the language that knows it

	Processors int // multiprocessors of the device that Roof names
	Registers  int // of 32 bits, of a multiprocessor
	Warps      int // that a multiprocessor has at a time
	Shared     int // bytes of shared memory that a block may have
	Dots       []Dot
	Async      bool // copies to shared memory that run by themselves
	Tensor     bool // copies of blocks of tensors by one thread, and barriers that count their bytes
	Clusters   bool // blocks that reach each other's shared memory
	FP8        bool // conversions and products of floats of eight bits

	Roof Roof
}

// Dot is a kind of instruction that multiplies matrices.
type Dot string

// The kinds of dot.
const (
	MMA   Dot = "mma"   // by a warp, of registers
	WGMMA Dot = "wgmma" // by four warps, of shared memory
)

// Roof is what a device does in a second, by its maker's data sheet, without sparsity.
type Roof struct {
	Device string
	Bytes  float64 // of memory
	F32    float64 // operations outside of matrix instructions
	TF32   float64
	Half   float64 // of bf16 and f16
	FP8    float64 // 0 where there is none
}

// all are the targets; the first is the default.
var all = []Target{
	{Name: "cuda:sm_90a", Arch: "sm_90a", PTX: "8.3", Processors: 132, Registers: 65536, Warps: 64, Shared: 227 << 10,
		Dots: []Dot{MMA, WGMMA}, Async: true, Tensor: true, Clusters: true, FP8: true,
		// NVIDIA H200 Tensor Core GPU data sheet, SXM.
		Roof: Roof{Device: "NVIDIA H200", Bytes: 4.8e12, F32: 67e12, TF32: 494.5e12, Half: 989.5e12, FP8: 1979e12}},
	{Name: "cuda:sm_80", Arch: "sm_80", PTX: "8.3", Processors: 108, Registers: 65536, Warps: 64, Shared: 163 << 10,
		Dots: []Dot{MMA}, Async: true,
		// NVIDIA A100 80GB data sheet, SXM.
		Roof: Roof{Device: "NVIDIA A100 80GB", Bytes: 2.039e12, F32: 19.5e12, TF32: 156e12, Half: 312e12}},
	{Name: "cuda:sm_89", Arch: "sm_89", PTX: "8.3", Processors: 142, Registers: 65536, Warps: 48, Shared: 99 << 10,
		Dots: []Dot{MMA}, Async: true, FP8: true,
		// NVIDIA L40S data sheet.
		Roof: Roof{Device: "NVIDIA L40S", Bytes: 864e9, F32: 91.6e12, TF32: 183e12, Half: 362e12, FP8: 733e12}},
}

// Has reports whether the GPU has a kind of dot.
func (t Target) Has(d Dot) bool { return slices.Contains(t.Dots, d) }

// Names lists the full names of the targets.
func Names() []string {
	var out []string
	for _, t := range all {
		out = append(out, t.Name)
	}
	return out
}

// Resolve finds a target; `cuda` is the first of them.
func Resolve(name string) (Target, error) {
	if name == "cuda" {
		return all[0], nil
	}
	for _, t := range all {
		if t.Name == name {
			return t, nil
		}
	}
	hint, arch := diag.DidYouMean(name, Names()), strings.TrimPrefix(name, "cuda:")
	switch {
	case slices.Contains(Names(), name+"a"):
		hint = fmt.Sprintf("did you mean `%sa`?", name)
	case strings.HasPrefix(arch, "sm_1"), strings.HasPrefix(arch, "sm_8"):
		hint = fmt.Sprintf("there are no schedules for %s yet; PTX for sm_80, `cuda:sm_80`, runs on it as well", arch)
	}
	return Target{}, &diag.Error{Code: "E0701", Msg: fmt.Sprintf("unknown target `%s`", name), Want: diag.OneOf(Names()), Hint: hint}
}
