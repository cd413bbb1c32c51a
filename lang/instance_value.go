package lang

import (
	"sort"

	"ptc/lang/syntax"
)

// instance is a module with its arguments, parameters and sub-modules.
type instance struct {
	decl *syntax.Module
	file *file
	path string // of the instance in the model; empty for the model itself
	args map[string]value
	// params are the parameters; subs the sub-modules, each an *instance or
	// instances; lets the constants.
	params map[string]*param
	subs   map[string]value
	lets   map[string]value
}

// member is a name inside the module.
func (i *instance) member(name string) (value, bool) {
	if v, ok := i.args[name]; ok {
		return v, true
	}
	if p, ok := i.params[name]; ok {
		return paramRef{p}, true
	}
	if v, ok := i.subs[name]; ok {
		return v, true
	}
	if v, ok := i.lets[name]; ok {
		return v, true
	}
	for _, m := range i.decl.Members {
		if d, ok := m.(*syntax.Fn); ok && d.Name.Name == name {
			return function{decl: d, file: i.file, inst: i}, true
		}
	}
	return nil, false
}

// names lists the members, sorted.
func (i *instance) names() []string {
	var out []string
	for _, p := range i.decl.Params {
		out = append(out, p.Name.Name)
	}
	for _, m := range i.decl.Members {
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

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func newInstance(m moduleRef, path string) *instance {
	return &instance{decl: m.decl, file: m.file, path: path, args: map[string]value{},
		params: map[string]*param{}, subs: map[string]value{}, lets: map[string]value{}}
}
