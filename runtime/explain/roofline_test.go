package explain

import (
	"math"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// TestRoofline: of each kernel the longer of moving and of arithmetic, by the rate of its dtype.
func TestRoofline(t *testing.T) {
	call := func(k int) program.Instr { return program.Instr{Kernel: k} }
	p := &program.Plan{Name: "m", Target: "cuda:sm_90a",
		Kernels: []program.Kernel{
			{Name: "product", Class: "gemm", Flops: 4e9, Bytes: 1e6, Factors: "bf16"},
			{Name: "exact", Class: "gemm", Flops: 4e9, Bytes: 1e6, Factors: "f32"},
			{Name: "sum", Class: "row", Flops: 1e3, Bytes: 8e6},
			{Name: "unused", Class: "row", Flops: 1e12, Bytes: 8e9},
		},
		Devices: []program.Device{{Progs: []program.Program{{Name: "step", Instrs: []program.Instr{call(0), call(1), call(2), call(2)}}}}},
		Roof:    &program.Roof{Device: "a device", Bytes: 4e12, Rates: []program.Rate{{DType: "f32", Flops: 1e13}, {DType: "bf16", Flops: 1e15}}},
	}
	d := Describe(p)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	for i, want := range []float64{4e-3, 0.4, 2e-3, 100} {
		near(d.Kernels[i].Name, d.Kernels[i].LeastMs, want)
	}
	near("a step", d.Roofline.StepMs, 4e-3+0.4+2*2e-3)
	near("moves", d.Roofline.MovesMs, 2*0.25e-3+2*2e-3)
	near("arithmetic", d.Roofline.MathMs, 4e-3+0.4+2*1e-7)
	near("the rate", d.Roofline.Flops, 1e15)
	p.Roof.Rates = append(p.Roof.Rates, program.Rate{DType: "f8e4m3", Flops: 2e15})
	near("the rate where nothing is of the narrowest", Describe(p).Roofline.Flops, 1e15)
	p.Kernels[0].Factors = "f32"
	near("the rate of products of f32", Describe(p).Roofline.Flops, 1e13)
	p.Kernels[0].Flops, p.Kernels[1].Flops, p.Kernels[2].Flops = 0, 0, 0
	near("the rate of a step that only moves", Describe(p).Roofline.Flops, 1e13)
	var b strings.Builder
	kernelTable(&b, d, 10)
	if text := b.String(); !strings.Contains(text, "by their least time") || strings.Index(text, "exact") > strings.Index(text, "product") {
		t.Errorf("the table is not by time:\n%s", text)
	}
	p.Variants = []program.Variant{{Arch: "sm_80"}, {Arch: "sm_70"}}
	if text := Overview(p); !strings.Contains(text, "with code for sm_80, sm_70 as well") {
		t.Errorf("the variants are not said:\n%s", text)
	}
	if v := Describe(p).Variants; len(v) != 2 || v[0] != "sm_80" {
		t.Errorf("variants %q", v)
	}
	p.Roof = nil
	if d := Describe(p); d.Roofline != nil || d.Kernels[0].LeastMs != 0 {
		t.Error("a roofline of a device that is not known")
	}
}
