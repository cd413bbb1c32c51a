package source

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"ptc/internal/diag"
	"ptc/lang/syntax"
	"ptc/stdlib"
)

// Importer reads a user's file by its path, which is relative to where the
// main file's path is. It returns ErrOutside for what it may not read.
type Importer func(path string) ([]byte, error)

// ErrOutside is a file outside the folder that imports may come from.
var ErrOutside = errors.New("outside the folder of imports")

// Source is the text of a file that was read.
type Source struct{ Name, Text string }

// Program is a main file and everything it imports, parsed.
type Program struct {
	// Sources are the files read: the main file, the user's other files in the
	// order of their imports, then those of the standard library.
	Sources []Source

	Main  *File
	Files []*File // in the order read
}

// IsModel says whether the file is a model of the standard library.
func (f *File) IsModel() bool {
	return f.Std && stdlib.IsModel(strings.TrimPrefix(f.Name, StdPrefix))
}

// File is one parsed source with its top-level names.
type File struct {
	Name    string
	Std     bool
	Tree    *syntax.File
	Imports map[string]*File
	Funcs   map[string]*syntax.Fn
	Modules map[string]*syntax.Module
	state   loadState
}

type loadState uint8

const (
	loading loadState = iota
	loaded
)

// Library reads a file of the standard library: math for std/math.ptl.
type Library func(name string) (text string, ok bool)

// Load parses the main file and, through read, what it imports; library has the
// standard library's text. The Program is never nil: with errors it serves to
// show their sources.
func Load(name string, src []byte, read Importer, library Library) (*Program, diag.List) {
	return load(name, src, read, library, syntax.Parse)
}

// LoadPart is Load for texts that somebody is still writing: a file with errors of
// syntax has a tree of what is left without them.
func LoadPart(name string, src []byte, read Importer, library Library) (*Program, diag.List) {
	return load(name, src, read, library, syntax.ParsePart)
}

func load(name string, src []byte, read Importer, library Library, parse func(string, []byte) (*syntax.File, diag.List)) (*Program, diag.List) {
	ld := &loader{userText: parse, prog: &Program{}, read: read, library: library, byName: map[string]*File{}}
	ld.prog.Main = ld.parse(name, src, false)
	for _, s := range stdlib.Implicit {
		ld.std(s, nil)
	}
	var std []Source
	for i, f := range ld.prog.Files {
		if f.Std {
			std = append(std, ld.sources[i])
		} else {
			ld.prog.Sources = append(ld.prog.Sources, ld.sources[i])
		}
	}
	ld.prog.Sources = append(ld.prog.Sources, std...)
	return ld.prog, ld.errs.List.Sort()
}

// Source is the text of the file called name, for rendering diagnostics.
func (p *Program) Source(name string) (string, bool) {
	for _, s := range p.Sources {
		if s.Name == name {
			return s.Text, true
		}
	}
	return "", false
}

// HasConfig says whether a config entry of this name is in a file.
func (p *Program) HasConfig(name string) bool {
	for _, f := range p.Files {
		for _, c := range syntax.Decls[*syntax.Config](f.Tree) {
			if slices.ContainsFunc(c.Entries, func(e *syntax.Entry) bool { return e.Key.Name == name }) {
				return true
			}
		}
	}
	return false
}

// StdPrefix begins the names of the standard library's files.
const StdPrefix = "std/"

// fileKey keeps apart a user's file and one of the standard library that has
// the same name.
func fileKey(name string, std bool) string {
	if std {
		return "std:" + name
	}
	return name
}

type loader struct {
	userText func(name string, src []byte) (*syntax.File, diag.List)

	prog    *Program
	read    Importer
	library Library
	byName  map[string]*File
	sources []Source
	errs    Reporter
}

func (ld *loader) parse(name string, src []byte, std bool) *File {
	f := &File{Name: name, Std: std, Imports: map[string]*File{}, Funcs: map[string]*syntax.Fn{}, Modules: map[string]*syntax.Module{}}
	ld.byName[fileKey(name, std)] = f
	ld.sources = append(ld.sources, Source{Name: name, Text: string(src)})
	ld.prog.Files = append(ld.prog.Files, f)
	parse := ld.userText
	if std {
		parse = parseStd
	}
	tree, errs := parse(name, src)
	for _, e := range errs {
		ld.errs.Add(e)
	}
	if tree != nil {
		f.Tree = tree
		ld.declare(f)
	}
	f.state = loaded
	return f
}

// stdTrees are the files of the standard library that were parsed, by name: they
// are the same for every program, and nothing changes a tree.
var stdTrees sync.Map

func parseStd(name string, src []byte) (*syntax.File, diag.List) {
	if tree, ok := stdTrees.Load(name); ok {
		return tree.(*syntax.File), nil
	}
	tree, errs := syntax.Parse(name, src)
	if len(errs) == 0 {
		stdTrees.Store(name, tree)
	}
	return tree, errs
}

// declare enters the file's top-level names and follows its imports.
func (ld *loader) declare(f *File) {
	first := map[string]syntax.Node{}
	enter := func(id *syntax.Ident) bool {
		if old := first[id.Name]; old != nil {
			ld.errs.Add(Twice(id, old))
			return false
		}
		first[id.Name] = id
		return true
	}
	for _, d := range f.Tree.Decls {
		switch d := d.(type) {
		case *syntax.Config:
			for _, e := range d.Entries {
				enter(e.Key)
			}
			if f.Std && !f.IsModel() {
				ld.errs.Add(ErrorAt("E0221", d, "a file of the standard library has no config"))
			}
		case *syntax.Fn:
			if enter(d.Name) {
				f.Funcs[d.Name.Name] = d
			}
		case *syntax.Module:
			if enter(d.Name) {
				f.Modules[d.Name.Name] = d
			}
			ld.checkMembers(d)
		case *syntax.Machine:
			ld.errs.Add(Wanted("E0221", d, "a file of its own, `"+d.Name.Name+".ptm`", "", "a machine in a file of models"))
		case *syntax.Import:
			if g := ld.follow(f, d); g != nil {
				id := ImportName(d)
				if enter(id) {
					f.Imports[id.Name] = g
				}
			}
		}
	}
}

// checkMembers reports members of one name, and state outside an optimizer.
func (ld *loader) checkMembers(m *syntax.Module) {
	first := map[string]syntax.Node{}
	enter := func(id *syntax.Ident) {
		if old := first[id.Name]; old != nil {
			ld.errs.Add(Twice(id, old))
			return
		}
		first[id.Name] = id
	}
	for id := range m.Declared() {
		enter(id)
	}
	for _, x := range m.Members {
		switch x := x.(type) {
		case *syntax.ParamDecl:
			if (x.Kind == "state") != (m.Kind == "optimizer") {
				ld.errs.Add(Wanted("E0221", x, "`param` in a module or model, `state` in an optimizer", "", "`%s` does not belong in `%s %s`", x.Kind, m.Kind, m.Name.Name))
			}
			if x.Kind == "state" {
				ld.checkState(x)
			}
		case *syntax.SubModule:
			if m.Kind == "optimizer" {
				ld.errs.Add(ErrorAt("E0221", x, "a module inside an optimizer"))
			}
		}
	}
}

// checkState reports what only a parameter has.
func (ld *loader) checkState(x *syntax.ParamDecl) {
	if x.Decay != nil {
		ld.errs.Add(ErrorAt("E0221", x.Decay, "`%s` of a state: only a parameter decays", x.Decay.Name))
	}
	if x.When != nil {
		ld.errs.Add(Wanted("E0221", x.When, "", "a state that an update neither reads nor sets takes no memory", "a state with a condition"))
	}
}
