package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ptc/compiler"
	"ptc/internal/regular"
	"ptc/internal/units"
	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/program"
	"ptc/runtime/tokenizer"
)

// maxSource bounds a source, far above any that is meant: what is longer is
// another kind of file.
const maxSource = compiler.MaxSource

// maxIR bounds a dump, which grows with the model.
const maxIR = 1 << 30

// stdio is the name of the standard input or output among files.
const stdio = "-"

// readText reads a source of at most limit bytes; "-" is the standard input.
// What cannot be read is the user's input, hence exit code 1.
func (a *app) readText(path string, limit int64) ([]byte, error) {
	in := a.in
	if path != stdio {
		f, err := regular.Open(path)
		var not *regular.Error
		if errors.As(err, &not) && not.Mode&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0 {
			return nil, inputf("cannot read %s: %w; `%s` stands for the standard input", path, not, stdio)
		}
		if err != nil {
			return nil, inputf("cannot read %s: %w", path, cause(err))
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, inputf("cannot read %s: %w", path, cause(err))
	}
	if program.IsPlan(text) {
		return nil, inputf("cannot read %s: it is a plan, not a text; `ptc verify %s --sources` prints its sources", path, path)
	}
	if int64(len(text)) > limit {
		return nil, inputf("cannot read %s: it is longer than %s", path, units.Bytes(limit))
	}
	return text, nil
}

// cause drops the operation and the path, which the message already has.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// unit is a main file to compile. The compiler knows sources by their path from
// the main file's folder, so that a plan does not say where it was compiled;
// the user knows them by their path from where they are.
type unit struct {
	path string // as the user gave it
	dir  string
	opts compiler.Options
}

// openUnit reads the main file. What it imports lies below the folder below, by
// default its own.
func (a *app) openUnit(path string, below string) (*unit, error) {
	text, err := a.readText(path, maxSource)
	if err != nil {
		return nil, err
	}
	u := &unit{path: path, dir: filepath.Dir(path)}
	u.opts.File, u.opts.Source = filepath.Base(path), text
	u.opts.Tokenizer = u.readTokenizer
	if below == "" {
		below = u.dir
	}
	if u.opts.Read, err = compiler.ImportsBelow(below, u.dir); err != nil {
		return nil, usagef("--imports-below: %w", err)
	}
	return u, nil
}

// readTokenizer reads the file of a tokenizer. It may be anywhere, as no line of it
// is ever shown.
func (u *unit) readTokenizer(path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(u.dir, filepath.FromSlash(path))
	}
	f, err := regular.Open(tokenizer.FileOf(path))
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	return regular.ReadAll(f, tokenizer.MaxFile)
}

// sources shows the user's files by their path and those of the standard
// library by their name.
func (u *unit) sources(r *compiler.Report) sources {
	return func(file string) (text, path string, ok bool) {
		text, ok = r.Source(file)
		switch {
		case !ok:
			return "", "", false
		case file == u.opts.File:
			path = u.path
		case strings.HasPrefix(file, "std/"):
			path = file
		default:
			path = filepath.Join(u.dir, filepath.FromSlash(file))
		}
		return text, path, true
	}
}

// readPlan reads a plan, and says so where it is given a source.
func readPlan(path string) (*program.Plan, error) {
	plan, err := program.ReadFile(path)
	if errors.Is(err, program.ErrNotPlan) && filepath.Ext(path) == ".ptl" {
		err = fmt.Errorf("%w, but a source; compile it with `ptc compile %s`", err, path)
	}
	return plan, fileError(err)
}

// oneSource is the sources of a command that reads one file.
func oneSource(name string, text []byte) sources {
	return func(file string) (string, string, bool) { return string(text), name, file == name }
}

// writeFile puts data at path, whole or not at all; "-" is the standard output.
// A link stays one, and a character device is written to, not replaced. A file
// that is replaced hands on its permissions.
func (a *app) writeFile(path string, data []byte) error {
	if path == stdio {
		return a.print(string(data))
	}
	defer a.signals.hold()()
	f, err := atomicfile.Create(path)
	if err != nil {
		return fileError(wrapWrite(path, err))
	}
	defer f.Abort()
	if _, err = f.Write(data); err == nil {
		if st, e := os.Stat(path); e == nil && st.Mode().IsRegular() {
			err = f.Chmod(st.Mode().Perm())
		}
	}
	if err == nil {
		err = f.Commit()
	}
	return fileError(wrapWrite(path, err))
}

func wrapWrite(path string, err error) error {
	if err == nil {
		return nil
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		err = l.Err
	}
	return fmt.Errorf("cannot write %s: %w", path, cause(err))
}

// printJSON writes a value to the standard output, for programs.
func (a *app) printJSON(v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return a.print(string(text) + "\n")
}

// print writes a finished text to the standard output.
func (a *app) print(text string) error {
	if _, err := io.WriteString(a.out, text); err != nil {
		return fileError(wrapWrite("the standard output", err))
	}
	return nil
}

// keepsInputs reports an output that is one of the files which were read: it would be lost.
func keepsInputs(output string, inputs ...string) error {
	to, err := os.Stat(output)
	if err != nil {
		return nil // it is new, or writing says what is wrong
	}
	for _, in := range inputs {
		if from, err := os.Stat(in); err == nil && os.SameFile(from, to) {
			return usagef("%s is the input and would be lost: write to another file", output)
		}
	}
	return nil
}
