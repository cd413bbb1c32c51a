package main

import (
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/foresight/forecast"
	"ptc/internal/diag"
	"ptc/runtime/explain"
	"ptc/runtime/program"
	"ptc/runtime/report"
)

// explainFlags are those of `ptc explain`.
type explainFlags struct {
	section         choice
	asJSON          bool
	kernel, machine string
}

func newExplain(a *app) *cobra.Command {
	f := explainFlags{section: choice{value: "summary", words: explain.Sections()}}
	cmd := &cobra.Command{
		Use:   "explain PLAN [--section NAME | --kernel NAME | --json] [--machine NAME:LEVELS]",
		Short: "Show a plan and the decisions behind it",
		Long: `Show a plan. The summary says what the plan is, how it uses memory and operations,
what its devices send to each other, and how its pipeline is scheduled. Sections show
the rest: ` + strings.Join(explain.Sections()[1:], ", ") + `.

--machine adds a forecast to the summary and to --json: how long a step takes on a
machine and why, memory against the device's, and what bounds the step.

--kernel shows one kernel: the work of a launch, its origin, its text in each form on
the way to code, which is generated again, and last the disassembly of its code in the
plan. libLLVM disassembles code for cpu; ptxas with nvdisasm or cuobjdump, PTX.

Repeated blocks of a model share one line: blocks.0..31.attn.

The bytes of a kind of memory count every byte of the arena that ever holds it.
Buffers that are not alive at the same time share memory, so the kinds can add up to
more than the arena.

The bytes of a communication are those that one device exchanges: the tensor of an
all_reduce, the gathered result of an all_gather, the input of a reduce_scatter; for a
send, a recv and the others, the bytes that leave or arrive. An algorithm sends less:
with n devices, the part (n-1)/n for an all_gather or a reduce_scatter.`,
		Example: `  ptc explain plan.bin
  ptc explain plan.bin --section communication
  ptc explain plan.bin --section all | less
  ptc explain plan.bin --kernel gemm_1
  ptc explain plan.bin --json | jq .memory
  ptc explain plan.bin --machine h100:128x8`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.asJSON && cmd.Flags().Changed("section") {
				return usagef("--json prints all sections and cannot be combined with --section")
			}
			return a.explain(args[0], &f)
		},
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	cmd.Flags().Var(&f.section, "section", "print the section `NAME`")
	cmd.Flags().StringVar(&f.kernel, "kernel", "", "show the kernel `NAME`")
	cmd.MarkFlagsMutuallyExclusive("kernel", "section")
	addMachine(cmd, &f.machine, "add a forecast")
	cmd.MarkFlagsMutuallyExclusive("kernel", "json")
	cmd.MarkFlagsMutuallyExclusive("kernel", "machine")
	complete(cmd, "section", func([]string) []string { return f.section.words })
	return cmd
}

// explain prints what the flags ask for of a plan.
func (a *app) explain(path string, f *explainFlags) error {
	if f.machine != "" && f.section.value != "summary" {
		return usagef("--machine adds to the summary and to --json, and cannot be combined with --section %s", f.section.value)
	}
	plan, err := readPlan(path)
	if err != nil {
		return err
	}
	if f.kernel != "" {
		return a.explainKernel(plan, f.kernel)
	}
	x, err := a.foresee(plan, f.machine)
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return a.explainJSON(plan, x)
	case x != nil:
		return a.print(explain.Text(plan, f.section.value) + x.Summary())
	}
	return a.print(explain.Text(plan, f.section.value))
}

// explainJSON prints the document of a plan, and its forecast if there is one.
func (a *app) explainJSON(p *program.Plan, f *foreseen) error {
	shown, err := f.report()
	if err != nil {
		return err
	}
	out := struct {
		*report.Document
		Forecast *forecast.Forecast `json:"forecast,omitempty"`
	}{Document: report.OfForecast(p, shown)}
	if f != nil {
		out.Forecast = f.Forecast
	}
	return a.printJSON(out)
}

// explainKernel prints what the plan says of a kernel, and its forms.
func (a *app) explainKernel(p *program.Plan, name string) error {
	var names []string
	at := -1
	for i := range p.Kernels {
		names = append(names, p.Kernels[i].Name)
		if p.Kernels[i].Name == name {
			at = i
		}
	}
	if at < 0 {
		return usagef("the plan has no kernel `%s`; %s", name, diag.DidYouMean(name, names))
	}
	text := explain.KernelText(p, name)
	forms, err := compiler.Forms(p, &p.Kernels[at])
	if err != nil {
		return err
	}
	for _, f := range forms {
		body := strings.TrimRight(f.Text, "\n")
		if f.Missing != "" {
			body = "left out: " + f.Missing
		}
		text += "\n-- " + f.Kind + " --\n" + body + "\n"
	}
	return a.print(text)
}
