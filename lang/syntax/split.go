package syntax

import (
	"fmt"
	"slices"

	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// A chunk is the tokens of one declaration with the comments before it, and
// EOF at the end, placed where the next declaration begins.
type chunk struct {
	toks []lexer.Token
	next lexer.Token // what follows: the next chunk's first token, or the file's EOF
}

var closerOf = map[string]string{"(": ")", "[": "]", "{": "}"}

func isOpener(t lexer.Token) bool { return t.Type == tokOp && closerOf[t.Value] != "" }

func isCloser(t lexer.Token) bool {
	return t.Type == tokOp && (t.Value == ")" || t.Value == "]" || t.Value == "}")
}

// split cuts the tokens of a file into declarations. Where all brackets match,
// a declaration ends with its `}`, or at a word that begins another one outside
// all brackets. Where they do not, only a word in the first column is trusted.
func split(toks []lexer.Token) []chunk {
	balanced := len(checkBrackets(toks)) == 0
	var cuts []int
	depth, prev := 0, -1
	for i, t := range toks {
		if trivia(t) || t.EOF() {
			continue
		}
		first := prev < 0 || t.Pos.Line != toks[prev].Pos.Line
		switch {
		case prev < 0, is(t, ";"):
		case balanced && depth == 0 && is(toks[prev], "}"):
			cuts = append(cuts, i)
		case depth == 0 && isDeclWord(t) && beginsDecl(toks[prev], t, first):
			cuts = append(cuts, i)
		case !balanced && t.Pos.Column == 1 && isDeclWord(t) && !is(t, "fn") && beginsDecl(toks[prev], t, first):
			cuts = append(cuts, i)
			depth = 0
		}
		if isOpener(t) {
			depth++
		} else if isCloser(t) {
			depth--
		}
		prev = i
	}
	return cutAt(toks, cuts)
}

func isDeclWord(t lexer.Token) bool {
	return (t.Type == tokIdent || t.Type == tokKeyword) && slices.Contains(declWords, t.Value)
}

// beginsDecl tells a word that begins a declaration from the same word as a
// name: `layout train { }`, `import std.config`.
func beginsDecl(prev, t lexer.Token, firstOnLine bool) bool {
	if t.Pos.Column == 1 && !is(prev, "->") {
		return true
	}
	switch prev.Value {
	case ".", "as", "->", ",", "(", "[", "=":
		return false
	}
	return firstOnLine || !isDeclWord(prev)
}

func cutAt(toks []lexer.Token, cuts []int) []chunk {
	var chunks []chunk
	from := 0
	for _, to := range append(cuts, len(toks)-1) {
		if hasTokens(toks[from:to]) {
			end := toks[to]
			body := append(slices.Clip(toks[from:to:to]), lexer.EOFToken(end.Pos))
			chunks = append(chunks, chunk{toks: body, next: end})
		}
		from = to
	}
	return chunks
}

func hasTokens(toks []lexer.Token) bool {
	return slices.ContainsFunc(toks, func(t lexer.Token) bool { return !trivia(t) && !t.EOF() && !is(t, ";") })
}

// checkBrackets reports the first bracket of toks that has no partner, or that
// is nested too deeply.
func checkBrackets(toks []lexer.Token) diag.List {
	var open []int
	var pairs [][2]int
	for i, t := range toks {
		switch {
		case isOpener(t):
			if open = append(open, i); len(open) > maxDepth {
				return diag.List{{Code: "E0105", Pos: Pos(t.Pos).Diag(), Msg: fmt.Sprintf("brackets are nested deeper than %d", maxDepth)}}
			}
		case isCloser(t):
			if n := len(open) - 1; n >= 0 && closerOf[toks[open[n]].Value] == t.Value {
				pairs = append(pairs, [2]int{open[n], i})
				open = open[:n]
				continue
			}
			return diag.List{mismatch(toks, open, t)}
		}
	}
	if len(open) == 0 {
		return nil
	}
	return diag.List{unclosed(toks, open[len(open)-1], pairs)}
}

// mismatch is the error for a closer that does not fit the innermost opener.
func mismatch(toks []lexer.Token, open []int, t lexer.Token) *diag.Error {
	for _, o := range open {
		if closerOf[toks[o].Value] == t.Value { // an outer one fits: the inner one is open
			inner := toks[open[len(open)-1]]
			e := neverClosed(inner)
			e.Note = []diag.Note{{Pos: Pos(t.Pos).Diag(), Msg: fmt.Sprintf("`%s` here closes something outside of it", t.Value)}}
			return e
		}
	}
	e := &diag.Error{Code: "E0103", Pos: Pos(t.Pos).Diag(), Msg: fmt.Sprintf("`%s` closes nothing", t.Value)}
	if len(open) > 0 {
		inner := toks[open[len(open)-1]]
		e.Want = fmt.Sprintf("`%s`", closerOf[inner.Value])
		e.Note = []diag.Note{{Pos: Pos(inner.Pos).Diag(), Msg: fmt.Sprintf("`%s` was opened here", inner.Value)}}
	}
	return e
}

func neverClosed(t lexer.Token) *diag.Error {
	return &diag.Error{Code: "E0102", Pos: Pos(t.Pos).Diag(), Msg: fmt.Sprintf("`%s` is never closed", t.Value),
		Want: fmt.Sprintf("`%s`", closerOf[t.Value])}
}

// unclosed is the error for an opener without closer. The last one opened has
// no partner, but the one that was forgotten may be inside of it: a pair whose
// `}` is indented less than the line of its `{` was closed by a stranger.
func unclosed(toks []lexer.Token, last int, pairs [][2]int) *diag.Error {
	for _, p := range pairs {
		closer := toks[p[1]]
		if p[0] < last || closer.Pos.Line == toks[p[0]].Pos.Line || indentAt(toks, p[1]) != closer.Pos.Column {
			continue
		}
		if closer.Pos.Column < indentAt(toks, p[0]) {
			e := neverClosed(toks[p[0]])
			e.Note = []diag.Note{{Pos: Pos(closer.Pos).Diag(), Msg: fmt.Sprintf("`%s` here stands further left: it seems to close something outside of it", closer.Value)}}
			return e
		}
	}
	return neverClosed(toks[last])
}

// indentAt is the column of the first token on the line of token i.
func indentAt(toks []lexer.Token, i int) int {
	line := toks[i].Pos.Line
	for i > 0 && toks[i-1].Pos.Line == line && !(toks[i-1].Type == tokSpace && toks[i-1].Pos.Column == 1) {
		i--
	}
	return toks[i].Pos.Column
}
