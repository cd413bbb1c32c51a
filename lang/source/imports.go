package source

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/lang/syntax"
	"ptc/stdlib"
)

// ImportName is the name under which an import is known.
func ImportName(d *syntax.Import) *syntax.Ident {
	switch {
	case d.As != nil:
		return d.As
	case len(d.Parts) > 0:
		return d.Parts[len(d.Parts)-1]
	}
	base := path.Base(string(d.File))
	return &syntax.Ident{Span: d.Span, Name: strings.TrimSuffix(base, path.Ext(base))}
}

// Imported is a file of the user's with the first import that names it, in the order in which the files were read.
type Imported struct {
	File *File
	By   *syntax.Import
}

// Imported are the files that the main file imports, directly or through others, without those of the standard library.
func (p *Program) Imported() (out []Imported) {
	seen := map[*File]bool{p.Main: true}
	for _, f := range p.Files {
		if f.Std || f.Tree == nil {
			continue
		}
		for _, d := range syntax.Decls[*syntax.Import](f.Tree) {
			if g := f.Imports[ImportName(d).Name]; g != nil && !g.Std && !seen[g] {
				seen[g] = true
				out = append(out, Imported{g, d})
			}
		}
	}
	return out
}

// importPath is the path of an import, as it is written.
func importPath(d *syntax.Import) string {
	if d.File != "" {
		return string(d.File)
	}
	return strings.ReplaceAll(d.Path(), ".", "/") + ".ptl"
}

// follow reads what an import names, once.
func (ld *loader) follow(f *File, d *syntax.Import) *File {
	if len(d.Parts) > 0 && d.Parts[0].Name == "std" {
		name, ok := libraryName(d)
		if !ok {
			ld.errs.Add(Wanted("E0212", d, stdNames(), "", "`%s` names no file of the standard library", d.Path()))
			return nil
		}
		return ld.std(name, d)
	}
	p := importPath(d)
	if path.IsAbs(p) {
		ld.errs.Add(Wanted("E0212", d, "a path relative to this file", "", "`%s` is an absolute path, which exists on one machine only", p))
		return nil
	}
	p = path.Join(path.Dir(f.Name), p)
	if g := ld.byName[fileKey(p, false)]; g != nil {
		if g.state == loading {
			over := ", over " + f.Name
			if g == f {
				over = ""
			}
			ld.errs.Add(ErrorAt("E0212", d, "`%s` imports itself%s", p, over))
			return nil
		}
		return g
	}
	return ld.user(p, d)
}

// libraryName is what package stdlib calls the file that std.nn or std.models.llama
// names.
func libraryName(d *syntax.Import) (string, bool) {
	switch {
	case len(d.Parts) == 2:
		return d.Parts[1].Name, true
	case len(d.Parts) == 3:
		name := d.Parts[1].Name + "/" + d.Parts[2].Name
		return name, stdlib.IsModel(name)
	}
	return "", false
}

func (ld *loader) user(p string, d *syntax.Import) *File {
	switch {
	case ld.read == nil || len(ld.prog.Files) >= maxFiles:
		ld.errs.Add(ErrorAt("E0212", d, "cannot import `%s`: no more files can be read here", p))
		return nil
	case strings.HasPrefix(p, StdPrefix):
		ld.errs.Add(ErrorAt("E0212", d, "cannot import `%s`: the folder `std` is the standard library's", p))
		return nil
	}
	src, err := ld.read(p)
	if errors.Is(err, ErrOutside) {
		ld.errs.Add(Wanted("E0230", d, "a file below the main file's folder, or below the folder that --imports-below names", "",
			"`%s` is outside the folder for imports", importPath(d)))
		return nil
	}
	if err != nil {
		ld.errs.Add(ErrorAt("E0212", d, "cannot import `%s`: %s", p, cause(err)))
		return nil
	}
	return ld.parse(p, src, false)
}

// cause is the last part of an error, without the path that the operating
// system puts before it.
func cause(err error) string {
	s := fmt.Sprint(err)
	if i := strings.LastIndex(s, ": "); i >= 0 {
		return s[i+2:]
	}
	return s
}

func (ld *loader) std(name string, d *syntax.Import) *File {
	full := StdPrefix + name + ".ptl"
	if g := ld.byName[fileKey(full, true)]; g != nil {
		return g
	}
	src, ok := ld.library(name)
	if !ok {
		e := &diag.Error{Code: "E0212", Msg: fmt.Sprintf("there is no `std.%s`", name)} // of a plan, where every file imports it
		if d != nil {
			e = ErrorAt("E0212", d, "there is no `std.%s`", strings.ReplaceAll(name, "/", "."))
		}
		e.Want, e.Hint = stdNames(), diag.DidYouMean(name, stdlib.Names())
		if stdlib.IsModel(name) {
			e.Want, e.Hint = modelNames(), diag.DidYouMean(path.Base(name), stdlib.Models())
		}
		ld.errs.Add(e)
		return nil
	}
	return ld.parse(full, []byte(src), true)
}

// Importable are the modules of the standard library that a file imports by
// name; the others are in the scope of every file.
func Importable() []string {
	var out []string
	for _, n := range stdlib.Names() {
		if !slices.Contains(stdlib.Implicit, n) {
			out = append(out, n)
		}
	}
	return out
}

func stdNames() string { return prefixed("std.", stdlib.Names()) }

func modelNames() string { return prefixed("std.models.", stdlib.Models()) }

func prefixed(before string, names []string) string {
	for i, n := range names {
		names[i] = before + n
	}
	return diag.OneOf(names)
}
