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
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// Forms are tile programs (an attention has none, as it is a nest of its own), the loop/tile form, LLVM's IR, and
// where there is a libLLVM, the assembly that it makes of that.
func (c *cpu) Forms(f *ir.Func, given *schedule.Table) ([]backend.Form, error) {
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
	out = append(out, backend.Form{Kind: "loop", Text: forms[0].String()}, backend.Form{Kind: "ll", Text: ll})
	lib, err := llvm.Load()
	if err != nil {
		return out, nil
	}
	asm, err := lib.Assembly(ll, c.Target)
	return append(out, backend.Form{Kind: "s", Text: asm}), err
}

// Disassembly is the kernel's function in its object, by libLLVM.
func (c *cpu) Disassembly(code program.Code, symbol string) (backend.Form, error) {
	out := backend.Form{Kind: "dis"}
	lib, err := llvm.Load()
	if err != nil {
		out.Missing = fmt.Sprintf("the disassembly needs libLLVM: %v", err)
		return out, nil
	}
	parts, err := native.Functions(code.Data, symbol)
	if err != nil {
		return out, err
	}
	var text strings.Builder
	for _, f := range parts {
		body, err := lib.Disassembly(f.Code, c.Target, f.Near, c.refersTo(f.Refs))
		if err != nil {
			return out, err
		}
		fmt.Fprintf(&text, "%s:\n%s", f.Name, body)
	}
	out.Text = text.String()
	return out, nil
}

// refersTo says what instructions refer to that lie between two offsets; it is called with rising ones.
func (c *cpu) refersTo(refs []native.Ref) func(from, to int) string {
	return func(from, to int) string {
		for len(refs) > 0 && refs[0].Offset < from {
			refs = refs[1:]
		}
		if len(refs) == 0 || refs[0].Offset >= to {
			return ""
		}
		at := refs[0].Addend
		if c.Arch == "x86-64" { // which counts from the patched bytes, and the processor from the next instruction
			at += int64(to - refs[0].Offset)
		}
		return fmt.Sprintf("%s%+#x", refs[0].To, at)
	}
}
