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
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ptc/internal/units"
	"ptc/runtime/native"
)

func main() {
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, signals: &signals{}}
	a.signals.foresee(os.Args[1:])
	a.signals.listen()
	if limit, _, ok := native.AddressSpace(); ok && limit < minSpace {
		os.Exit(a.report(nil, fileError(fmt.Errorf("this process may map %s of memory (ulimit -v), but ptc needs %s: raise the limit", units.Bytes(limit), units.Bytes(minSpace))), nil))
	}
	os.Exit(a.execute(context.Background(), os.Args[1:]))
}

// minSpace is the address space that ptc needs for itself, most of which Go and
// the threads reserve and never touch. With too little they end the process where
// they stand, and often before main: hence start_linux_amd64.s, which looks before
// Go starts. This is for builds and systems without it.
const minSpace = 2 << 30

// app is what the commands share: where they read and write, and what signals do.
type app struct {
	in       io.Reader
	out, err io.Writer
	telling  telling
	signals  *signals // nil: they are not listened to
}

// execute runs one command line and gives the exit code of the process.
func (a *app) execute(ctx context.Context, args []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			code = a.reportPanic(p, args)
		}
	}()
	root := newRoot(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	code = a.report(cmd, err, args)
	a.finish()
	return code
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "ptc COMMAND",
		Short: "Compile a model and its parallel layout to one static plan, and run it",
		Long: `ptc compiles a model, written in mathematics with named axes, and its parallel
layout to one static plan, and runs that plan.

Everything is known before the run: shapes, memory, the order of all work.
"ptc compile" reports every error, with the source line.`,
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
	root.SetFlagErrorFunc(flagError)
	a.telling = newTelling()
	root.PersistentFlags().Var(&a.telling.color, "color", "color messages: `auto`, always or never")
	complete(root, "color", func([]string) []string { return a.telling.color.words })
	a.diagnosticsFlag(root)
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
		{"work", "From a model to a trained one:", []*cobra.Command{newNew(a), newData(a), newImport(a), newLayout(a), newCompile(a), newRun(a), newEval(a), newSample(a), newSweep(a), newExport(a)}},
		{"look", "To look inside:", []*cobra.Command{newExplain(a), newSimulate(a), newReport(a), newCheck(a), newVerify(a), newOpt(a), newMachine(a)}},
		{"tool", "Tools:", []*cobra.Command{newFmt(a), newLSP(a), newSign(a), newBench(a), newTune(a), newDeploy(a), newDoctor(a), newVersion(a)}},
	}
}
