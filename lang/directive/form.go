package directive

import (
	"reflect"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir/layout"
	"ptc/lang/syntax"
)

// Form is a directive as the language has it. Whatever lists directives reads it here: the
// grammar, messages, the completion and help of editors, their grammars.
type Form struct {
	Word string
	// Node has the directive's syntax in its tags; nil for an option of the layout.
	Node syntax.Directive
	// Choices are what follows the word where it is one of a list, and Clauses the words
	// that go on after it.
	Choices, Clauses []string
	// Keys are its options in braces; of device, those that follow the word.
	Keys []Key
	// Option says what it is where it is an option of the layout, `word = 1 MiB`.
	Option *Option
}

// Key is an option of a directive, and the words that it may be, where it is a word.
type Key struct {
	Name  string
	Words []string
	Paths bool // it names parts of the model
}

// Option is a directive that is a number: of bytes, or a count from 1 on.
type Option struct {
	What, Example string
	Counts        bool
	rule          func(n int64) layout.Rule
	// check is as that of a [directive].
	check func(c *checking, d *syntax.Entry)
}

// directive is what each node does, in the file of its directive.
type directive interface {
	syntax.Directive
	// read checks the directive by itself, and adds its rules.
	read(r *reading)
	// check looks at it together with all rules: it reports what does not fit, and warns
	// where the directive changes nothing.
	check(c *checking)
}

// line is embedded in every directive: its place in the text, and what most of them do.
type line struct{ syntax.Span }

// Names are none.
func (line) Names() (axes, mesh []*syntax.Ident) { return nil, nil }

func (line) check(*checking) {}

// forms are the directives by their words.
var forms = map[string]*Form{}

// define adds a directive. The file of each calls it for a variable: those are set before
// init below runs.
func define(f Form) *Form {
	if layout.RowOf(f.Word) == nil {
		panic("lang/directive: package ir/layout has no row for `" + f.Word + "`")
	}
	forms[f.Word] = &f
	return &f
}

func init() {
	for _, f := range Forms() {
		syntax.RegisterDirective(f.Word, f.Node)
	}
}

// Forms are all directives, in the order of package ir/layout.
func Forms() []*Form {
	var out []*Form
	for _, r := range layout.Table {
		f := forms[r.Word]
		if f == nil {
			panic("lang/directive: no file defines `" + r.Word + "`")
		}
		out = append(out, f)
	}
	return out
}

// FormOf is the form of a line of a layout; nil for an entry that is no option of one.
func FormOf(d syntax.Directive) *Form {
	if e, ok := d.(*syntax.Entry); ok {
		return forms[e.Key.Name]
	}
	i := slices.IndexFunc(Forms(), func(f *Form) bool { return reflect.TypeOf(f.Node) == reflect.TypeOf(d) })
	return Forms()[i]
}

// Key is an option by its name, or nil.
func (f *Form) Key(name string) *Key {
	i := slices.IndexFunc(f.Keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Keys[i]
}

// Help says in Markdown which passes act on the directive, and what its options are.
func (f *Form) Help() string {
	s := "Acted on by the pass `" + strings.Join(layout.RowOf(f.Word).Passes, "`, `") + "`."
	if len(f.Keys) > 0 {
		s += "\n\nOptions:"
		for _, k := range f.Keys {
			s += "\n- `" + k.Name + "`"
			if len(k.Words) > 0 {
				s += ": " + diag.OneOf(k.Words)
			}
		}
	}
	if f.Option != nil {
		s += "\n\nIt is " + f.Option.What + ", such as `" + f.Option.Example + "`."
	}
	return s
}
