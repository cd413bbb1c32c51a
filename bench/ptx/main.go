package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"ptc/backend/gpu/target"
	"ptc/runtime/program"
)

// kernel is a kernel of a plan, for a target.
type kernel struct {
	Plan      string   `json:"plan"`
	Target    string   `json:"target"`
	Name      string   `json:"name"`
	Class     string   `json:"class"`
	DType     string   `json:"dtype,omitempty"` // of what its products multiply
	Spills    int      `json:"spill_bytes"`
	Stack     int      `json:"stack_bytes"`
	Registers int      `json:"registers"`
	Shared    int64    `json:"shared_bytes"` // static and dynamic
	Threads   int64    `json:"threads"`
	Occupancy float64  `json:"occupancy"` // warps that a multiprocessor has at a time, of those that it may have
	Opcodes   []string `json:"opcodes"`
	Warnings  []string `json:"warnings"`
}

func main() {
	var t tools
	flag.StringVar(&t.ptxas, "ptxas", "ptxas", "path of NVIDIA's assembler")
	flag.StringVar(&t.nvdisasm, "nvdisasm", "nvdisasm", "path of NVIDIA's disassembler")
	output := flag.String("output", "bench/ptx.json", "file for the figures")
	only := flag.String("only", "", "assemble only plans, with targets as gpt/sm_80, that match this regular expression")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	if err == nil {
		err = run(t, *output, wanted)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ptx:", err)
		os.Exit(1)
	}
}

func run(t tools, output string, only *regexp.Regexp) error {
	all := []kernel{}
	wrong := 0
	for _, p := range plans {
		for _, name := range target.Names() {
			g, err := target.Resolve(name)
			if err != nil {
				return err
			}
			if !only.MatchString(p.name + "/" + g.Arch) {
				continue
			}
			ks, err := check(t, p, g)
			if err != nil {
				return fmt.Errorf("%s for %s: %w", p.name, name, err)
			}
			for _, k := range ks {
				for _, what := range k.faults(g) {
					fmt.Fprintf(os.Stderr, "%s/%s %s (%s): %s\n", p.name, g.Arch, k.Name, k.Class, what)
					wrong++
				}
			}
			fmt.Printf("%-12s %-7s %s\n", p.name, g.Arch, summary(ks))
			all = append(all, ks...)
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetIndent("", " ")
	if err := e.Encode(map[string]any{"kernels": all}); err != nil {
		return err
	}
	if err := os.WriteFile(output, out.Bytes(), 0o666); err != nil {
		return err
	}
	fmt.Printf("%d kernels in %s\n", len(all), output)
	if wrong > 0 {
		return fmt.Errorf("%d faults", wrong)
	}
	return nil
}

// check compiles and assembles p.
func check(t tools, p plan, g target.Target) ([]kernel, error) {
	plan, err := p.compile(g.Name)
	if err != nil {
		return nil, err
	}
	made := make([]map[string]*assembled, len(plan.Code))
	notes := make([][]string, len(plan.Code))
	errs := make([]error, len(plan.Code))
	var all sync.WaitGroup
	turn := make(chan struct{}, runtime.NumCPU())
	for i, c := range plan.Code {
		all.Go(func() {
			turn <- struct{}{}
			made[i], notes[i], errs[i] = t.assemble(c.Data, g.Arch)
			<-turn
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out := make([]kernel, len(plan.Kernels))
	for i, k := range plan.Kernels {
		a := made[k.Code][k.Symbol]
		if a == nil {
			return nil, fmt.Errorf("the assembler says nothing of %s", k.Symbol)
		}
		out[i] = describe(p, g, k, a)
		for _, n := range notes[k.Code] {
			if strings.Contains(n, k.Symbol) || !strings.Contains(n, "'") {
				out[i].Warnings = append(out[i].Warnings, n)
			}
		}
	}
	return out, nil
}

func describe(p plan, g target.Target, k program.Kernel, a *assembled) kernel {
	return kernel{Plan: p.name, Target: g.Arch, Name: k.Name, Class: k.Class, DType: k.Factors, Spills: a.spills, Stack: a.stack,
		Registers: a.registers, Shared: int64(a.static) + k.Shared, Threads: k.Threads,
		Occupancy: occupancy(g, a.registers, int64(a.static)+k.Shared, k.Threads), Opcodes: a.families(), Warnings: []string{}}
}

// occupancy is the share of a multiprocessor's warps that there are registers and shared memory for.
// Registers are given to warps in units of 256, and a block's shared memory is 1 KiB more than
// it asks for (CUDA C++ Programming Guide, "Compute Capabilities").
func occupancy(g target.Target, registers int, shared, threads int64) float64 {
	warps := (threads + 31) / 32
	each := int64(registers+7) / 8 * 8 * 32
	blocks := min(32, int64(g.Warps)/warps)
	if each > 0 {
		blocks = min(blocks, int64(g.Registers)/each/warps)
	}
	blocks = min(blocks, int64(g.Shared+1024)/(shared+1024))
	return float64(blocks*warps) / float64(g.Warps)
}

// faults are what must not be.
func (k kernel) faults(g target.Target) []string {
	var out []string
	has := func(prefix string) bool {
		return slices.ContainsFunc(k.Opcodes, func(o string) bool { return strings.HasPrefix(o, prefix) })
	}
	if k.Spills > 0 || k.Stack > 0 || has("LDL") || has("STL") {
		out = append(out, fmt.Sprintf("%d bytes spilled, a stack of %d", k.Spills, k.Stack))
	}
	if k.Shared > int64(g.Shared) {
		out = append(out, fmt.Sprintf("%d bytes of shared memory; a block may have %d", k.Shared, g.Shared))
	}
	if k.Occupancy == 0 {
		out = append(out, "a block does not fit a multiprocessor")
	}
	if half := k.DType == "bf16" || k.DType == "f16"; half && (k.Class == "gemm" || k.Class == "attention") && !has("HMMA") && !has("HGMMA") {
		out = append(out, "no matrix instruction")
	}
	if float8 := strings.HasPrefix(k.DType, "f8"); float8 && k.Class == "gemm" && g.FP8 && !has("QMMA") && !has("QGMMA") {
		out = append(out, "no matrix instruction of eight bits")
	}
	return append(out, k.Warnings...)
}

func summary(ks []kernel) string {
	most, least := 0, 1.0
	for _, k := range ks {
		most, least = max(most, k.Registers), min(least, k.Occupancy)
	}
	return fmt.Sprintf("%3d kernels, at most %d registers, occupancy at least %.2f", len(ks), most, least)
}
