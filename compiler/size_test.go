package compiler

import (
	"fmt"
	"testing"
	"time"

	"ptc/runtime/program"
)

// GPT-2 with 124 million parameters (Radford et al., 2019, table 2) compiles
// in seconds: nothing grows with the size of tensors, kernels not with depth.
func TestGPT2(t *testing.T) {
	target := targets(t)[len(targets(t))-1] // native code, where libLLVM is
	start := time.Now()
	p := compile(t, "gpt", target, []string{"layers=12", "embed=768", "heads=12", "head=64", "ffn=3072", "vocab=50257", "seq=1024", "batch=1"})
	took := time.Since(start)
	t.Logf("%s: %v, %d kernels, %d instructions", target, took, len(p.Kernels), len(p.Devices[0].Progs[0].Instrs))
	if took > 5*time.Minute { // seconds, on a machine that is not busy
		t.Errorf("compiling took %v", took)
	}
	params := 0
	p, err := p.Expanded()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range p.Devices[0].Tensors {
		if x.Train {
			params += program.Elems(p.Devices[0].Buffers[x.Buffer].Axes)
		}
	}
	// 124,439,808 with the biases of attention, which the example leaves out:
	// 12 layers of four times 768.
	if want := 124439808 - 12*4*768; params != want {
		t.Errorf("%d parameters, want %d", params, want)
	}
}

// Kernels are shared by structure, and a plan has what is repeated once: as many
// kernels and instructions for 48 layers as for 4.
func TestKernelsDoNotGrowWithDepth(t *testing.T) {
	kernels := map[int]int{}
	calls := map[int]int{}
	for _, layers := range []int{4, 8, 48} {
		p := compile(t, "gpt", "ref", append([]string{fmt.Sprint("layers=", layers)}, small["gpt"][:2]...))
		kernels[layers], calls[layers] = len(p.Kernels), len(p.Devices[0].Progs[0].Instrs)
	}
	if kernels[4] != kernels[48] || kernels[4] != kernels[8] {
		t.Errorf("kernels by layers: %v", kernels)
	}
	if calls[4] != calls[48] || calls[4] != calls[8] {
		t.Errorf("instructions by layers: %v", calls)
	}
}
