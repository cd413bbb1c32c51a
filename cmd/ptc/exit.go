package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/internal/diag"
)

// Exit codes of the process.
const (
	exitOK        = 0
	exitInput     = 1   // the user's source or input is wrong
	exitUsage     = 2   // the command line is wrong
	exitFile      = 3   // a plan, a checkpoint or another file cannot be used, or a run failed
	exitBug       = 4   // a fault of ptc itself
	exitInterrupt = 130 // a signal ended the process at once
)

// fault is an error that knows its exit code.
type fault struct {
	code   int
	err    error
	source sources // to show the lines of diagnostics; may be nil
	silent bool    // someone else has told the user
}

// sources gives the text of a source by the name that diagnostics have for it,
// and the path under which the user knows it.
type sources func(file string) (text, path string, ok bool)

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

func inputf(format string, args ...any) error {
	return &fault{code: exitInput, err: fmt.Errorf(format, args...)}
}

func usagef(format string, args ...any) error {
	return &fault{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// fileError is a file that cannot be used.
func fileError(err error) error {
	if err == nil {
		return nil
	}
	return &fault{code: exitFile, err: err}
}

// compileError gives an error of package compiler its code: ours are marked,
// all others are about what the user asked for.
func compileError(err error, source sources) error {
	if err == nil {
		return nil
	}
	var bug *compiler.Bug
	if errors.As(err, &bug) {
		return &fault{code: exitBug, err: err, source: source}
	}
	return &fault{code: exitInput, err: err, source: source}
}

// started marks what a command itself returns, so that any other error is one
// of cobra's about the command line.
func started(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := emptyFlags(cmd)
		if err == nil {
			err = run(cmd, args)
		}
		if err == nil {
			return nil
		}
		var f *fault
		if errors.As(err, &f) {
			return f
		}
		var coded interface{ ExitCode() int }
		if errors.As(err, &coded) {
			return &fault{code: coded.ExitCode(), err: err}
		}
		return &fault{code: exitBug, err: err}
	}
}

// report tells the user about err and gives the exit code.
func (a *app) report(cmd *cobra.Command, err error, args []string) int {
	if err == nil {
		return exitOK
	}
	var f *fault
	if !errors.As(err, &f) {
		f = &fault{code: exitUsage, err: err}
	}
	if f.silent {
		return f.code
	}
	switch f.code {
	case exitUsage:
		if !a.telling.forPeople() {
			a.message("error", f.err.Error())
			break
		}
		fmt.Fprintf(a.err, "error: %s\n\nusage: %s\nSee \"%s --help\".\n", f.err, cmd.UseLine(), cmd.CommandPath())
	case exitBug:
		a.reportBug(f.err.Error(), nil, args)
	default:
		a.tell(f)
	}
	return f.code
}

// note tells the user about an error after which a command goes on.
func (a *app) note(err error) {
	var f *fault
	if errors.As(err, &f) {
		a.tell(f)
	}
}

// reportPanic is called while the panic p unwinds.
func (a *app) reportPanic(p any, args []string) int {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var stack []string
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "ptc/") {
			stack = append(stack, fmt.Sprintf("%s (%s:%d)", f.Function, filepath.Base(f.File), f.Line))
		}
		if !more || len(stack) == 8 {
			break
		}
	}
	return a.reportBug(fmt.Sprint(p), stack, args)
}

// reportBug says what to report; it gives the exit code.
func (a *app) reportBug(what string, stack []string, args []string) int {
	fmt.Fprintf(a.err, "internal error: %s\n\n", what)
	fmt.Fprint(a.err, "This is a fault of ptc, not of yours. Please report it with the lines below and\nthe source or the plan that it needs to happen again.\n\n")
	fmt.Fprintf(a.err, "  version  %s\n", versionLine())
	fmt.Fprintf(a.err, "  command  ptc %s\n", strings.Join(args, " "))
	for i, s := range stack {
		label := "at"
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(a.err, "  %-7s  %s\n", label, s)
	}
	return exitBug
}

// names lists the commands.
func names(root *cobra.Command) []string {
	var all []string
	for _, c := range root.Commands() {
		all = append(all, c.Name())
	}
	return all
}

func unknownCommand(root *cobra.Command, name string) error {
	hint := diag.DidYouMean(name, names(root))
	if hint != "" {
		hint = "; " + hint
	}
	return usagef("unknown command `%s`%s", name, hint)
}
