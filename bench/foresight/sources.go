package main

import (
	_ "embed"
	"fmt"
	"strings"

	"ptc/compiler"
	"ptc/foresight/stack"
	"ptc/runtime/program"
)

//go:embed megatron_2021.ptl
var megatron []byte

// source is the model with the layout of a run.
func (r *run) source() []byte {
	var b strings.Builder
	b.Write(megatron)
	fmt.Fprintf(&b, "\nlayout run {\n  mesh dp = %d, pp = %d, tp = %d\n  shard batch over dp\n", r.dp, r.pp, r.tp)
	if r.tp > 1 {
		b.WriteString("  shard heads, ffn, vocab over tp\n")
	}
	switch n := r.microbatches(); {
	case r.pp > 1 && r.chunks > 1:
		fmt.Fprintf(&b, "  pipeline blocks over pp { schedule = interleaved  chunks = %d  microbatches = %d }\n", r.chunks, n)
	case r.pp > 1:
		fmt.Fprintf(&b, "  pipeline blocks over pp { schedule = 1f1b  microbatches = %d }\n", n)
	default:
		fmt.Fprintf(&b, "  accumulate = %d\n", n)
	}
	if r.recompute {
		b.WriteString("  recompute Block\n")
	}
	b.WriteString("  precision { compute = bf16  params = bf16 }\n}\n")
	return []byte(b.String())
}

// compile is the plan of a run under a stack, for an A100. join has the kernels of the stack.
func (r *run) compile(s *stack.Stack, join rules) (*program.Plan, error) {
	p, _, err := compiler.Compile(compiler.Options{
		File: "megatron.ptl", Source: r.source(), Layout: "run",
		Set: []string{
			fmt.Sprint("layers=", r.layers), fmt.Sprint("embed=", r.hidden), fmt.Sprint("heads=", r.heads),
			fmt.Sprint("seq=", r.seq), fmt.Sprint("vocab=", r.vocab), fmt.Sprint("batch=", r.batch),
		},
		Target: "ref", Forms: "cuda:sm_80", Without: s.Without,
		Stack: &compiler.Stack{Join: join, Attention: s.Attention, Chunks: s.Chunks},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	return p, nil
}
