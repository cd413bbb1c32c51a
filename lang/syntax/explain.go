package syntax

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// unexpected is the error for a token that does not fit.
func unexpected(t lexer.Token, want string) *diag.Error {
	return unexpectedAt(t, "found "+show(t), want)
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
			e.Len = len(c.next.Value)
		}
		return e
	case errors.As(err, &u):
		return c.misfit(u)
	}
	return internal(c.toks[0], err)
}

// A place is what may stand at some point of a file.
type place struct {
	what  string   // one thing that may stand here, in words
	words []string // what it may begin with
	named string   // the sign after a name that begins it
}

var (
	placeFile      = place{"a declaration (`import`, `config`, `module`, `model`, `optimizer`, `fn`, `train`, `layout`)", declWords, ""}
	placeMember    = place{"a member (`param`, `let`, `fn`, or `name : Module`)", memberWords, ":"}
	placeStmt      = place{"a statement (`name = …`, `return`, `for`, `if`)", stmtWords, "="}
	placeEntry     = place{"an entry `name = value`", nil, "="}
	placeDirective = place{"a directive (`mesh`, `shard`, `pipeline`, …)", directiveWords, "="}
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
		if depth == 1 {
			return placeDirective, inBraces
		}
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
		}
		sig = append(sig, t)
	}
	if at < 0 {
		return internal(c.toks[0], u)
	}
	found := sig[at]
	where, inBraces := c.placeOf(sig, at)
	want := wanted(u)
	if at == 0 {
		return unknownWord(found, placeFile)
	}
	prev := sig[at-1]
	if inBraces && slices.Contains(want, "`}`") {
		return c.notHere(found, prev, where)
	}
	if e := misspelt(found, prev, want, where, inBraces); e != nil {
		return e
	}
	e := unexpected(found, strings.Join(want, " or "))
	switch {
	case found.Type == tokKeyword && slices.Contains(want, "a name"):
		e.Code, e.Msg = "E0112", fmt.Sprintf("`%s` is a reserved word", found.Value)
	case inBraces && where.named == "=" && slices.Contains(want, "`=`") && startsTail(found):
		e.Code, e.Msg = "E0113", "an expression by itself does nothing"
		e.Hint = fmt.Sprintf("assign it: `name = %s%s…`, or `return` it", prev.Value, found.Value)
		if where.what != placeStmt.what {
			e.Hint = ""
		}
	case where.what == placeMember.what && slices.Contains(want, "`:`") && is(found, "="):
		e.Hint = "a constant is `let name = expression`; a submodule is `name : Module`"
	case slices.Contains(want, "`)`") || slices.Contains(want, "`]`"):
		e.Want = "`,` or " + e.Want
	}
	return e
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
	return binding[t.Value] != 0
}

// notHere is the error where another item of a block, or its end, should be.
func (c chunk) notHere(found, prev lexer.Token, where place) *diag.Error {
	e := unexpected(found, where.what+" or `}`")
	switch {
	case is(found, ","):
		e.Hint = "items of a block are separated by a space, `;` or a new line"
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

// misspelt finds the keyword that was meant by a name with no sign after it.
func misspelt(found, prev lexer.Token, want []string, where place, inBraces bool) *diag.Error {
	if !inBraces || prev.Type != tokIdent || len(where.words) == 0 || !slices.Contains(want, "`"+where.named+"`") {
		return nil
	}
	if found.Type == tokOp && !is(found, "{") {
		return nil
	}
	if _, near := diag.Nearest(prev.Value, where.words); !near && where.what != placeDirective.what {
		return nil
	}
	return unknownWord(prev, where)
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

// ruleItem matches one term at the start of participle's rule: a literal, a
// token kind in angle brackets, or a production, with what repeats it.
var ruleItem = regexp.MustCompile(`^(?:"((?:[^"\\]|\\.)*)"|<(\w+)>|([A-Z]\w*))([?*+]?)`)

// productions are the words for what the grammar calls by its own names.
var productions = map[string]string{
	"ident": "a name", "int": "a number", "string": "a quoted path",
	"Ident": "a name", "Expr": "an expression", "Type": "a type, such as `[batch, embed]`",
	"Block": "`{`", "Options": "`{` and the options", "Path": "a name or path, such as `blocks.*.mlp`",
	"Param": "a parameter", "Entry": "`name = value`", "Else": "`else`",
	"Decl": placeFile.what, "Member": placeMember.what, "Stmt": placeStmt.what, "Directive": placeDirective.what,
}

// wanted is what may stand in place of the unexpected token, in words: the
// terms with which the rest of the rule can begin.
func wanted(u *participle.UnexpectedTokenError) []string {
	_, rule, _ := strings.Cut(u.Message(), "(expected ")
	return firstTerms(strings.TrimSuffix(rule, ")"))
}

func firstTerms(rule string) (terms []string) {
	add := func(s string) {
		if !slices.Contains(terms, s) {
			terms = append(terms, s)
		}
	}
	for rule = strings.TrimSpace(rule); rule != ""; rule = strings.TrimSpace(rule) {
		repeat := ""
		if strings.HasPrefix(rule, "(") {
			n := groupLen(rule)
			if !strings.HasPrefix(rule, "(?") {
				for _, alt := range alternatives(rule[1 : n-1]) {
					for _, t := range firstTerms(alt) {
						add(t)
					}
				}
			} else {
				repeat = "?"
			}
			rule = rule[n:]
			if rule != "" && strings.ContainsAny(rule[:1], "?*+") {
				repeat, rule = rule[:1], rule[1:]
			}
		} else {
			m := ruleItem.FindStringSubmatch(rule)
			switch {
			case m == nil:
				return terms
			case m[1] != "":
				if m[1] != ";" {
					add("`" + m[1] + "`")
				}
			case m[2] != "":
				add(productions[m[2]])
			default:
				add(productions[m[3]])
			}
			repeat, rule = m[4], rule[len(m[0]):]
		}
		if repeat != "?" && repeat != "*" {
			return terms
		}
	}
	return terms
}

// groupLen is the length of the parenthesized group that begins rule.
func groupLen(rule string) int {
	depth, quoted := 0, false
	for i := 0; i < len(rule); i++ {
		switch {
		case rule[i] == '"':
			quoted = !quoted
		case quoted:
		case rule[i] == '(':
			depth++
		case rule[i] == ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(rule)
}

// alternatives cuts a rule at its outer bars.
func alternatives(rule string) (alts []string) {
	depth, quoted, from := 0, false, 0
	for i := 0; i < len(rule); i++ {
		switch {
		case rule[i] == '"':
			quoted = !quoted
		case quoted:
		case rule[i] == '(':
			depth++
		case rule[i] == ')':
			depth--
		case rule[i] == '|' && depth == 0:
			alts = append(alts, rule[from:i])
			from = i + 1
		}
	}
	return append(alts, rule[from:])
}
