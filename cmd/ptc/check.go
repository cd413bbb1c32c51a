package main

import (
	"fmt"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/runtime/device/host"
)

func newCheck(a *app) *cobra.Command {
	var f sourceFlags
	var asJSON, ignore bool
	cmd := &cobra.Command{
		Use:   "check FILE [--layout NAME] [--set name=value]... [--json]",
		Short: "Execute the IR before and after every pass, and compare",
		Long: `Execute the IR before and after every pass on random inputs, and print the
largest relative difference that each pass made. Exit code 1 names the first pass
that changed the result by more than the reordering of sums explains.

The reference evaluator executes the IR in float64: choose small sizes with --set. If
they need more memory than the machine has, the command fails before it executes
anything and says how much; --ignore-memory continues regardless.`,
		Example: `  ptc check examples/gpt/gpt.ptl --set batch=2 --set seq=16
  ptc check gpt.ptl --layout three_d --set batch=8 --json`,
		Args:              exactly("FILE"),
		ValidArgsFunction: completeFiles("ptl"),
		RunE:              func(_ *cobra.Command, args []string) error { return a.check(args[0], &f, asJSON, ignore) },
	}
	f.add(cmd)
	f.addPorts(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&ignore, "ignore-memory", false, "check sizes that need more memory than the machine has")
	return cmd
}

func (a *app) check(path string, f *sourceFlags, asJSON, ignore bool) error {
	u, err := a.openUnit(path, f.importsBelow)
	if err != nil {
		return err
	}
	f.apply(&u.opts)
	if free, ok := host.Free(); ok && !ignore {
		u.opts.CheckMemory = max(free, 1)
		// What is needed is what is reachable: garbage is collected before it takes the rest.
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(u.opts.CheckMemory))
	}
	found, r, err := compiler.Check(u.opts)
	if err != nil {
		return compileError(err, u.sources(r))
	}
	if asJSON {
		err = a.printJSON(found)
	} else {
		err = a.print(checkTable(found))
	}
	if err != nil {
		return err
	}
	if bad := found.First(); bad != nil {
		return inputf("pass `%s` changed the result: relative difference %.3g at %s, and %.3g is allowed (%s)",
			bad.Pass, bad.Diff, bad.Worst, bad.Tol, bad.Kind)
	}
	return nil
}

func checkTable(r *compiler.CheckReport) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "pass\tcompared\tresults\tlargest difference\tallowed\twhere")
	for _, x := range r.Rows {
		verdict := ""
		if !x.OK {
			verdict = "  <- CHANGED"
		}
		fmt.Fprintf(w, "%02d-%s\t%s\t%d\t%.3g\t%.3g\t%s%s\n", x.Index, x.Pass, x.Kind, x.Compared, x.Diff, x.Tol, x.Worst, verdict)
	}
	w.Flush() // a strings.Builder takes everything
	for _, n := range r.NotFinite {
		fmt.Fprintf(&b, "not a finite number before the first pass: %s\n", n)
	}
	for _, n := range r.Zero {
		fmt.Fprintf(&b, "zero whatever the passes do: %s\n", n)
	}
	return b.String()
}
