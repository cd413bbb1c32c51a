package eval

import (
	"maps"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Lookup resolves a name, at the places of package lang/source; what is bound to nothing
// is a [value.Word].
func (f *Frame) Lookup(id syntax.Node, name string) value.Value {
	if v, ok := f.lookup(f.file.Places(), id, name); ok {
		return v
	}
	return value.Word{Name: name, At: id}
}

func (f *Frame) lookup(places []source.Place, id syntax.Node, name string) (value.Value, bool) {
	return source.Lookup(places, func(p source.Place) (v value.Value, ok bool) {
		switch p {
		case source.Variables:
			v, ok = f.Vars[name]
		case source.Members:
			if f.inst != nil {
				v, ok = f.inst.Member(name)
			}
		case source.Top:
			v, ok = own(f.file, name)
		case source.Config:
			v, ok = f.Interp.Config.Value(name)
		case source.Implicit:
			v, ok = own(f.Interp.Prog.Implies(name), name)
		case source.Language:
			v, ok = f.builtinValue(id, name)
		}
		return v, ok
	})
}

// callable is lookup for the name of what is called: a number, a word or a
// tensor of that name does not hide a function.
func (f *Frame) callable(id syntax.Node, name string) value.Value {
	v := f.Lookup(id, name)
	switch v.(type) {
	case value.Number, value.Traced, value.Text, value.Truth, value.Tensor:
		if w, ok := f.lookup(source.Callables, id, name); ok {
			return w
		}
	}
	return v
}

// own is a top-level name of the file, not of its config.
func own(g *source.File, name string) (value.Value, bool) {
	if g == nil {
		return nil, false
	}
	if d := g.Funcs[name]; d != nil {
		return value.Function{Decl: d, File: g}, true
	}
	if d := g.Modules[name]; d != nil {
		return value.ModuleRef{Decl: d, File: g}, true
	}
	if h := g.Imports[name]; h != nil {
		return value.Namespace{File: h}, true
	}
	return nil, false
}

// selectName is `import.name`.
func (f *Frame) selectName(n value.Namespace, sel *syntax.Ident) value.Value {
	if v, ok := own(f.Interp.Prog.Selected(n.File, sel.Name), sel.Name); ok {
		return v
	}
	names := namesOf(n.File)
	return f.Wants("E0201", sel, diag.OneOf(names), instead(sel.Name, names), "`%s` has no `%s`", n.File.Name, sel.Name)
}

// namesOf lists what the file declares, sorted.
func namesOf(g *source.File) []string {
	out := slices.AppendSeq(slices.Collect(maps.Keys(g.Funcs)), maps.Keys(g.Modules))
	slices.Sort(out)
	return out
}

// known lists every name that the frame sees, sorted, for suggestions.
func (f *Frame) known() []string {
	out := slices.Collect(maps.Keys(f.Vars))
	if f.inst != nil {
		out = append(out, f.inst.Names()...)
	}
	out = append(out, namesOf(f.file)...)
	out = slices.AppendSeq(out, maps.Keys(f.file.Imports))
	out = append(out, f.Interp.Config.Names()...)
	for _, g := range f.Interp.Prog.Implicit() {
		out = append(out, namesOf(g)...)
	}
	out = slices.AppendSeq(out, maps.Keys(builtins))
	slices.Sort(out)
	return out
}

// Undefined reports a word that is used as a value.
func (f *Frame) Undefined(w value.Word) value.Value {
	if slices.Contains(source.Importable(), w.Name) { // one missing import is one mistake
		if f.errs.Said(w.Name) {
			return value.Unknown{}
		}
	}
	return f.Wants("E0201", w.At, "", instead(w.Name, f.known()), "unknown name `%s`", w.Name)
}

// Defines is whether the language itself binds a name.
func Defines(name string) bool {
	_, dtype := ir.ParseDType(name)
	return builtins[name] != nil || dtype || name == "training" || name == "step"
}

// builtinValue is a name that the language itself defines.
func (f *Frame) builtinValue(id syntax.Node, name string) (value.Value, bool) {
	if b := builtins[name]; b != nil {
		return Primitive{builtin: b}, true
	}
	if d, ok := ir.ParseDType(name); ok {
		return value.DType(d), true
	}
	switch name {
	case "training":
		return value.Truth(f.Interp.Builder != nil && f.Interp.Builder.Training), true
	case "step":
		if f.Interp.Builder == nil || f.Interp.Builder.Step == nil {
			return value.Word{Name: name, At: id}, true
		}
		return value.Tensor{V: f.Interp.Builder.Step}, true
	}
	return nil, false
}

// Saw remembers the sizes of a tensor's axes.
func (f *Frame) Saw(t ir.Type) {
	for _, a := range t.Axes {
		switch n, ok := f.Sizes[a.Name]; {
		case !ok:
			f.Sizes[a.Name] = a.Size
		case n != a.Size:
			f.Sizes[a.Name] = -1
		}
	}
}

// axisSize is the size that a name of an axis stands for: that of the tensors
// seen, where they agree, else the config's.
func (f *Frame) axisSize(n syntax.Node, name string) (int, bool) {
	if s := f.Sizes[name]; s > 0 {
		return s, true
	}
	if v, ok := f.Interp.Config.Value(name); ok {
		if value.IsUnknown(v) {
			return 0, false
		}
		if c, ok := f.plain(n, v, shapes).(value.Number); ok && c.Whole {
			return f.Size(n, c, name)
		}
		f.Interp.Config.noSize(name, v)
		return 0, false
	}
	for _, v := range f.Vars {
		if value.IsUnknown(v) {
			return 0, false // what went wrong may have been to make the axis
		}
	}
	var names []string
	for _, e := range f.Interp.Config.entries {
		if _, ok := value.NumberOf(e.val); ok {
			names = append(names, e.name)
		}
	}
	names = slices.AppendSeq(names, maps.Keys(f.Sizes))
	slices.Sort(names)
	f.Wants("E0204", n, "a config entry `"+name+"`, or its size here: `["+name+" = …]`", diag.DidYouMean(name, names), "axis `%s` has no size", name)
	return 0, false
}

// noSize reports a config entry that is the size of an axis and cannot be: where
// it stands, once, however many types have the axis.
func (c *Config) noSize(name string, v value.Value) {
	e := c.index[name]
	what := v.What()
	if n, ok := value.NumberOf(v); ok {
		what = value.FormatNumber(n)
	}
	x := source.ErrorAt("E0216", e.node.Value, "the size of axis `%s` is %s", name, what)
	x.Want = "a whole number from 1 to 2147483647"
	if e.set != nil {
		x.Pos, x.Len, x.Msg = diag.Pos{}, 0, "--set "+name+": "+x.Msg
	}
	c.in.Errs.Add(x)
}

// Size checks a number that is to be the size of an axis.
func (f *Frame) Size(n syntax.Node, c value.Number, name string) (int, bool) {
	s, ok := c.Int()
	if !ok || s < 1 || s > source.MaxSize {
		f.Wants("E0216", n, "a whole number from 1 to 2147483647", "", "the size of axis `%s` is %s", name, value.FormatNumber(c))
		return 0, false
	}
	return s, true
}

// NotA reports a value of the wrong kind, unless it is unknown already.
func (f *Frame) NotA(n syntax.Node, v value.Value, want string) value.Value {
	switch v := v.(type) {
	case value.Unknown:
		return v
	case value.Word:
		return f.Undefined(v)
	case value.Tensor:
		if strings.Contains(want, "number") && !strings.Contains(want, "tensor") {
			return f.Wants("E0219", n, want+" known at compile time", "", "found %s", v.What())
		}
	}
	return f.Wants("E0209", n, want, "", "found %s", v.What())
}
