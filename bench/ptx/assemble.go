package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// assembled is what the assembler says of an entry.
type assembled struct {
	stack, spills, registers, static int
	opcodes                          map[string]bool
}

// tools are the paths of NVIDIA's programs.
type tools struct{ ptxas, nvdisasm string }

// assemble assembles a module for arch. What the assembler says besides figures is in notes.
func (t tools) assemble(text []byte, arch string) (entries map[string]*assembled, notes []string, err error) {
	dir, err := os.MkdirTemp("", "ptx")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in.ptx"), filepath.Join(dir, "out.cubin")
	if err := os.WriteFile(in, text, 0o666); err != nil {
		return nil, nil, err
	}
	said, err := exec.Command(t.ptxas, "-arch="+arch, "-v", "-o", out, in).CombinedOutput()
	if err != nil {
		return nil, nil, fmt.Errorf("ptxas: %w\n%s", err, said)
	}
	entries, notes = figures(string(said))
	listing, err := exec.Command(t.nvdisasm, "-c", out).Output()
	if err != nil {
		return nil, nil, fmt.Errorf("nvdisasm: %w", err)
	}
	instructions(listing, entries)
	return entries, notes, nil
}

var (
	compiling = regexp.MustCompile(`Compiling entry function '([^']+)'`)
	stack     = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	used      = regexp.MustCompile(`Used (\d+) registers`)
	shared    = regexp.MustCompile(`(\d+) bytes smem`)
)

// figures reads what `ptxas -v` says.
func figures(text string) (map[string]*assembled, []string) {
	out := map[string]*assembled{}
	var notes []string
	var at *assembled
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case compiling.MatchString(line):
			at = &assembled{opcodes: map[string]bool{}}
			out[compiling.FindStringSubmatch(line)[1]] = at
		case strings.Contains(line, "warning") || strings.Contains(line, "Potential Performance Loss"):
			notes = append(notes, line)
		case at == nil:
		case stack.MatchString(line):
			m := stack.FindStringSubmatch(line)
			at.stack, at.spills = number(m[1]), number(m[2])+number(m[3])
		case used.MatchString(line):
			at.registers = number(used.FindStringSubmatch(line)[1])
			if m := shared.FindStringSubmatch(line); m != nil {
				at.static = number(m[1])
			}
		}
	}
	return out, notes
}

var (
	section     = regexp.MustCompile(`^\.text\.(\S+):`)
	instruction = regexp.MustCompile(`^/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)`)
)

// instructions notes which there are in each entry of a listing.
func instructions(listing []byte, entries map[string]*assembled) {
	var at *assembled
	for line := range bytes.Lines(listing) {
		s := strings.TrimSpace(string(line))
		if m := section.FindStringSubmatch(s); m != nil {
			at = entries[m[1]]
		} else if m := instruction.FindStringSubmatch(s); m != nil && at != nil {
			at.opcodes[m[1]] = true
		}
	}
}

// families are the instructions without what is behind the first point, in order; of those
// that move memory all of the name.
func (a *assembled) families() []string {
	seen := map[string]bool{}
	for o := range a.opcodes {
		name, _, _ := strings.Cut(o, ".")
		if slices.Contains([]string{"LDG", "STG", "LDS", "STS", "LDGSTS", "HMMA", "HGMMA", "UTMALDG"}, name) {
			seen[o] = true
		}
		seen[name] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
