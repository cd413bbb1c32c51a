package main

import (
	"bytes"
	"fmt"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"ptc/compiler"
)

func newFmt(a *app) *cobra.Command {
	var check, diff bool
	cmd := &cobra.Command{
		Use:   "fmt FILE... [--check] [--diff]",
		Short: "Format sources",
		Long: `Rewrite .ptl and .ptm files in the canonical layout, in place. Comments and the meaning stay.
"-" formats the standard input to the standard output.

A file with a syntax error is left unchanged.`,
		Example: `  ptc fmt model.ptl
  ptc fmt --check *.ptl      # for continuous integration: exit code 1 if any would change
  ptc fmt --diff model.ptl   # what would change
  ptc fmt - < model.ptl`,
		Args:              oneOrMore("FILE"),
		ValidArgsFunction: completeFiles("ptl", "ptm"),
		RunE: func(_ *cobra.Command, args []string) error {
			changes := 0
			var failed error // a file that cannot be formatted does not keep the others from it
			for _, path := range args {
				changed, err := a.format(path, check, diff)
				if err != nil {
					a.note(failed)
					failed = err
				}
				if changed {
					changes++
				}
			}
			if failed != nil {
				return failed
			}
			if check && changes > 0 {
				return inputf("%s not in the canonical layout; run ptc fmt", areNot(changes))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "change nothing; list the files that would change, and exit with 1 if there are any")
	cmd.Flags().BoolVar(&diff, "diff", false, "change nothing; print the differences")
	return cmd
}

func areNot(n int) string {
	if n == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", n)
}

// format does what the flags say with one file, and says whether its layout is
// not the canonical one.
func (a *app) format(path string, check, diff bool) (changed bool, err error) {
	src, err := a.readText(path, maxSource)
	if err != nil {
		return false, err
	}
	out, errs := compiler.Format(path, src)
	if len(errs) > 0 {
		return false, compileError(errs, oneSource(path, src))
	}
	changed = !bytes.Equal(src, out)
	switch {
	case diff && changed:
		return true, a.print(udiff.Unified(path, path+" (formatted)", string(src), string(out)))
	case check && changed:
		return true, a.print(path + "\n")
	case check || diff:
		return false, nil
	case path == stdio:
		return changed, a.print(string(out))
	case changed:
		return true, a.writeFile(path, out)
	}
	return false, nil
}
