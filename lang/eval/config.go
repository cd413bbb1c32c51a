package eval

import (
	"math"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// loadConfig gathers the entries of every file: a file's come before those of the
// files that it imports and win over them, whoever else imports these.
func (in *Interp) loadConfig(set []Override) {
	in.configIndex = map[string]*entry{}
	for _, g := range importersFirst(in.Prog) {
		if g.Tree == nil {
			continue
		}
		for _, d := range g.Tree.Decls {
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
	in.checkPorts()
	for _, e := range in.config {
		in.eval(e)
	}
}

// importersFirst are the files of a program, each before all that it imports, and
// otherwise in the order of the imports.
func importersFirst(p *source.Program) []*source.File {
	var out []*source.File
	seen := map[*source.File]bool{}
	var visit func(g *source.File)
	visit = func(g *source.File) {
		if g == nil || seen[g] {
			return
		}
		seen[g] = true
		if g.Tree != nil {
			for _, d := range slices.Backward(g.Tree.Decls) {
				if d, ok := d.(*syntax.Import); ok {
					visit(g.Imports[source.ImportName(d).Name])
				}
			}
		}
		out = append(out, g)
	}
	visit(p.Main)
	slices.Reverse(out)
	return out
}

// setFile is the file name in positions of overrides.
const setFile = "--set"

func (in *Interp) override(o *Override) {
	e := in.configIndex[o.Key]
	if e != nil {
		e.set = o
		return
	}
	names := in.ConfigNames()
	in.Errs.Add(&diag.Error{Code: "E0214", Msg: "--set " + value.Clip(o.Key) + ": the config has no entry `" + value.Clip(o.Key) + "`",
		Want: diag.OneOf(names), Hint: diag.DidYouMean(o.Key, names)})
}

// ConfigNames are the entries of all files, in their order.
func (in *Interp) ConfigNames() []string {
	var names []string
	for _, c := range in.config {
		names = append(names, c.name)
	}
	return names
}

// ConfigValue is the value of an entry.
func (in *Interp) ConfigValue(name string) (value.Value, bool) {
	e := in.configIndex[name]
	if e == nil {
		return nil, false
	}
	return in.eval(e), true
}

func (in *Interp) eval(e *entry) value.Value {
	switch e.state {
	case evaluated:
		return e.val
	case running:
		in.Errs.Add(source.ErrorAt("E0213", e.node, "config entry `%s` depends on itself", e.name))
		return value.Unknown{}
	}
	e.state = running
	f := in.NewFrame(e.file)
	f.name = "config"
	v := f.constant(e.node.Value, "config entry `"+e.name+"`")
	if e.set != nil {
		v = f.overridden(e, v)
	}
	switch n := in.port(f, e, v).(type) {
	case value.Number:
		n.Name = e.name
		v = n
	case value.Traced:
		n.Name = e.name
		v = n
	}
	e.val, e.state = v, evaluated
	f.watch(e.node.Key, v, nil)
	return v
}

// constant evaluates an expression that must give a number, a string or true
// or false.
func (f *Frame) constant(x syntax.Expr, who string) value.Value {
	switch v := f.Symbolic(x).(type) {
	case value.Number, value.Traced, value.Text, value.Truth, value.Unknown:
		return v
	case value.Word:
		return f.Wants("E0201", v.At, "", orElse(diag.DidYouMean(v.Name, f.known()), "a string is written \""+value.Clip(v.Name)+"\""), "unknown name `%s`", v.Name)
	default:
		return f.Wants("E0213", x, "a number, a string, or true or false", "", "%s is %s", who, v.What())
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
func (f *Frame) overridden(e *entry, old value.Value) value.Value {
	if _, ok := old.(value.Text); ok && !strings.HasPrefix(e.set.Value, `"`) {
		return value.Text(e.set.Value)
	}
	x, errs := syntax.ParseExpr(setFile, e.set.Value)
	fail := func(want string) value.Value {
		f.Interp.Errs.Add(&diag.Error{Code: "E0215", Msg: "--set " + e.name + "=" + value.Clip(e.set.Value) + " is not " + want,
			Want: want + ", as in the config's `" + e.name + " = " + describe(old) + "`"})
		return value.Unknown{}
	}
	want := kindOf(old)
	if len(errs) > 0 {
		return fail(want)
	}
	g := *f
	quiet := Interp{Prog: f.Interp.Prog, config: f.Interp.config, configIndex: f.Interp.configIndex, ports: f.Interp.ports}
	g.Interp = &quiet
	v := g.Symbolic(x)
	o, number := value.NumberOf(old)
	switch v := v.(type) {
	case value.Number:
		if number && (!o.Whole || v.V == math.Trunc(v.V)) {
			v.Whole = o.Whole
			return v
		}
	case value.Traced:
		if number && (!o.Whole || v.V == math.Trunc(v.V)) {
			v.Whole = o.Whole
			return v
		}
	case value.Text:
		if _, ok := old.(value.Text); ok {
			return v
		}
	case value.Truth:
		if _, ok := old.(value.Truth); ok {
			return v
		}
	}
	if value.IsUnknown(old) {
		return old
	}
	return fail(want)
}

func kindOf(v value.Value) string {
	if t, ok := v.(value.Traced); ok {
		v = t.Number
	}
	switch v := v.(type) {
	case value.Number:
		if v.Whole {
			return "a whole number"
		}
		return "a number"
	case value.Text:
		return "a string"
	}
	return "true or false"
}

func describe(v value.Value) string {
	switch v := v.(type) {
	case value.Number:
		return value.FormatNumber(v)
	case value.Traced:
		return value.FormatNumber(v.Number)
	case value.Text:
		return value.Clip(ir.Str(v).String())
	}
	return v.What()
}

// Attr is a compile-time value as metadata has it.
func Attr(v value.Value) ir.AttrVal {
	switch v := v.(type) {
	case value.Traced:
		return Attr(v.Number)
	case value.Number:
		if n, ok := v.Int(); ok && v.Whole {
			return ir.Int(n)
		}
		return ir.Float(v.V)
	case value.Text:
		return ir.Str(v)
	case value.Truth:
		return ir.BoolVal(v)
	case value.Word:
		if v.Name[0] <= '9' || v.Name == "nan" { // a word such as 1f1b is no identifier of the IR, and nan a number
			return ir.Str(v.Name)
		}
		return ir.Name(v.Name)
	}
	return nil
}

// ConfigAttrs are the config's values in the order of the files.
func (in *Interp) ConfigAttrs() []ir.Attr {
	var out []ir.Attr
	for _, e := range in.config {
		if a := Attr(e.val); a != nil {
			out = append(out, ir.Attr{Key: e.name, Val: a})
		}
	}
	return out
}

// Term is metadata of these arguments.
func Term(head string, args []ir.Attr) ir.Term {
	t := ir.Term{Head: head}
	for _, a := range args {
		t.Args = t.Args.With(a.Key, a.Val)
	}
	return t
}

// New evaluates p, whose config it reads first.
func New(p *source.Program, set []Override) *Interp { return NewWatched(p, set, nil, nil) }

// NewWatched is New with entries of the config that are to be ports, nil for none, and
// with what sees the values, those of the config among them.
func NewWatched(p *source.Program, set []Override, ports *Ports, watch func(Seen) bool) *Interp {
	in := &Interp{Prog: p, Bounds: map[*syntax.Module][]ir.Type{}, missing: map[string]bool{}, ports: ports, Watch: watch}
	ports.begin()
	in.loadConfig(set)
	return in
}
