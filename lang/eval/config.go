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

// Config is the entries of the config of all files.
type Config struct {
	in      *Interp
	entries []*entry
	index   map[string]*entry
	ports   *Ports // nil: every number is a constant
}

// Override sets a config entry, as --set key=value does.
type Override struct{ Key, Value string }

// entry is one value of the config, evaluated on demand, so that entries may
// refer to later ones.
type entry struct {
	name  string
	node  *syntax.Entry
	file  *source.File
	set   *Override
	state entryState
	val   value.Value
}

type entryState uint8

const (
	pending entryState = iota
	running
	evaluated
)

// load gathers the entries of every file: a file's come before those of the
// files that it imports and win over them, whoever else imports these.
func (c *Config) load(set []Override) {
	for _, g := range importersFirst(c.in.Prog) {
		if g.Tree == nil {
			continue
		}
		for _, d := range g.Tree.Decls {
			block, ok := d.(*syntax.Config)
			if !ok {
				continue
			}
			for _, n := range block.Entries {
				if c.index[n.Key.Name] == nil {
					e := &entry{name: n.Key.Name, node: n, file: g}
					c.index[e.name] = e
					c.entries = append(c.entries, e)
				}
			}
		}
	}
	for i := range set {
		c.override(&set[i])
	}
	c.checkPorts()
	for _, e := range c.entries {
		c.eval(e)
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

func (c *Config) override(o *Override) {
	e := c.index[o.Key]
	if e != nil {
		e.set = o
		return
	}
	names := c.Names()
	c.in.Errs.Add(&diag.Error{Code: "E0214", Msg: "--set " + value.Clip(o.Key) + ": the config has no entry `" + value.Clip(o.Key) + "`",
		Want: diag.OneOf(names), Hint: diag.DidYouMean(o.Key, names)})
}

// Names are the entries of all files, in their order.
func (c *Config) Names() []string {
	var names []string
	for _, e := range c.entries {
		names = append(names, e.name)
	}
	return names
}

// Value is the value of an entry.
func (c *Config) Value(name string) (value.Value, bool) {
	e := c.index[name]
	if e == nil {
		return nil, false
	}
	return c.eval(e), true
}

func (c *Config) eval(e *entry) value.Value {
	switch e.state {
	case evaluated:
		return e.val
	case running:
		c.in.Errs.Add(source.ErrorAt("E0213", e.node, "config entry `%s` depends on itself", e.name))
		return value.Unknown{}
	}
	e.state = running
	f := c.in.NewFrame(e.file)
	f.name = "config"
	v := f.constant(e.node.Value, "config entry `"+e.name+"`")
	if e.set != nil {
		v = f.overridden(e, v)
	}
	switch n := c.port(e, v).(type) {
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
	quiet := &Interp{Prog: f.Interp.Prog, Model: &Model{}}
	config := f.Interp.Config
	quiet.Config = &Config{quiet, config.entries, config.index, config.ports}
	v := quiet.NewFrame(e.file).Symbolic(x)
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

// Attrs are the values in the order of the files.
func (c *Config) Attrs() []ir.Attr {
	var out []ir.Attr
	for _, e := range c.entries {
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
