package syntax

import (
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

// The kinds of token. Words that only some places give a meaning to
// (`model`, `over`, `in`, …) are plain identifiers, so that they stay free as
// names of axes and options.
const (
	tokIdent   lexer.TokenType = iota + 1
	tokWord                    // begins with a digit: 1f1b
	tokKeyword                 // one of reserved
	tokInt
	tokFloat
	tokString // with its quotes
	tokOp
	tokComment
	tokSpace
)

// symbols are the token kinds under the names that the grammar's tags use.
var symbols = map[string]lexer.TokenType{
	"EOF": lexer.EOF, "Ident": tokIdent, "Word": tokWord, "Keyword": tokKeyword,
	"Int": tokInt, "Float": tokFloat, "String": tokString, "Op": tokOp,
	"Comment": tokComment, "Space": tokSpace,
}

// reserved words cannot be names anywhere.
var reserved = map[string]bool{
	"fn": true, "let": true, "return": true, "for": true, "if": true, "else": true,
	"and": true, "or": true, "not": true, "true": true, "false": true, "inf": true,
	"like": true,
}

// operators, longest first.
var operators = []string{
	"**=", "->", "..", "**", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "&&", "||", "::", ":=",
	"(", ")", "[", "]", "{", "}", ",", ";", ":", ".", "=", "~",
	"+", "-", "*", "/", "%", "<", ">", "!",
}

// definition serves the lexer to participle; the parser feeds it tokens that
// are already there.
type definition struct{}

func (definition) Symbols() map[string]lexer.TokenType { return symbols }

func (definition) LexString(file, text string) (lexer.Lexer, error) {
	toks, errs := lex(file, []byte(text))
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return &tokenReader{toks}, nil
}

// tokenReader hands out a slice of tokens, which ends in EOF.
type tokenReader struct{ toks []lexer.Token }

func (r *tokenReader) Next() (lexer.Token, error) {
	t := r.toks[0]
	if !t.EOF() {
		r.toks = r.toks[1:]
	}
	return t, nil
}

func trivia(t lexer.Token) bool { return t.Type == tokSpace || t.Type == tokComment }

// is reports whether t is exactly this sign or word, and not a string of it.
func is(t lexer.Token, value string) bool { return t.Value == value && t.Type != lexer.EOF }

// unquote resolves the escapes of a string literal: those of Go.
func unquote(text string) (string, error) { return strconv.Unquote(text) }

// parseInt reads a decimal or 0x literal, which may have underscores.
func parseInt(text string) (int64, error) {
	text = strings.ReplaceAll(text, "_", "")
	if hex, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		return strconv.ParseInt(hex, 16, 64)
	}
	return strconv.ParseInt(text, 10, 64)
}

// parseFloat reads a literal with a fraction or an exponent.
func parseFloat(text string) (float64, error) {
	return strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
}
