package eval

import (
	"slices"

	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Model is the model that a program trains, as far as it is instantiated.
type Model struct {
	Root      *value.Instance   // nil until it is whole
	Params    []*value.Param    // in the order of declaration
	absent    []*value.Param    // those whose condition is false
	Instances []*value.Instance // innermost first
	// Bounds are the types that cross the borders of each module: arguments
	// and results of apply in @step.
	Bounds map[*syntax.Module][]ir.Type
}

// addParam registers a parameter of the model.
func (f *Frame) addParam(n syntax.Node, p *value.Param) {
	m := f.Interp.Model
	if len(m.Params) >= source.MaxParams {
		f.Interp.stop(f, n, "more than %d parameters", source.MaxParams)
		return
	}
	m.Params = append(m.Params, p)
}

// boundary remembers what a module gives, for rules about its borders: a
// tensor, or each one of several values.
func (m *Model) boundary(i *value.Instance, v value.Value) {
	if several, ok := v.(value.Tuple); ok {
		for _, w := range several {
			m.boundary(i, w)
		}
		return
	}
	t, ok := v.(value.Tensor)
	if !ok {
		return
	}
	if slices.ContainsFunc(m.Bounds[i.Decl], func(o ir.Type) bool { return o.Equal(t.V.Type) }) {
		return
	}
	m.Bounds[i.Decl] = append(m.Bounds[i.Decl], t.V.Type)
}

// Absent are the parameters whose condition is false.
func (m *Model) Absent() []*value.Param { return m.absent }

// Selects is whether a pattern is of any parameter. One that a condition leaves
// out counts: a program says the same of it whatever its config is.
func (m *Model) Selects(pattern string) bool {
	return slices.ContainsFunc(slices.Concat(m.Params, m.absent), func(p *value.Param) bool {
		return value.MatchPath(pattern, p.Path)
	})
}

// moment is how much of a model there is.
type moment struct {
	params, absent, instances int
	work                      Work
}

// fill adds the instances of a gap to the list, like its last one, which was begun
// at the moment before.
func (m *Model) fill(list value.Instances, path string, g Gap, before moment) value.Instances {
	like := list[len(list)-1]
	params, absent, instances := m.Params[before.params:], m.absent[before.absent:], m.Instances[before.instances:]
	moved := func(ps, to []*value.Param, at string) []*value.Param {
		for _, p := range ps {
			q := *p
			q.Path, q.Like = at+p.Path[len(like.Path):], p
			to = append(to, &q)
		}
		return to
	}
	for k := g.From; k < g.To; k++ {
		at := elementPath(path, k)
		m.Params, m.absent = moved(params, m.Params, at), moved(absent, m.absent, at)
		for _, i := range instances {
			j := *i
			j.Path = at + i.Path[len(like.Path):]
			m.Instances = append(m.Instances, &j)
		}
		list = append(list, m.Instances[len(m.Instances)-1]) // a module comes behind its parts
	}
	return list
}
