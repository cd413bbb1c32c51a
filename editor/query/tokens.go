package query

import (
	"strings"

	"ptc/editor/names"
	"ptc/editor/protocol"
	"ptc/editor/text"
	"ptc/lang/syntax"
)

// TokenTypes are the kinds of semantic tokens, by their names in the protocol; their
// numbers are those in this list.
var TokenTypes = []string{"keyword", "number", "string", "comment", "operator", "namespace", "class", "function",
	"parameter", "property", "variable", "enumMember", "type"}

const (
	typeKeyword = iota
	typeNumber
	typeString
	typeComment
	typeOperator
	typeNamespace
	typeClass
	typeFunction
	typeParameter
	typeProperty
	typeVariable
	typeEnumMember
	typeType
)

var tokenClasses = map[syntax.Class]int{syntax.ClassReserved: typeKeyword, syntax.ClassInt: typeNumber, syntax.ClassFloat: typeNumber,
	syntax.ClassString: typeString, syntax.ClassComment: typeComment, syntax.ClassWord: typeEnumMember}

var tokenKinds = map[names.Kind]int{names.Axis: typeType, names.Module: typeClass, names.Function: typeFunction, names.Formal: typeParameter,
	names.Parameter: typeProperty, names.SubModule: typeProperty, names.Constant: typeVariable, names.Local: typeVariable, names.Import: typeNamespace,
	names.Layout: typeNamespace, names.MeshAxis: typeEnumMember, names.Builtin: typeFunction, names.Field: typeParameter}

// SemanticTokens says what the words of the document are: by the names of the program
// where it is known, else by their class.
func (v *View) SemanticTokens() *protocol.SemanticTokens {
	out := &protocol.SemanticTokens{Data: []int{}}
	last := protocol.Position{}
	for _, t := range syntax.Tokens([]byte(v.Now.String)) {
		kind, ok := tokenClasses[t.Class]
		if t.Class == syntax.ClassName {
			kind, ok = v.wordKind(t)
		}
		if !ok {
			continue
		}
		for from, rest := t.Pos.Offset, t.Text; rest != ""; { // a token for each line
			line, more, broken := strings.Cut(rest, "\n")
			if n := strings.TrimRight(line, "\r"); n != "" && !strings.Contains(n, "\r") {
				put(out, &last, v.Now, from, from+len(n), kind)
			}
			from += len(line) + 1
			if rest = more; !broken {
				break
			}
		}
	}
	return out
}

// put writes a token as its distance from the one before it.
func put(out *protocol.SemanticTokens, last *protocol.Position, t *text.Text, from, to, kind int) {
	r := t.Range(from, to)
	char := r.Start.Character
	if r.Start.Line == last.Line {
		char -= last.Character
	}
	out.Data = append(out.Data, r.Start.Line-last.Line, char, r.End.Character-r.Start.Character, kind, 0)
	*last = r.Start
}

// wordKind is what a word is that may be a name.
func (v *View) wordKind(t syntax.Token) (int, bool) {
	at, ok := v.offset(v.Now.Position(t.Pos.Offset))
	if !ok || v.Names == nil {
		return 0, false
	}
	if r := v.Names.At(v.File, at); r != nil && r.From == at {
		return tokenKinds[r.Symbol.Kind], true
	}
	path := v.Path(v.File, at)
	if len(path) == 0 {
		return 0, false
	}
	switch path[len(path)-1].(type) {
	case *syntax.Ident, *syntax.Entry:
		return typeProperty, true
	case *syntax.Name:
		return typeEnumMember, true
	case *syntax.NamedType, *syntax.TensorType, *syntax.LikeType:
		return typeType, true
	case *syntax.Path:
		return typeProperty, true
	}
	return typeKeyword, true
}
