package syntax

import "strings"

// Directive is one line of a [Layout]. Package lang/directive has a type for each, with its
// grammar, and registers it here; an [Entry] is an option of the layout, `word = value`.
type Directive interface {
	Node
	// Names are the axes of tensors and of the mesh that it names.
	Names() (axes, mesh []*Ident)
}

// A lister is a directive that is a list of entries with commas.
type lister interface {
	Directive
	List() []*Entry
}

// RegisterDirective adds a directive to the grammar: its word, and a node whose tags are
// its syntax; nil for an option of the layout. Messages name the words in the order in
// which they are added. It is for init functions: the grammar is built when the first text is parsed.
func RegisterDirective(word string, node Directive) {
	if node == nil {
		optionWords = append(optionWords, word)
		return
	}
	directives, directiveWords = append(directives, node), append(directiveWords, word)
	placeDirective.words = directiveWords
	placeDirective.what = "a directive (`" + strings.Join(directiveWords, "`, `") + "`, or `option = value`)"
	productions["Directive"] = placeDirective.what
}

// Options is the block of a directive.
type Options struct {
	Span
	Entries []*Entry `parser:"'{' ';'* ( @@ ';'* )* '}'"`
}

// Path selects modules and parameters: `wte`, `blocks.*.mlp.w1`, `blocks.0`.
// `*` stands for one part, `**` for any number.
type Path struct {
	Span
	Parts []string `parser:"@( Ident | '*' | '**' ) ( '.' @( Ident | Int | '*' | '**' ) )*"`
}

// String is the path as written, without spaces.
func (p *Path) String() string { return strings.Join(p.Parts, ".") }

// Names are none: the value of an option is a number.
func (*Entry) Names() (axes, mesh []*Ident) { return nil, nil }
