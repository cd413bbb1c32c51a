package source

import (
	"slices"

	"ptc/stdlib"
)

// Place is where a name may be bound.
type Place uint8

// The places.
const (
	Variables Place = iota // of the function
	Members                // of the module
	Top                    // of the file: its declarations and imports
	Config                 // the entries of all files
	Implicit               // of the files that are imported everywhere
	Language               // built-in functions, dtypes
)

// Callables are the places of functions that a value of their name does not hide.
var Callables = []Place{Top, Implicit, Language}

// Places are where the names in a file are looked up, the first binding counts. A name
// that is bound nowhere is that of an axis, or a plain word. The standard library sees
// the config last, so that no entry of a user's can change what it means.
func (f *File) Places() []Place {
	if f.Std {
		return []Place{Variables, Members, Top, Implicit, Language, Config}
	}
	return []Place{Variables, Members, Top, Config, Implicit, Language}
}

// Lookup is what the first of the places binds a name to: a value where a program is
// evaluated, a declaration where it is edited.
func Lookup[B any](places []Place, at func(Place) (B, bool)) (b B, ok bool) {
	for _, p := range places {
		if b, ok = at(p); ok {
			return b, true
		}
	}
	return b, false
}

// Declares is whether the file declares a function or module.
func (f *File) Declares(name string) bool { return f.Funcs[name] != nil || f.Modules[name] != nil }

// Std is a file of the standard library that was read, or nil.
func (p *Program) Std(name string) *File {
	i := slices.IndexFunc(p.Files, func(f *File) bool { return f.Std && f.Name == StdPrefix+name+".ptl" })
	if i < 0 {
		return nil
	}
	return p.Files[i]
}

// Implicit are the files that are imported everywhere.
func (p *Program) Implicit() (out []*File) {
	for _, s := range stdlib.Implicit {
		if f := p.Std(s); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// Implies is the file imported everywhere that declares a name, or nil.
func (p *Program) Implies(name string) *File {
	for _, f := range p.Implicit() {
		if f.Declares(name) {
			return f
		}
	}
	return nil
}

// Selected is the file that declares what `import.name` stands for, or nil.
func (p *Program) Selected(imported *File, name string) *File {
	switch {
	case imported.Declares(name):
		return imported
	case imported.Std:
		return p.Implies(name)
	}
	return nil
}
