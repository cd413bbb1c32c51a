package ptc

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/runtime/program"
)

// What is wrong with a source, and where; the codes are in docs/language.md.
type (
	Error  = diag.Error // one mistake
	Errors = diag.List  // all that were found; an error itself
	Pos    = diag.Pos   // file, line and column, which count from 1
	Note   = diag.Note  // a second place of an Error
)

// Bug is a fault of ptc, not of its user.
type Bug = compiler.Bug

// Diagnostics gives the mistakes in a source that err consists of; none where it
// is about something else.
func Diagnostics(err error) Errors {
	list, _ := diag.As(err)
	return list
}

// Report says what a compilation found besides the plan: warnings, remarks of the
// passes, times, and by Source the texts that positions refer to.
type Report = compiler.Report

// CompileOptions say what of a source to compile, and for what. The zero value is
// the file's first layout, for the best target there is here.
type CompileOptions struct {
	Layout string   // a layout's name; empty for the file's first
	Target string   // cpu, ref, or a full name such as cpu:x86-64-v3
	Set    []string // replacements of config entries, "name=value"
	Ports  []string // config entries that [Plan.Set] can give other values; see Report.Static

	// ImportsBelow is the folder that CompileFile may read imports from; empty for
	// the main file's. Compile takes all of its file system.
	ImportsBelow string
}

// Compile compiles the file name of fsys with what it imports, all of fsys. For
// sources of others on disk take [os.Root.FS], which links do not lead out of;
// they do from [os.DirFS]. Positions name files by their path from the main file's
// folder.
//
// When ctx is done, Compile ends before the next pass and returns its error.
func Compile(ctx context.Context, fsys fs.FS, name string, o CompileOptions) (*Plan, *Report, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, noReport(), err
	}
	return compile(ctx, path.Base(name), text, o, func(file string) ([]byte, error) {
		if file = path.Join(path.Dir(name), file); !fs.ValidPath(file) {
			return nil, compiler.ErrOutside
		}
		return fs.ReadFile(fsys, file)
	})
}

// CompileFile compiles a file on disk. It reads nothing outside the folder of
// imports, neither by ".." nor over a symbolic link.
func CompileFile(ctx context.Context, name string, o CompileOptions) (*Plan, *Report, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, noReport(), err
	}
	dir := filepath.Dir(name)
	below := o.ImportsBelow
	if below == "" {
		below = dir
	}
	read, err := compiler.ImportsBelow(below, dir)
	if err != nil {
		return nil, noReport(), err
	}
	return compile(ctx, filepath.Base(name), text, o, read)
}

func compile(ctx context.Context, name string, text []byte, o CompileOptions, read func(string) ([]byte, error)) (*Plan, *Report, error) {
	return finish(ctx, func(each compiler.Hook) (*program.Plan, *Report, error) {
		return compiler.Compile(compiler.Options{File: name, Source: text, Read: read, Set: o.Set, Ports: o.Ports, Layout: o.Layout, Target: o.Target,
			Hooks: []compiler.Hook{each}})
	})
}

// finish makes a plan and ends when ctx does: a compilation looks before each
// pass.
func finish(ctx context.Context, make func(each compiler.Hook) (*program.Plan, *Report, error)) (*Plan, *Report, error) {
	if err := ctx.Err(); err != nil {
		return nil, noReport(), err
	}
	p, r, err := make(func(int, string, func() string, time.Duration) error { return ctx.Err() })
	var bug *Bug
	switch {
	case errors.As(err, &bug) && ctx.Err() != nil:
		return nil, r, ctx.Err() // a hook's error comes back as a fault
	case err != nil:
		return nil, r, err
	}
	if err := p.Validate(); err != nil {
		return nil, r, &Bug{Err: err}
	}
	return &Plan{p}, r, nil
}

func noReport() *Report {
	return &Report{Source: func(string) (string, bool) { return "", false }}
}
