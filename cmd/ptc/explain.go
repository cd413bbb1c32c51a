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
		Short: "Show what a plan does, and what was decided on the way",
		Long: `Show a plan. The summary says what it is, where its memory and its work go, what
its devices send to each other, and how its pipeline is scheduled. Sections hold
the rest: ` + strings.Join(explain.Sections()[1:], ", ") + `.

--kernel shows one kernel: what a launch does, where it comes from, and its text in each form
on the way to code, which is generated anew.

What repeats with the blocks of a model is one line: blocks.0..31.attn.

The bytes of a kind of memory are those of the arena that ever hold it. Buffers
that are not alive at the same time share memory, so that the kinds can add up to
more than the arena.

The bytes of a communication are those of what one device exchanges: of an all_reduce
the tensor, of an all_gather the gathered result, of a reduce_scatter its input, of a send,
a recv and the others what leaves the device or arrives. What an algorithm sends of it is less:
of n devices, the part (n-1)/n for an all_gather or a reduce_scatter.`,
		Example: `  ptc explain plan.bin
  ptc explain plan.bin --section communication
  ptc explain plan.bin --section all | less
  ptc explain plan.bin --kernel gemm_1
  ptc explain plan.bin --json | jq .memory`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON && cmd.Flags().Changed("section") {
				return usagef("--json holds all sections, and takes no --section")
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
		text += "\n-- " + f.Kind + " --\n" + strings.TrimRight(f.Text, "\n") + "\n"
	}
	return a.print(text)
}
