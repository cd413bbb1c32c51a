package value

import (
	"sort"

	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Instance is a module with its arguments, parameters and sub-modules.
type Instance struct {
	Decl *syntax.Module
	file *source.File
	Path string // of the instance in the model; empty for the model itself
	Args map[string]Value
	// params are the parameters; subs the sub-modules, each an *instance or
	// instances; lets the constants.
	Params map[string]*Param
	Subs   map[string]Value
	Lets   map[string]Value
}

// Member is a name inside the module.
func (i *Instance) Member(name string) (Value, bool) {
	if v, ok := i.Args[name]; ok {
		return v, true
	}
	if p, ok := i.Params[name]; ok {
		return ParamRef{p}, true
	}
	if v, ok := i.Subs[name]; ok {
		return v, true
	}
	if v, ok := i.Lets[name]; ok {
		return v, true
	}
	for _, m := range i.Decl.Members {
		if d, ok := m.(*syntax.Fn); ok && d.Name.Name == name {
			return Function{Decl: d, File: i.file, Inst: i}, true
		}
	}
	return nil, false
}

// Names lists the members, sorted.
func (i *Instance) Names() []string {
	var out []string
	for _, p := range i.Decl.Params {
		out = append(out, p.Name.Name)
	}
	for _, m := range i.Decl.Members {
		switch m := m.(type) {
		case *syntax.ParamDecl:
			for _, n := range m.Names {
				out = append(out, n.Name)
			}
		case *syntax.SubModule:
			for _, n := range m.Names {
				out = append(out, n.Name)
			}
		case *syntax.Let:
			out = append(out, m.Name.Name)
		case *syntax.Fn:
			out = append(out, m.Name.Name)
		}
	}
	sort.Strings(out)
	return out
}

func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func NewInstance(m ModuleRef, path string) *Instance {
	return &Instance{Decl: m.Decl, file: m.File, Path: path, Args: map[string]Value{},
		Params: map[string]*Param{}, Subs: map[string]Value{}, Lets: map[string]Value{}}
}
