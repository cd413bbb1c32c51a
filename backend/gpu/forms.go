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
)

// Forms are tile programs and PTX, and where NVIDIA's tools ptxas and nvdisasm are found, the machine code that
// they make of it.
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
	out := []backend.Form{{Kind: "tile", Text: strings.Join(tiles, "\n")}, {Kind: "ptx", Text: m.String()}}
	sass, err := disassembled(m.String(), g.Arch)
	if sass != "" {
		out = append(out, backend.Form{Kind: "sass", Text: sass})
	}
	return out, err
}

// disassembled is the machine code of PTX as nvdisasm prints it; empty where a tool is missing.
func disassembled(text, arch string) (string, error) {
	ptxas, err := exec.LookPath("ptxas")
	if err != nil {
		return "", nil
	}
	nvdisasm, err := exec.LookPath("nvdisasm")
	if err != nil {
		return "", nil
	}
	dir, err := os.MkdirTemp("", "ptc-ptx")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	source, object := filepath.Join(dir, "kernel.ptx"), filepath.Join(dir, "kernel.cubin")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		return "", err
	}
	if err := tool(nil, ptxas, "-arch", arch, "-o", object, source); err != nil {
		return "", err
	}
	var out strings.Builder
	err = tool(&out, nvdisasm, "-c", object)
	return out.String(), err
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
