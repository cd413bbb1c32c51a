package eval

import (
	"maps"
	"slices"
	"strings"

	"ptc/lang/syntax"
	"ptc/lang/value"
)

// builtin is a function that the language itself defines.
type builtin struct {
	Name    string
	doc     string
	formals []formal
	// rest, where not negative, is how many formals are positional: any number
	// of further positional arguments is taken, and the other formals by name.
	rest  int
	extra bool // takes any further named arguments
	// traced is whether it takes traced numbers as they are; else they are no longer ports.
	traced bool
	run    func(f *Frame, c *Call) value.Value
}

// Call is a call of one, with its arguments evaluated.
type Call struct {
	Site  *syntax.Call
	Vals  []value.Value // by formal; nil where absent, and for axes
	Nodes []syntax.Node // where each stands
	Axes  [][]string    // by formal, for those that take axes
	Rest  []value.Value
	Extra []*syntax.Arg
}

// builtins is filled by init in the files that define them.
var builtins = map[string]*builtin{}

// Define adds a function. The signature reads `x, over?: axis, *, **`: a
// question mark makes an argument optional; a star takes any number of further
// positional ones, and what follows it by name only; two stars take any named. The text
// says in a sentence or two what it gives, with shapes: for hover, and for
// docs/language.md.
func Define(name, signature, doc string, run func(f *Frame, c *Call) value.Value) {
	b := &builtin{Name: name, doc: doc, run: run, rest: -1}
	for _, p := range strings.Split(signature, ", ") {
		switch p {
		case "*":
			b.rest = len(b.formals)
			continue
		case "**":
			b.extra = true
			continue
		}
		p, axis := strings.CutSuffix(p, ": axis")
		p, optional := strings.CutSuffix(p, "?")
		b.formals = append(b.formals, formal{p, axis, !optional})
	}
	builtins[name] = b
}

// DefineTraced is Define for a function that takes traced numbers; see [Ports].
func DefineTraced(name, signature, doc string, run func(f *Frame, c *Call) value.Value) {
	Define(name, signature, doc, run)
	builtins[name].traced = true
}

// Signature is a built-in function as text: `dot(a, b, over: axis, to?)`.
type Signature struct {
	Name   string
	Params []string // as they are written there
	Names  []string // of the parameters; `*` and `**` have none
	Axes   []bool   // by name: whether it takes axes
	Doc    string   // in Markdown, a line
	Any    bool     // takes any further named arguments, whose names are axes
}

// Text is the signature as it is shown.
func (s Signature) Text() string { return s.Name + "(" + strings.Join(s.Params, ", ") + ")" }

// Signatures are the built-in functions, sorted by name.
func Signatures() []Signature {
	var out []Signature
	for _, name := range builtinNames() {
		b := builtins[name]
		s := Signature{Name: name, Doc: b.doc, Any: b.extra}
		for i, p := range b.formals {
			if i == b.rest {
				s.Params = append(s.Params, "*")
			}
			text := p.name
			if !p.required {
				text += "?"
			}
			if p.axis {
				text += ": axis"
			}
			s.Params = append(s.Params, text)
			s.Names, s.Axes = append(s.Names, p.name), append(s.Axes, p.axis)
		}
		if b.rest == len(b.formals) {
			s.Params = append(s.Params, "*")
		}
		if b.extra {
			s.Params = append(s.Params, "**")
		}
		out = append(out, s)
	}
	return out
}

func builtinNames() []string { return slices.Sorted(maps.Keys(builtins)) }

// Primitive is a built-in function, with the receiver of `x.sum(…)`.
type Primitive struct {
	*builtin
	recv value.Value
}

func (p Primitive) What() string { return "the function `" + p.Name + "`" }
