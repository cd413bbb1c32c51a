package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// starter is the project that ptc new writes.
//
//go:embed starter
var starter embed.FS

func newNew(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "new DIR",
		Short: "Start a project: a small model that trains at once",
		Long: `Write a small model, ready to be compiled and trained, to a new or an empty
folder.`,
		Example: `  ptc new hello
  cd hello && ptc compile model.ptl && ptc run model.bin`,
		Args: exactly("DIR"),
		RunE: func(_ *cobra.Command, args []string) error { return a.newProject(args[0]) },
	}
}

func (a *app) newProject(dir string) error {
	switch entries, err := os.ReadDir(dir); {
	case err == nil && len(entries) > 0:
		return inputf("%s is not empty; name a new folder", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return inputf("cannot use %s as a folder: %w", dir, cause(err))
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fileError(wrapWrite(dir, err))
	}
	files, err := starter.ReadDir("starter")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := starter.ReadFile("starter/" + f.Name())
		if err != nil {
			return err
		}
		if err := a.writeFile(filepath.Join(dir, f.Name()), text); err != nil {
			return err
		}
	}
	return a.print(fmt.Sprintf("%s is ready. Now:\n  cd %s\n  ptc compile model.ptl\n  ptc run model.bin\n", dir, dir))
}
