package main

import (
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/runtime/explain"
	"ptc/runtime/program"
	"ptc/runtime/report"
)

func newExplain(a *app) *cobra.Command {
	var asJSON bool
	var kernel string
	section := choice{value: "summary", words: explain.Sections()}
	cmd := &cobra.Command{
		Use:   "explain PLAN [--section NAME | --kernel NAME | --json]",
		Short: "Show a plan and the decisions behind it",
		Long: `Show a plan. The summary says what the plan is, how it uses memory and operations,
what its devices send to each other, and how its pipeline is scheduled. Sections show
the rest: ` + strings.Join(explain.Sections()[1:], ", ") + `.

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
  ptc explain plan.bin --json | jq .memory`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON && cmd.Flags().Changed("section") {
				return usagef("--json prints all sections and cannot be combined with --section")
			}
			plan, err := readPlan(args[0])
			if err != nil {
				return err
			}
			if kernel != "" {
				return a.explainKernel(plan, kernel)
			}
			if asJSON {
				return a.printJSON(report.Of(plan))
			}
			return a.print(explain.Text(plan, section.value))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().Var(&section, "section", "print the section `NAME`")
	cmd.Flags().StringVar(&kernel, "kernel", "", "show the kernel `NAME`")
	cmd.MarkFlagsMutuallyExclusive("kernel", "section")
	cmd.MarkFlagsMutuallyExclusive("kernel", "json")
	complete(cmd, "section", func([]string) []string { return section.words })
	return cmd
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
