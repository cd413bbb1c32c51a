package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/editor/server"
)

func newLSP(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "lsp",
		Short: "Serve an editor: shapes, errors, completion, renaming",
		Long: `Speak the Language Server Protocol on the standard input and output. An editor
starts it; docs/editors.md says how.

The source of the standard library, as an editor shows it, is written to the user's cache.`,
		Example: `  ptc lsp`,
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.lsp(cmd.Context())
		},
	}
}

func (a *app) lsp(ctx context.Context) error {
	o := server.Options{Delay: 200 * time.Millisecond, Patience: time.Second, Version: compiler.Version}
	if dir, err := os.UserCacheDir(); err == nil { // else definitions in the library lead nowhere
		o.Library = filepath.Join(dir, "ptc", "std")
	}
	if err := server.Serve(ctx, a.in, a.out, o); err != nil {
		return inputf("%w", err)
	}
	return nil
}
