package main

import (
	"strings"

	"github.com/spf13/cobra"

	"ptc/runtime/explain"
	"ptc/runtime/report"
)

func newExplain(a *app) *cobra.Command {
	var asJSON bool
	section := choice{value: "summary", words: explain.Sections()}
	cmd := &cobra.Command{
		Use:   "explain PLAN [--section NAME | --json]",
		Short: "Show what a plan does, and what was decided on the way",
		Long: `Show a plan. The summary says what it is, where its memory and its work go, what
its devices send to each other, and how its pipeline is scheduled. Sections hold
the rest: ` + strings.Join(explain.Sections()[1:], ", ") + `.

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
			if asJSON {
				return a.printJSON(report.Of(plan))
			}
			return a.print(explain.Text(plan, section.value))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().Var(&section, "section", "print the section `NAME`")
	complete(cmd, "section", func([]string) []string { return section.words })
	return cmd
}
