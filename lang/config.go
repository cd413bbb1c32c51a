package lang

import (
	"math"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
)

// Override sets a config entry, as --set key=value does.
type Override struct{ Key, Value string }

// entry is one value of the config, evaluated on demand, so that entries may
// refer to later ones.
type entry struct {
	name  string
	node  *syntax.Entry
	file  *file
	set   *Override
	state entryState
	val   value
}

type entryState uint8

const (
	pending entryState = iota
	running
	evaluated
)

// loadConfig gathers the entries of every file: the main file's come first and
// win over those of files it imports.
func (in *interp) loadConfig(set []Override) {
	in.configIndex = map[string]*entry{}
	for _, g := range in.prog.files {
		if g.tree == nil || g.std {
			continue
		}
		for _, d := range g.tree.Decls {
			c, ok := d.(*syntax.Config)
			if !ok {
				continue
			}
			for _, n := range c.Entries {
				if in.configIndex[n.Key.Name] == nil {
					e := &entry{name: n.Key.Name, node: n, file: g}
					in.configIndex[e.name] = e
					in.config = append(in.config, e)
				}
			}
		}
	}
	for i := range set {
		in.override(&set[i])
	}
	for _, e := range in.config {
		in.eval(e)
	}
}

// setFile is the file name in positions of overrides.
const setFile = "--set"

func (in *interp) override(o *Override) {
	e := in.configIndex[o.Key]
	if e != nil {
		e.set = o
		return
	}
	var names []string
	for _, c := range in.config {
		names = append(names, c.name)
	}
	in.errs.add(&diag.Error{Code: "E0214", Msg: "--set " + clip(o.Key) + ": the config has no entry `" + clip(o.Key) + "`",
		Want: diag.OneOf(names), Hint: diag.DidYouMean(o.Key, names)})
}

// configValue is the value of an entry.
func (in *interp) configValue(name string) (value, bool) {
	e := in.configIndex[name]
	if e == nil {
		return nil, false
	}
	return in.eval(e), true
}

func (in *interp) eval(e *entry) value {
	switch e.state {
	case evaluated:
		return e.val
	case running:
		in.errs.add(at("E0213", e.node, "config entry `%s` depends on itself", e.name))
		return unknown{}
	}
	e.state = running
	f := in.frame(e.file)
	f.name = "config"
	v := f.constant(e.node.Value, "config entry `"+e.name+"`")
	if e.set != nil {
		v = f.overridden(e, v)
	}
	if n, ok := v.(number); ok {
		n.name = e.name
		v = n
	}
	e.val, e.state = v, evaluated
	return v
}

// constant evaluates an expression that must give a number, a string or true
// or false.
func (f *frame) constant(x syntax.Expr, who string) value {
	switch v := f.expr(x).(type) {
	case number, text, truth, unknown:
		return v
	case word:
		return f.wants("E0201", v.at, "", orElse(diag.DidYouMean(v.name, f.known()), "a string is written \""+clip(v.name)+"\""), "unknown name `%s`", v.name)
	default:
		return f.wants("E0213", x, "a number, a string, or true or false", "", "%s is %s", who, v.what())
	}
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// overridden is the value of an override, which must be of the kind of the
// file's own value. For a string the text is taken as it stands.
func (f *frame) overridden(e *entry, old value) value {
	if _, ok := old.(text); ok && !strings.HasPrefix(e.set.Value, `"`) {
		return text(e.set.Value)
	}
	x, errs := syntax.ParseExpr(setFile, e.set.Value)
	fail := func(want string) value {
		f.in.errs.add(&diag.Error{Code: "E0215", Msg: "--set " + e.name + "=" + clip(e.set.Value) + " is not " + want,
			Want: want + ", as in the config's `" + e.name + " = " + describe(old) + "`"})
		return unknown{}
	}
	want := kindOf(old)
	if len(errs) > 0 {
		return fail(want)
	}
	g := *f
	quiet := interp{prog: f.in.prog, config: f.in.config, configIndex: f.in.configIndex}
	g.in = &quiet
	v := g.expr(x)
	switch v := v.(type) {
	case number:
		if o, ok := old.(number); ok && (!o.whole || v.v == math.Trunc(v.v)) {
			v.whole = o.whole
			return v
		}
	case text:
		if _, ok := old.(text); ok {
			return v
		}
	case truth:
		if _, ok := old.(truth); ok {
			return v
		}
	}
	if isUnknown(old) {
		return old
	}
	return fail(want)
}

func kindOf(v value) string {
	switch v := v.(type) {
	case number:
		if v.whole {
			return "a whole number"
		}
		return "a number"
	case text:
		return "a string"
	}
	return "true or false"
}

func describe(v value) string {
	switch v := v.(type) {
	case number:
		return formatNumber(v)
	case text:
		return clip(ir.Str(v).String())
	}
	return v.what()
}

// attr is a compile-time value as metadata has it.
func attr(v value) ir.AttrVal {
	switch v := v.(type) {
	case number:
		if n, ok := v.int(); ok && v.whole {
			return ir.Int(n)
		}
		return ir.Float(v.v)
	case text:
		return ir.Str(v)
	case truth:
		return ir.BoolVal(v)
	case word:
		if v.name[0] <= '9' || v.name == "nan" { // a word such as 1f1b is no identifier of the IR, and nan a number
			return ir.Str(v.name)
		}
		return ir.Name(v.name)
	}
	return nil
}

// configAttrs are the config's values in the order of the files.
func (in *interp) configAttrs() []ir.Attr {
	var out []ir.Attr
	for _, e := range in.config {
		if a := attr(e.val); a != nil {
			out = append(out, ir.Attr{Key: e.name, Val: a})
		}
	}
	return out
}

// term is metadata of these arguments.
func term(head string, args []ir.Attr) ir.Term {
	t := ir.Term{Head: head}
	for _, a := range args {
		t.Args = t.Args.With(a.Key, a.Val)
	}
	return t
}
