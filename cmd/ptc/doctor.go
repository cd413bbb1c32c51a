package main

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/internal/units"
	"ptc/runtime/comm/mpi"
	"ptc/runtime/comm/nccl"
	"ptc/runtime/cuda"
	"ptc/runtime/data"
	"ptc/runtime/native"
)

// finding is one thing that ptc can use.
type finding struct {
	Name    string `json:"name"`
	Found   bool   `json:"found"`
	Detail  string `json:"detail"`            // what was found, or why not
	Use     string `json:"use"`               // what it is for
	Install string `json:"install,omitempty"` // how to get it, where it is missing
}

// health is what doctor prints as JSON.
type health struct {
	Version  string    `json:"version"`
	Target   string    `json:"target"` // that ptc compile takes by itself
	CPU      cpu       `json:"cpu"`
	Findings []finding `json:"findings"`
	// CUDA is the driver of NVIDIA's GPUs with those that it finds; left out where there is none.
	CUDA *cuda.Machine `json:"cuda,omitempty"`
}

type cpu struct {
	Model    string   `json:"model"`
	Cores    int      `json:"cores"`
	Features []string `json:"features"`
	// Refused are those that the system does not give, with the reason.
	Refused []string `json:"refused,omitempty"`
}

func newDoctor(a *app) *cobra.Command {
	var asJSON bool
	var require []string
	cmd := &cobra.Command{
		Use:   "doctor [--json] [--require NAME]...",
		Short: "Report what this machine has for ptc, and what is missing",
		Long: `Look for what ptc can use on this machine, and say how to install what is
missing. ptc needs none of it: without libLLVM plans run on the reference
backend, in pure Go and slowly.

With --require, the exit code is 1 if the named thing is missing. Names: ` +
			strings.Join(findingNames(), ", ") + ".",
		Example: `  ptc doctor
  ptc doctor --json
  ptc doctor --require llvm || sudo apt-get install libllvm19`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.doctor(asJSON, require) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringSliceVar(&require, "require", nil, "exit with 1 if `NAME` is missing")
	complete(cmd, "require", func([]string) []string { return findingNames() })
	return cmd
}

func (a *app) doctor(asJSON bool, require []string) error {
	for _, name := range require {
		if err := (&choice{words: findingNames()}).Set(name); err != nil {
			return usagef("nothing called `%s` for --require: %w", name, err)
		}
	}
	h, err := examine(), error(nil)
	if asJSON {
		err = a.printJSON(h)
	} else {
		err = a.print(h.text())
	}
	if err != nil {
		return err
	}
	for _, name := range require {
		for _, f := range h.Findings {
			if f.Name == name && !f.Found {
				return inputf("%s is missing: %s", name, f.Detail)
			}
		}
	}
	return nil
}

// probes are what doctor looks for, in order.
var probes = []struct {
	name, use, install string
	look               func() (detail string, found bool)
}{
	{"llvm", "native code, with ptc compile --target cpu", "apt-get install libllvm19", lookLLVM},
	{"corpus", "the text that the examples are trained on", "install Go (https://go.dev/doc/install), or name other text with --set corpus=GLOB", lookCorpus},
	{"mpi", "a plan over several processes: mpirun -n N ptc run", mpi.Install, lookMPI},
	{"nccl", "GPUs of several processes that exchange by themselves", nccl.Install, func() (string, bool) { return found(nccl.Available()) }},
	{"cuda", "plans for NVIDIA GPUs, with ptc compile --target cuda", "install the driver of NVIDIA's for this GPU, of CUDA 12 or later", lookCUDA},
	{"cublas", "products by cuBLASLt on NVIDIA GPUs, with ptc run --blas lt", "install cuBLAS of CUDA 12 or 13, and name its folder in LD_LIBRARY_PATH", func() (string, bool) { return found(cuda.FindBlas()) }},
}

func findingNames() []string {
	var names []string
	for _, p := range probes {
		names = append(names, p.name)
	}
	return names
}

func examine() *health {
	c := native.DescribeCPU()
	h := &health{Version: versionLine(), Target: defaultTarget(), CPU: cpu{c.Model, c.Cores, append([]string{}, c.Features...), c.Refused}}
	for _, p := range probes {
		f := finding{Name: p.name, Use: p.use}
		if f.Detail, f.Found = p.look(); !f.Found {
			f.Install = p.install
		}
		h.Findings = append(h.Findings, f)
	}
	h.CUDA, _ = cuda.Find() // why not is a finding
	return h
}

// defaultTarget is what ptc compile chooses without --target.
func defaultTarget() string {
	for _, b := range compiler.Backends() {
		if b.Missing == nil {
			return b.Target
		}
	}
	return ""
}

func lookLLVM() (string, bool) {
	for _, b := range compiler.Backends() {
		if b.Name == "cpu" {
			if b.Missing != nil {
				return b.Missing.Error(), false
			}
			return "libLLVM, for " + b.Target, true
		}
	}
	return "this ptc has no cpu backend", false
}

// lookCorpus opens the standard library's sources as the examples do.
func lookCorpus() (string, bool) {
	s, err := data.Open("text", []data.Option{{Value: "${GOROOT}/src/strings/*.go"}}, data.Batch{Size: 1, Window: 64})
	if err != nil {
		return err.Error(), false
	}
	return "the sources of Go's standard library, for example " + s.Describe(), true
}

// lookMPI looks for both the library and a launcher.
func lookMPI() (string, bool) {
	library, err := mpi.Available()
	if err != nil {
		return err.Error(), false
	}
	launcher, err := exec.LookPath("mpirun")
	if err != nil {
		return library + ", but no mpirun in PATH", false
	}
	return library + ", started by " + launcher, true
}

// found returns what was found, or the error as the reason why not.
func found(what string, err error) (string, bool) {
	if err != nil {
		return err.Error(), false
	}
	return what, true
}

// lookCUDA asks the driver, and names alike GPUs once.
func lookCUDA() (string, bool) {
	m, err := cuda.Find()
	if err != nil {
		return err.Error(), false
	}
	text := "driver of CUDA " + m.CUDA
	for from, to := 0, 0; from < len(m.GPUs); from = to {
		for to = from + 1; to < len(m.GPUs) && m.GPUs[to] == m.GPUs[from]; {
			to++
		}
		number := fmt.Sprintf("GPU %d", from)
		if to > from+1 {
			number = fmt.Sprintf("GPUs %d to %d", from, to-1)
		}
		text += fmt.Sprintf("; %s: %s", number, m.GPUs[from])
	}
	return text, true
}

func (h *health) text() string {
	var b strings.Builder
	model := h.CPU.Model
	if model == "" {
		model = "unknown"
	}
	fmt.Fprintf(&b, "ptc %s\n", h.Version)
	fmt.Fprintf(&b, "cpu     %s, %s\n", model, units.Plural(h.CPU.Cores, "processor"))
	fmt.Fprintf(&b, "        %s\n", strings.Join(h.CPU.Features, " "))
	for _, r := range h.CPU.Refused {
		fmt.Fprintf(&b, "        refused: %s\n", r)
	}
	fmt.Fprintf(&b, "target  %s\n\n", h.Target)
	for _, f := range h.Findings {
		state := "found  "
		if !f.Found {
			state = "missing"
		}
		fmt.Fprintf(&b, "%s  %-7s %s\n", state, f.Name, f.Detail)
		fmt.Fprintf(&b, "%17suse: %s\n", "", f.Use)
		if f.Install != "" {
			fmt.Fprintf(&b, "%17sget: %s\n", "", f.Install)
		}
	}
	return b.String()
}
