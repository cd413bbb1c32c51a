package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"ptc/compiler"
)

// commit is set by the linker (see the Makefile).
var commit string

func versionLine() string {
	at := ""
	if commit != "" {
		at = " (" + commit + ")"
	}
	return fmt.Sprintf("%s%s %s/%s %s", compiler.Version, at, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of ptc",
		Long:    "Print the version of ptc, the commit it was built from, the system, and the Go\nversion that built it.",
		Example: "  ptc version",
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			return a.print("ptc " + versionLine() + "\n")
		},
	}
}
