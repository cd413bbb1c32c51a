package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ptc/compiler"
)

func newOpt(a *app) *cobra.Command {
	var passes []string
	var output, target string
	cmd := &cobra.Command{
		Use:   "opt IR [--passes a,b] [-o IR]",
		Short: "Run passes on printed IR",
		Long: `Read printed IR of any level (a dump of "ptc compile --dump-ir"), verify it, run
the named passes in the order given, verify again, and print. Without passes the
output is the input. "-" is the standard input or output.

Passes, with the level of the IR that they take and leave:
` + passTable(),
		Example: `  ptc opt ir/00-lower.ptir --passes simplify
  ptc opt ir/` + dumpName("scale") + ` --passes autodiff,cleanup -o after.ptir`,
		Args:              exactly("IR"),
		ValidArgsFunction: completeFiles("ptir"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := keepsInputs(output, args[0]); err != nil {
				return err
			}
			src, err := a.readText(args[0], maxIR)
			if err != nil {
				return err
			}
			text, remarks, err := compiler.Opt(args[0], src, passes, target)
			if err != nil {
				return compileError(err, oneSource(args[0], src))
			}
			for _, r := range remarks {
				fmt.Fprintln(a.err, r)
			}
			return a.writeFile(output, []byte(text))
		},
	}
	cmd.Flags().StringSliceVar(&passes, "passes", nil, "run these `passes`, separated by commas")
	cmd.Flags().StringVarP(&output, "output", "o", stdio, "write to `FILE`")
	cmd.Flags().StringVar(&target, "target", "", "decide for `TARGET` (default as ptc compile)")
	complete(cmd, "passes", func([]string) []string { return passNames() })
	complete(cmd, "target", func([]string) []string { return compiler.Targets() })
	return cmd
}
