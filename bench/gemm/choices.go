package main

import (
	"fmt"

	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/gemm"
	"ptc/backend/cpu/lower"
	"ptc/backend/kernel"
	"ptc/compiler/jit"
	"ptc/runtime/native"
)

// choices prints a line for each way to cut s that the generator lists, its own first:
// all run in turns, on the same operands.
func (b *bench) choices(s shape) error {
	m := emit.Machine(b.target)
	list, err := gemm.Choices(s.spec("product"), m)
	if err != nil {
		return err
	}
	var kernels []*kernel.Kernel
	for i := range list {
		spec := s.spec(fmt.Sprintf("way_%d", i))
		spec.Blocks = &list[i]
		k, err := gemm.Generate(spec, m)
		if err != nil {
			return err
		}
		kernels = append(kernels, k)
	}
	img, err := jit.Load(b.lib, b.target, "", kernels...)
	if err != nil {
		return err
	}
	defer img.Close()
	var mem memory
	defer mem.free()
	left, right, out := mem.random(s.batch*s.m*s.k, 1), mem.random(s.batch*s.k*s.n, 2), mem.random(s.batch*s.m*s.n, 3)
	if mem.err != nil {
		return mem.err
	}
	programs := make([]*native.Program, len(kernels))
	rates := make([][]float64, len(kernels))
	for i, k := range kernels {
		if programs[i], err = b.program(img, []lower.Launch{{Kernel: k, Bufs: []int{0, 1, 2}}}, left, right, out); err != nil {
			return err
		}
		defer programs[i].Close()
	}
	times := max(1, int(0.002/b.replay(programs[0])))
	for round := 0; round < 5 || float64(round)*float64(times)*s.flops()/1e11 < b.seconds; round++ {
		for i, p := range programs {
			rates[i] = append(rates[i], s.flops()/b.replayed(p, times)/1e9)
		}
	}
	for i, k := range kernels {
		fmt.Printf("%-24s %5d %8.1f  %s\n", s, k.Tasks, quantile(rates[i], b.quantile), list[i])
	}
	return nil
}
