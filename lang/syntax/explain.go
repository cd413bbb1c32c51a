package syntax

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// foreign are signs of other languages, and what they are here.
var foreign = map[string]string{
	"&&": "write `and`", "||": "write `or`", "!": "write `not`", ":=": "write `=`", "::": "write `.`",
	"+=": "write `x = x + …`", "-=": "write `x = x - …`", "*=": "write `x = x * …`", "/=": "write `x = x / …`",
	"**=": "write `x = x ** …`", "==": "`=` gives a value, `==` compares",
}

// unexpected is the error for a token that does not fit.
func unexpected(t lexer.Token, want string) *diag.Error {
	e := unexpectedAt(t, "found "+show(t), want)
	if t.Type == tokOp {
		e.Hint = foreign[t.Value]
	}
	return e
}

func unexpectedAt(t lexer.Token, msg, want string) *diag.Error {
	return &diag.Error{Code: "E0101", Pos: Pos(t.Pos).Diag(), Len: len(t.Value), Msg: msg, Want: want}
}

// internal is an error that no input should cause.
func internal(t lexer.Token, err error) *diag.Error {
	return &diag.Error{Code: "E0101", Pos: Pos(t.Pos).Diag(), Msg: "internal error of the parser: " + err.Error(),
		Hint: "please report this, with the file"}
}

// show names a token for a message.
func show(t lexer.Token) string {
	switch {
	case t.EOF():
		return "the end of the file"
	case t.Type == tokString:
		return "the string " + clip(t.Value)
	case t.Type == tokKeyword:
		return "the reserved word `" + t.Value + "`"
	}
	return "`" + clip(t.Value) + "`"
}

// explain turns an error of the parser into a diagnostic in words of the
// language.
func (c chunk) explain(err error) *diag.Error {
	var e *diag.Error
	var u *participle.UnexpectedTokenError
	switch {
	case errors.As(err, &e):
		if e.Pos == Pos(c.next.Pos).Diag() { // at the chunk's end: say what is there
			e.Msg = strings.Replace(e.Msg, show(lexer.EOFToken(c.next.Pos)), show(c.next), 1)
			e.Pos, e.Len = c.end().Diag(), len(c.next.Value)
		}
		return e
	case errors.As(err, &u):
		return c.misfit(u)
	}
	return internal(c.toks[0], err)
}

// end is where to show that something is missing at the end: at the next
// declaration, or just after the last token of the file.
func (c chunk) end() Pos {
	if !c.next.EOF() {
		return Pos(c.next.Pos)
	}
	for _, t := range slices.Backward(c.toks) {
		if !trivia(t) && !t.EOF() {
			return tokenEnd(t)
		}
	}
	return Pos(c.next.Pos)
}

// A place is what may stand at some point of a file.
type place struct {
	what  string   // one thing that may stand here, in words
	words []string // what it may begin with
	named string   // the sign after a name that begins it
}

var (
	placeFile      = place{"a declaration (`import`, `config`, `module`, `model`, `optimizer`, `fn`, `train`, `layout`, `names`, `sweep`, `machine`)", declWords, ""}
	placeMember    = place{"a member (`param`, `let`, `fn`, or `name : Module`)", memberWords, ":"}
	placeStmt      = place{"a statement (`name = …`, `return`, `for`, `if`)", stmtWords, "="}
	placeEntry     = place{"an entry `name = value`", nil, "="}
	placeNames     = place{"a row (`\"tensor\" = parameter`, `skip \"tensor\"`, `config { … }`, or `option = value`)", []string{"skip", "config"}, "="}
	placeAuto      = place{"an item (`mesh on`, `keep`, `allow`, `limit`, `minimize`)", autoWords, ""}
	placeMachine   = place{"a section (`device`, `host`, `level`, `kernels`), or an entry `name = value from \"source\"`", sectionWords, "="}
	placeFact      = place{"an entry `name = value from \"source\"`", nil, "="}
	placeDirective = place{named: "="} // [RegisterDirective] adds the words
)

// placeOf tells what may stand at token i of a declaration: its first word and
// the braces around i decide.
func (c chunk) placeOf(sig []lexer.Token, i int) (at place, inBraces bool) {
	depth, bracket := 0, []string{}
	for _, t := range sig[:i] {
		if isOpener(t) {
			bracket = append(bracket, t.Value)
		} else if isCloser(t) && len(bracket) > 0 {
			bracket = bracket[:len(bracket)-1]
		}
	}
	for _, b := range bracket {
		if b == "{" {
			depth++
		}
	}
	if depth == 0 {
		return placeFile, false
	}
	inBraces = bracket[len(bracket)-1] == "{"
	switch sig[0].Value {
	case "module", "model", "optimizer":
		if depth == 1 {
			return placeMember, inBraces
		}
		return placeStmt, inBraces
	case "fn":
		return placeStmt, inBraces
	case "layout":
		if depth == 1 && len(sig) > 2 && is(sig[2], "auto") {
			return placeAuto, inBraces
		}
		if depth == 1 {
			return placeDirective, inBraces
		}
	case "names":
		if depth == 1 {
			return placeNames, inBraces
		}
	case "machine":
		if depth == 1 {
			return placeMachine, inBraces
		}
		return placeFact, inBraces
	}
	return placeEntry, inBraces
}

// misfit explains participle's error: the token found, and the rest of the
// rule that should have followed.
func (c chunk) misfit(u *participle.UnexpectedTokenError) *diag.Error {
	var sig []lexer.Token
	at := -1
	for _, t := range c.toks {
		if trivia(t) || is(t, ";") && len(sig) == 0 {
			continue
		}
		if t.Pos.Offset == u.Unexpected.Pos.Offset {
			at = len(sig)
		}
		if t.EOF() {
			t = c.next
			t.Pos = lexer.Position(c.end())
		}
		sig = append(sig, t)
	}
	if at < 0 {
		return internal(c.toks[0], u)
	}
	found := sig[at]
	where, inBraces := c.placeOf(sig, at)
	want := wantedIn(sig[0], wanted(u))
	if at == 0 {
		return unknownWord(found, placeFile)
	}
	prev := sig[at-1]
	if inBraces && slices.Contains(want, "`}`") {
		return c.notHere(found, prev, where)
	}
	if e := misspelt(sig[:at], found, want, where, inBraces); e != nil {
		return e
	}
	if e := notKept(sig[:at], want, where); e != nil {
		return e
	}
	if e := nothingOver(sig[:at], found, want, where); e != nil {
		return e
	}
	if len(want) == 0 {
		want = []string{where.what}
		if where.what == placeAuto.what && (is(prev, ":") || is(prev, "x")) { // the levels of a machine
			want[0] = "a number"
		}
	}
	e := unexpected(found, strings.Join(want, " or "))
	switch {
	case found.Type == tokKeyword && slices.Contains(want, "a name"):
		e.Code, e.Msg = "E0112", fmt.Sprintf("`%s` is a reserved word", found.Value)
	case inBraces && where.named == "=" && slices.Contains(want, "`=`") && startsTail(found):
		e.Code, e.Msg = "E0113", "an expression by itself does nothing"
		e.Hint = "assign it, `name = …`, or `return` it"
		if where.what != placeStmt.what {
			e.Hint = ""
		}
	case where.what == placeMember.what && slices.Contains(want, "`:`") && is(found, "="):
		e.Hint = "a constant is `let name = expression`; a submodule is `name : Module`"
	case where.what == placeDirective.what && is(found, ".") && slices.Contains(want, "`over`"):
		e.Hint = "parameters are selected with `of`: `shard embed of blocks.*.w1 over dp`"
	case where.what == placeDirective.what && is(prev, "on") && at > 1 && is(sig[at-2], "mesh"):
		e.Hint = "`layout NAME auto { … }` names a machine; a layout names its mesh axes, `mesh dp = 2`"
	case where.what == placeAuto.what && is(prev, "mesh") && slices.Contains(want, "`on`"):
		e.Hint = "a search chooses the mesh axes of a machine, `mesh on h100 : 16 x 8`; `allow dp = 2` fixes the size of one"
	case slices.Contains(want, "`{`") && is(found, "="):
		e.Hint = "`==` compares"
	case slices.Contains(want, "`{`") && is(found, ".."):
		e.Hint = "a loop goes through a repeated module or a list: `for b in blocks { … }`"
	case slices.Contains(want, "`)`") || slices.Contains(want, "`]`"):
		e.Want = "`,` or " + e.Want
	}
	return e
}

// wantedIn is what was wanted in the words of a declaration, by its first token: the
// strings of a machine are no paths.
func wantedIn(first lexer.Token, want []string) []string {
	if i := slices.Index(want, productions["string"]); i >= 0 && is(first, "machine") {
		want[i] = "a source in quotes"
	}
	return want
}

// startsTail reports whether t goes on with an expression after a name.
func startsTail(t lexer.Token) bool {
	if t.Type != tokOp {
		return false
	}
	switch t.Value {
	case "(", "[", ".":
		return true
	}
	return binding[t.Value] != 0 && t.Value != "=="
}

// notHere is the error where another item of a block, or its end, should be.
func (c chunk) notHere(found, prev lexer.Token, where place) *diag.Error {
	e := unexpected(found, where.what+" or `}`")
	switch {
	case where.what == placeAuto.what && slices.Contains(slices.Concat(directiveWords, optionWords), found.Value):
		e.Hint = fmt.Sprintf("`keep %s …` is in every layout that a search finds", found.Value)
	case where.what == placeAuto.what && found.Type == tokIdent:
		e.Code, e.Msg, e.Hint = "E0111", "unknown word "+show(found), diag.DidYouMean(found.Value, where.words)
	case is(found, "*") && where.what == placeAuto.what:
		e.Hint = "`x` separates the levels of a machine: `16 x 8`"
	case is(found, ","):
		e.Hint = "items of a block are separated by a space, `;` or a new line"
	case slices.Contains(stmtWords, found.Value) && where.what == placeMember.what:
		e.Hint = "statements stand in a `fn`"
	case found.Type == tokKeyword && !slices.Contains(where.words, found.Value):
		if is(found, "else") {
			e.Hint = "`else` follows the `}` of an `if`"
		} else if where.named != "" && !is(found, "fn") && !is(found, "let") {
			e.Code, e.Msg = "E0112", fmt.Sprintf("`%s` is a reserved word", found.Value)
		}
	case prev.Type == tokIdent && is(found, "="):
		e.Hint = fmt.Sprintf("`%s` is the first word of something else", prev.Value)
	}
	return e
}

// misspelt finds the unknown keyword in a name that has no sign after it. It
// must begin a line or follow a bracket, unless it is close to a keyword.
func misspelt(before []lexer.Token, found lexer.Token, want []string, where place, inBraces bool) *diag.Error {
	name := before[len(before)-1]
	if !inBraces || name.Type != tokIdent || len(where.words) == 0 || !slices.Contains(want, "`"+where.named+"`") {
		return nil
	}
	if found.Type == tokOp && !is(found, "{") {
		return nil
	}
	if where.what == placeDirective.what && slices.Contains(optionWords, name.Value) {
		return unexpected(found, "`=`")
	}
	begins := false
	if len(before) > 1 {
		prev := before[len(before)-2]
		begins = prev.Pos.Line != name.Pos.Line && !is(prev, ",") || is(prev, "{") || is(prev, "}") || is(prev, ";")
	}
	_, near := diag.Nearest(name.Value, where.words)
	keyword := slices.Contains(where.words, name.Value) // `mesh` as the name of a mesh axis
	if keyword || !near && !begins {
		return nil
	}
	e := unknownWord(name, where)
	if where.what == placeDirective.what && slices.Contains(autoWords, name.Value) {
		e.Hint = fmt.Sprintf("`%s` is for a search: `layout NAME auto { … }`", name.Value)
	}
	if where.what == placeDirective.what && is(found, "over") && e.Hint == "" {
		e.Hint = "an axis is cut by `shard " + name.Value + " over …`"
	}
	return e
}

// notKept is the error for an unknown directive behind `keep`.
func notKept(before []lexer.Token, want []string, where place) *diag.Error {
	n := len(before)
	if n < 2 || where.what != placeAuto.what || !is(before[n-2], "keep") || !slices.Contains(want, "`=`") || slices.Contains(optionWords, before[n-1].Value) {
		return nil
	}
	return unknownWord(before[n-1], placeDirective)
}

// nothingOver is the error for `shard over dp` and `zero over dp`, where the word
// `over` was taken for what should stand before it.
func nothingOver(before []lexer.Token, found lexer.Token, want []string, where place) *diag.Error {
	if len(before) < 2 || where.what != placeDirective.what || !slices.Contains(want, "`over`") || !is(before[len(before)-1], "over") {
		return nil
	}
	missing := map[string]string{"shard": "an axis, such as `batch`", "zero": "a level, 1 to 3", "pipeline": "a repeated module, such as `blocks`"}
	w := missing[before[len(before)-2].Value]
	if w == "" || found.Type != tokIdent {
		return nil
	}
	return unexpected(before[len(before)-1], w)
}

// unknownWord is the error for a word that begins nothing.
func unknownWord(t lexer.Token, where place) *diag.Error {
	e := unexpected(t, where.what)
	if t.Type == tokIdent {
		e.Code = "E0111"
		e.Msg = fmt.Sprintf("unknown word %s", show(t))
		e.Hint = diag.DidYouMean(t.Value, where.words)
	}
	return e
}
