package directive

import (
	"slices"
	"strings"

	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// model is the lowered model: what the paths and axes of directives select. It changes no
// more, and reports nothing.
type model struct {
	made *eval.Model
	step *ir.Func    // nil where there is none
	data *value.Data // of the train block; nil where that has a mistake
	// incomplete: the model has errors, so that an axis that a directive names may
	// be missing for another reason than a slip in the directive; unnamed: so may a
	// module or parameter.
	incomplete, unnamed bool

	holders map[string]*syntax.Module // of each instance, by path; made when needed
	axes    []string                  // of all tensors, sorted; made when needed
}

func newModel(in *eval.Interp, step *ir.Func, data *value.Data, unnamed bool) *model {
	return &model{made: in.Model, step: step, data: data, unnamed: unnamed, incomplete: len(in.Errs.List) > 0}
}

// instancePaths lists, for each module, the paths of its instances; a repeated
// one is written with a star.
func (m *model) instancePaths() map[string][]string {
	paths := map[string][]string{}
	for _, i := range m.made.Instances {
		if i.Path == "" {
			continue
		}
		n, p := i.Decl.Name.Name, value.Starred(i.Path)
		if !slices.Contains(paths[n], p) {
			paths[n] = append(paths[n], p)
		}
	}
	return paths
}

// selects reports whether a path names a parameter, an instance or a module.
func (m *model) selects(p *syntax.Path) bool {
	return m.made.Selects(p.String()) || len(m.modules(p)) > 0
}

// repeats is whether the path names a repeated module of the model, without the numbers.
func (m *model) repeats(p *syntax.Path) bool {
	_, ok := repeatedAt(m.made.Root, p.Parts)
	return ok
}

// repeatedAt follows a path from m to a repeated module.
func repeatedAt(m *value.Instance, parts []string) (value.Instances, bool) {
	if len(parts) == 0 {
		return nil, false
	}
	switch s := m.Subs[parts[0]].(type) {
	case value.Instances:
		return s, len(parts) == 1
	case *value.Instance:
		return repeatedAt(s, parts[1:])
	}
	return nil, false
}

// repeatedPaths are the paths of the repeated modules in m, sorted.
func repeatedPaths(m *value.Instance, path string) (out []string) {
	for n, s := range m.Subs {
		switch s := s.(type) {
		case value.Instances:
			out = append(out, value.Join(path, n))
		case *value.Instance:
			out = append(out, repeatedPaths(s, value.Join(path, n))...)
		}
	}
	slices.Sort(out)
	return out
}

// patterns are patterns of modules; `blocks` alone is each of them.
func (m *model) patterns(ps []*syntax.Path) []string {
	var out []string
	for _, p := range ps {
		s := p.String()
		if m.repeats(p) {
			s += ".*"
		}
		out = append(out, s)
	}
	return out
}

// module is the declaration of a module that the model uses, by its name.
func (m *model) module(name string) *syntax.Module {
	for _, i := range m.made.Instances {
		if i.Decl.Name.Name == name && i.Path != "" {
			return i.Decl
		}
	}
	return nil
}

// names are all modules and paths, for suggestions; numbers are stars.
func (m *model) names() []string {
	var names []string
	seen := map[string]bool{}
	add := func(s string) {
		if s != "" && !seen[s] {
			seen[s] = true
			names = append(names, s)
		}
	}
	for _, i := range m.made.Instances {
		if i.Path != "" {
			add(i.Decl.Name.Name)
		}
		add(value.Starred(i.Path))
	}
	for _, q := range m.made.Params {
		add(value.Starred(q.Path))
	}
	return names
}

// covers is whether a pattern of a list names a parameter, an instance that holds it, or
// the module of one.
func (m *model) covers(ps []*syntax.Path, param string) bool {
	return slices.ContainsFunc(ps, func(p *syntax.Path) bool { return m.covered(p, param) })
}

func (m *model) covered(q *syntax.Path, param string) bool {
	s := q.String()
	if value.MatchPath(s, param) || value.MatchPath(s+".**", param) {
		return true
	}
	if m.holders == nil {
		m.holders = map[string]*syntax.Module{}
		for _, i := range m.made.Instances {
			m.holders[i.Path] = i.Decl
		}
	}
	for at := param; ; {
		i := strings.LastIndexByte(at, '.')
		if i < 0 {
			return false
		}
		at = at[:i]
		if m := m.holders[at]; m != nil && m.Name.Name == s {
			return true
		}
	}
}

// placed is a tensor of the model and what to call it.
type placed struct {
	typ  ir.Type
	name string
}

// tensors lists what rules are about, once for each type: the parameters,
// the batch, and the values of the forward pass.
func (m *model) tensors() []placed {
	var out []placed
	seen := map[string]bool{}
	add := func(t ir.Type, name string) {
		if k := t.WithDType(ir.F32).String(); !seen[k] {
			seen[k] = true
			out = append(out, placed{t, name})
		}
	}
	for _, p := range m.made.Params {
		if p.Like == nil { // one that is like another is of its type
			add(p.Type, parameter(p))
		}
	}
	if m.data != nil {
		for _, d := range m.data.Fields {
			add(d.Type, "the field `"+d.Name+"` of the batch")
		}
	}
	if m.step == nil {
		return out
	}
	for _, o := range m.step.Ops {
		if o.Name == "grad" {
			break
		}
		add(o.Results[0].Type, "the value at "+o.Pos.String())
	}
	return out
}

func parameter(p *value.Param) string { return "the parameter `" + p.Path + "`" }

// allAxes lists the axes of all tensors, sorted.
func (m *model) allAxes() []string {
	if m.axes != nil {
		return m.axes
	}
	for _, p := range m.tensors() {
		m.axes = append(m.axes, p.typ.Names()...)
	}
	slices.Sort(m.axes)
	m.axes = slices.Compact(m.axes)
	return m.axes
}

// batch is the axis over which the step's data is a batch; none where that has a mistake.
func (m *model) batch() (a ir.Axis, ok bool) {
	if m.data == nil {
		return a, false
	}
	return m.data.Fields[0].Type.Axes[0], true
}

// modules are the instances that a pattern selects, by their path or their module's name.
func (m *model) modules(p *syntax.Path) (out []*value.Instance) {
	for _, i := range m.made.Instances {
		if i.Path != "" && (i.Decl.Name.Name == p.String() || value.MatchPath(p.String(), i.Path)) {
			out = append(out, i)
		}
	}
	if len(out) > 0 {
		return out
	}
	if list, ok := repeatedAt(m.made.Root, p.Parts); ok {
		return list
	}
	return nil
}
