// Command ptc compiles a model written in named-axis mathematics, with its
// parallel layout, to one static plan, and runs that plan.
//
// In: the command line. Out: files, text, and an exit code (see exit.go). Each
// command has a file of its own that knows its flags and how its results look;
// what a command does is in compiler and in runtime.
// Imports compiler, runtime/... and internal/diag.
package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// app is what the commands share: where they read and write.
type app struct {
	in       io.Reader
	out, err io.Writer
}

// execute runs one command line and gives the exit code of the process.
func execute(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) (code int) {
	a := &app{in: in, out: out, err: errw}
	defer func() {
		if p := recover(); p != nil {
			code = a.reportPanic(p, args)
		}
	}()
	root := newRoot(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return a.report(cmd, err, args)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "ptc COMMAND",
		Short: "Compile a model and its parallel layout to one static plan, and run it",
		Long: `ptc compiles a model, written in mathematics with named axes, and its parallel
layout to one static plan, and runs that plan.

Everything is known before the run: shapes, memory, the order of all work. What
is wrong is an error of "ptc compile", with the source line.`,
		Example: `  ptc new hello && cd hello
  ptc compile model.ptl
  ptc run model.bin --steps 200`,
		SilenceErrors: true,
		SilenceUsage:  true,

		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	for _, g := range commands(a) {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.cmds {
			c.GroupID = g.id
			c.DisableFlagsInUseLine = true
			c.RunE = started(c.RunE)
			root.AddCommand(c)
		}
	}
	// The root runs only to refuse an unknown command: no line of usage.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable .HasParent}}", 1))
	root.SetHelpCommand(newHelp(root))
	root.SetCompletionCommandGroupID("tool")
	return root
}

// group is commands that help lists together.
type group struct {
	id, title string
	cmds      []*cobra.Command
}

func commands(a *app) []group {
	return []group{
		{"work", "From a model to a trained one:", []*cobra.Command{newNew(a), newCompile(a), newRun(a)}},
		{"look", "To look inside:", []*cobra.Command{newExplain(a), newCheck(a), newVerify(a), newOpt(a)}},
		{"tool", "Tools:", []*cobra.Command{newFmt(a), newSign(a), newDoctor(a), newVersion(a)}},
	}
}
