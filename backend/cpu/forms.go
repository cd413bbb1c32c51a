package cpu

import (
	"fmt"
	"strings"

	"ptc/backend"
	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/lower"
	"ptc/backend/tile/schedule"
	"ptc/ir"
)

// Forms are tile programs (an attention has none, as it is a nest of its own), the loop/tile form, LLVM's IR, and
// the assembly that LLVM makes of it.
func (c *cpu) Forms(f *ir.Func, given *schedule.Table) ([]backend.Form, error) {
	lib, err := llvm.Load()
	if err != nil {
		return nil, fmt.Errorf("the target %s needs libLLVM to compile: %w", c.Name, err)
	}
	var out []backend.Form
	tiles, err := lower.Tiles(f, emit.Machine(c.Target), given)
	if err != nil {
		return nil, err
	}
	var text []string
	for _, p := range tiles {
		text = append(text, p.String())
	}
	if len(text) > 0 {
		out = append(out, backend.Form{Kind: "tile", Text: strings.Join(text, "\n")})
	}
	forms, err := c.lower([]*ir.Func{f}, given)
	if err != nil {
		return nil, err
	}
	ll, err := emit.Module(c.Target, forms...)
	if err != nil {
		return nil, err
	}
	asm, err := lib.Assembly(ll, c.Target)
	return append(out, backend.Form{Kind: "loop", Text: forms[0].String()}, backend.Form{Kind: "ll", Text: ll}, backend.Form{Kind: "s", Text: asm}), err
}
