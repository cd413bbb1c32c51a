package syntax

import "strings"

// Auto is the body of `layout NAME auto { … }`: what a search for a layout is given.
type Auto struct {
	Span
	Items []AutoItem `parser:"'auto' '{' ';'* ( @@ ';'* )* '}'"`
}

// AutoItem is a part of an [Auto]: [MeshOn], [Keep], [Allow], [Limit] or [Minimize].
type AutoItem interface {
	Node
	autoItem()
}

// MeshOn is `mesh on h100 : 16 x 8`: a machine by its name, or a .ptm file as a string, and
// the size of each of its levels, outermost first.
type MeshOn struct {
	Span
	Name   *Ident   `parser:"'mesh' 'on' ( @@"` // nil where File is not
	File   *Quoted  `parser:"| @@ )"`
	Levels []*Level `parser:"':' @@ ( 'x' @@ )*"`
}

// Level is a number, several as in `16x8`, or the name of an entry of the config.
type Level struct {
	Span
	Sizes string `parser:"( @( Int | Word )"` // empty where Name is not nil
	Name  *Ident `parser:"| (?! 'keep' | 'allow' | 'limit' | 'minimize' | 'x' ) @@ )"`
}

// Keep is `keep shard batch over dp`: a directive of every layout.
type Keep struct {
	Span
	What Directive `parser:"'keep' @@"`
}

// Allow is `allow tp <= 8, zero in (1, 3)`.
type Allow struct {
	Span
	Choices []*Allowed `parser:"'allow' @@ ( ',' @@ )*"`
}

// Allowed is a word of [Allow] with a bound, or the values that it may have.
type Allowed struct {
	Span
	Word   *Ident    `parser:"@@"`
	Op     string    `parser:"( @( '<=' | '>=' | '=' )"` // empty before Values
	Bound  Expr      `parser:"@@"`
	Values []*Choice `parser:"| 'in' '(' @@ ( (?= ',' ~')' ) ',' @@ )* ','? ')' )"`
}

// Choice is a value, or a list of words in brackets.
type Choice struct {
	Span
	List  []Expr `parser:"( '(' @@ ( (?= ',' ~')' ) ',' @@ )* ','? ')'"`
	Value Expr   `parser:"| @@ )"` // nil for a list
}

// Limit is `limit memory 70 GiB`.
type Limit struct {
	Span
	What  *Ident `parser:"'limit' @@"`
	Value Expr   `parser:"@@"`
}

// Minimize is `minimize step_time, cost`.
type Minimize struct {
	Span
	What []*Ident `parser:"'minimize' @@ ( ',' @@ )*"`
}

func (*MeshOn) autoItem()   {}
func (*Keep) autoItem()     {}
func (*Allow) autoItem()    {}
func (*Limit) autoItem()    {}
func (*Minimize) autoItem() {}

// Kept are the directives of an ordinary layout, or those that an auto layout keeps.
func (l *Layout) Kept() []Directive {
	if l.Auto == nil {
		return l.Directives
	}
	var out []Directive
	for _, x := range l.Auto.Items {
		if k, ok := x.(*Keep); ok {
			out = append(out, k.What)
		}
	}
	return out
}

// FormatDirective is a directive of a source as [Format] writes it: its first line without
// indentation, the others relative to it.
func FormatDirective(src string, d Directive) string {
	at := d.Extent()
	const head, tail = "layout l {\n", "}\n"
	out, errs := Format("", []byte(head+src[at.Pos.Offset:at.EndPos.Offset]+"\n"+tail))
	if len(errs) > 0 { // not for the text of a directive that was parsed
		return src[at.Pos.Offset:at.EndPos.Offset]
	}
	body := strings.TrimSuffix(strings.TrimSuffix(string(out), tail)[len(head):], "\n")
	lines := strings.Split(body, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}
