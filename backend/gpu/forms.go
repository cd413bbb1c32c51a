package gpu

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"ptc/backend"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/runtime/program"
)

// Forms are tile programs and PTX.
func (g *gpu) Forms(f *ir.Func, given *schedule.Table) ([]backend.Form, error) {
	k, err := Kernel(f, g.Target, given)
	if err != nil {
		return nil, err
	}
	var tiles []string
	for _, p := range k.Programs {
		tiles = append(tiles, p.String())
	}
	m := g.module()
	g.put(m, k.Entry)
	return []backend.Form{{Kind: "tile", Text: strings.Join(tiles, "\n")}, {Kind: "ptx", Text: m.String()}}, nil
}

// disassemblers are the programs that print the machine code of a cubin, by choice.
var disassemblers = [][]string{{"nvdisasm", "-c"}, {"cuobjdump", "-sass"}}

// Disassembly is the machine code that ptxas makes of one entry of a module, as nvdisasm or cuobjdump prints it.
func (g *gpu) Disassembly(code program.Code, symbol string) (backend.Form, error) {
	out := backend.Form{Kind: "sass"}
	ptxas, err := exec.LookPath("ptxas")
	var by []string
	for _, x := range disassemblers {
		if path, bad := exec.LookPath(x[0]); bad == nil && by == nil {
			by = append([]string{path}, x[1:]...)
		}
	}
	if err != nil || by == nil {
		out.Missing = "the disassembly needs ptxas, and nvdisasm or cuobjdump: put these tools of NVIDIA's on PATH"
		return out, nil
	}
	dir, err := os.MkdirTemp("", "ptc-ptx")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	source, object := filepath.Join(dir, "kernel.ptx"), filepath.Join(dir, "kernel.cubin")
	if err := os.WriteFile(source, code.Data, 0o600); err != nil {
		return out, err
	}
	if err := tool(nil, ptxas, "-arch", g.Arch, "--entry", symbol, "-o", object, source); err != nil {
		return out, err
	}
	var text strings.Builder
	err = tool(&text, by[0], append(by[1:], object)...)
	out.Text = text.String()
	return out, err
}

// tool runs a program, whose output goes to out; its error has what the program says.
func tool(out io.Writer, name string, args ...string) error {
	var message strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = out, &message
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, strings.TrimSpace(message.String()))
	}
	return nil
}
