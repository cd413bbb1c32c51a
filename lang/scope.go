package lang

import (
	"slices"
	"sort"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
	"ptc/stdlib"
)

// frame is one running function, module body or block: where names are looked
// up and mistakes are reported.
type frame struct {
	in   *interp
	file *file     // whose top-level names are seen
	inst *instance // whose members are seen; may be nil
	vars map[string]value
	// sizes has, for each axis of the tensors seen in this frame, its size, or
	// -1 where they differ.
	sizes map[string]int
	scope string // of emitted operations

	up   *frame      // caller
	site syntax.Node // the call, in the caller's code
	// common are the names of further arguments that someone else takes from the
	// call that the frame makes.
	common []string
	name   string // of the function
	depth  int

	result value // set by return
	done   bool
}

// child is a frame for something that f calls at site.
func (f *frame) child(site syntax.Node, name string, file *file, inst *instance) *frame {
	c := &frame{in: f.in, file: file, inst: inst, vars: map[string]value{}, sizes: map[string]int{},
		scope: f.scope, up: f, site: site, name: name, depth: f.depth + 1}
	if inst != nil && inst.path != "" {
		c.scope = inst.path
	}
	return c
}

// lookup resolves a name; what is bound to nothing is a [word].
//
// In a user's file: variables, members of the module, the file's declarations
// and imports, the config, then std.math and std.schedule, then what is built
// in. The standard library sees the config last, so that no entry of a user's
// can change what it means.
func (f *frame) lookup(id syntax.Node, name string) value {
	if v, ok := f.vars[name]; ok {
		return v
	}
	if f.inst != nil {
		if v, ok := f.inst.member(name); ok {
			return v
		}
	}
	if v, ok := own(f.file, name); ok {
		return v
	}
	if v, ok := f.in.configValue(name); ok && !f.file.std {
		return v
	}
	if v, ok := f.in.implicit(name); ok {
		return v
	}
	if v, ok := f.builtinValue(id, name); ok {
		return v
	}
	if v, ok := f.in.configValue(name); ok {
		return v
	}
	return word{name, id}
}

// callable is lookup for the name of what is called: a number, a word or a
// tensor of that name does not hide a function.
func (f *frame) callable(id syntax.Node, name string) value {
	v := f.lookup(id, name)
	switch v.(type) {
	case number, text, truth, tensor:
		if w, ok := own(f.file, name); ok {
			return w
		}
		if w, ok := f.in.implicit(name); ok {
			return w
		}
		if b := builtins[name]; b != nil {
			return primitive{builtin: b}
		}
	}
	return v
}

// own is a top-level name of the file, not of its config.
func own(g *file, name string) (value, bool) {
	if d := g.fns[name]; d != nil {
		return function{decl: d, file: g}, true
	}
	if d := g.modules[name]; d != nil {
		return moduleRef{d, g}, true
	}
	if h := g.imports[name]; h != nil {
		return namespace{h}, true
	}
	return nil, false
}

// implicit is a name of the files that are imported everywhere.
func (in *interp) implicit(name string) (value, bool) {
	for _, s := range stdlib.Implicit {
		if v, ok := own(in.stdFile(s), name); ok {
			return v, true
		}
	}
	return nil, false
}

// stdFile is a file of the standard library, which Load has read.
func (in *interp) stdFile(name string) *file {
	for _, g := range in.prog.files {
		if g.std && g.name == stdPrefix+name+".ptl" {
			return g
		}
	}
	return nil
}

// selectName is `import.name`.
func (f *frame) selectName(n namespace, sel *syntax.Ident) value {
	if v, ok := own(n.file, sel.Name); ok {
		if _, isImport := v.(namespace); !isImport {
			return v
		}
	}
	if n.file.std {
		if v, ok := f.in.implicit(sel.Name); ok {
			return v
		}
	}
	names := namesOf(n.file)
	return f.wants("E0201", sel, diag.OneOf(names), f.instead(sel.Name, names), "`%s` has no `%s`", n.file.name, sel.Name)
}

// names lists what the file declares, sorted.
func namesOf(g *file) []string {
	var out []string
	for n := range g.fns {
		out = append(out, n)
	}
	for n := range g.modules {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// known lists every name that the frame sees, sorted, for suggestions.
func (f *frame) known() []string {
	var out []string
	for n := range f.vars {
		out = append(out, n)
	}
	if f.inst != nil {
		out = append(out, f.inst.names()...)
	}
	out = append(out, namesOf(f.file)...)
	for n := range f.file.imports {
		out = append(out, n)
	}
	for _, e := range f.in.config {
		out = append(out, e.name)
	}
	for _, s := range stdlib.Implicit {
		out = append(out, namesOf(f.in.stdFile(s))...)
	}
	for n := range builtins {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// undefined reports a word that is used as a value.
func (f *frame) undefined(w word) value {
	if slices.Contains(importable(), w.name) { // one missing import is one mistake
		if f.in.missing[w.name] {
			return unknown{}
		}
		f.in.missing[w.name] = true
	}
	return f.wants("E0201", w.at, "", f.instead(w.name, f.known()), "unknown name `%s`", w.name)
}

// builtinValue is a name that the language itself defines.
func (f *frame) builtinValue(id syntax.Node, name string) (value, bool) {
	if b := builtins[name]; b != nil {
		return primitive{builtin: b}, true
	}
	if d, ok := ir.ParseDType(name); ok {
		return dtype(d), true
	}
	switch name {
	case "training":
		return truth(f.in.fb != nil && f.in.fb.training), true
	case "step":
		if f.in.fb == nil || f.in.fb.step == nil {
			return word{name, id}, true
		}
		return tensor{f.in.fb.step}, true
	}
	return nil, false
}

// saw remembers the sizes of a tensor's axes.
func (f *frame) saw(t ir.Type) {
	for _, a := range t.Axes {
		switch n, ok := f.sizes[a.Name]; {
		case !ok:
			f.sizes[a.Name] = a.Size
		case n != a.Size:
			f.sizes[a.Name] = -1
		}
	}
}

// axisSize is the size that a name of an axis stands for: that of the tensors
// seen, where they agree, else the config's.
func (f *frame) axisSize(n syntax.Node, name string) (int, bool) {
	if s := f.sizes[name]; s > 0 {
		return s, true
	}
	if v, ok := f.in.configValue(name); ok {
		if isUnknown(v) {
			return 0, false
		}
		if c, ok := v.(number); ok && c.whole {
			return f.size(n, c, name)
		}
		f.in.noSize(name, v)
		return 0, false
	}
	for _, v := range f.vars {
		if isUnknown(v) {
			return 0, false // what went wrong may have been to make the axis
		}
	}
	var names []string
	for _, e := range f.in.config {
		if _, ok := e.val.(number); ok {
			names = append(names, e.name)
		}
	}
	for a := range f.sizes {
		names = append(names, a)
	}
	sort.Strings(names)
	f.wants("E0204", n, "a config entry `"+name+"`, or its size here: `["+name+" = …]`", diag.DidYouMean(name, names), "axis `%s` has no size", name)
	return 0, false
}

// noSize reports a config entry that is the size of an axis and cannot be: where
// it stands, once, however many types have the axis.
func (in *interp) noSize(name string, v value) {
	e := in.configIndex[name]
	what := v.what()
	if c, ok := v.(number); ok {
		what = formatNumber(c)
	}
	x := at("E0216", e.node.Value, "the size of axis `%s` is %s", name, what)
	x.Want = "a whole number from 1 to 2147483647"
	if e.set != nil {
		x.Pos, x.Len, x.Msg = diag.Pos{}, 0, "--set "+name+": "+x.Msg
	}
	in.errs.add(x)
}

// size checks a number that is to be the size of an axis.
func (f *frame) size(n syntax.Node, c number, name string) (int, bool) {
	s, ok := c.int()
	if !ok || s < 1 || s > maxSize {
		f.wants("E0216", n, "a whole number from 1 to 2147483647", "", "the size of axis `%s` is %s", name, formatNumber(c))
		return 0, false
	}
	return s, true
}
