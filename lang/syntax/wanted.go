package syntax

import (
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2"
)

// ruleItem matches one term at the start of participle's rule: a literal, a
// token kind in angle brackets, or a production, with what repeats it.
var ruleItem = regexp.MustCompile(`^(?:"((?:[^"\\]|\\.)*)"|<(\w+)>|([A-Z]\w*))([?*+]?)`)

// productions are the words for what the grammar calls by its own names.
var productions = map[string]string{
	"ident": "a name", "int": "a number", "string": "a quoted path",
	"Ident": "a name", "Expr": "an expression", "Type": "a type, such as `[batch, embed]`",
	"Block": "`{`", "Options": "`{` and the options", "Path": "a name or path, such as `blocks.*.mlp`",
	"NamesItem": placeNames.what, "Piece": "the path of a parameter", "OpenPath": "the path of a parameter", "PathPart": "a name, a number or `{i}`",
	"Place": "`axis = variable`", "KeyRow": placeEntry.what, "DottedKey": "a key",
	"Param": "a parameter", "Entry": "`name = value`", "Lora": "`lora { … }`", "Metrics": "`metrics { … }`", "Stop": "`stop { … }`", "Selected": "`on = path`", "SweepAxis": "`name = [values]`", "Else": "`else`",
	"Auto": "`auto`", "AutoItem": placeAuto.what, "Level": "a number", "Allowed": "a word such as `tp`", "Choice": "a value", "word": "a number",
	"MachineItem": placeMachine.what, "Fact": placeFact.what, "Quoted": "a string", "Source": "`from \"source\"`", "Datum": "a value",
	"Decl": placeFile.what, "Member": placeMember.what, "Stmt": placeStmt.what,
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
