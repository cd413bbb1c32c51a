package ir

import (
	"unicode"
	"unicode/utf8"
)

// IsIdent reports whether s can name an axis, a mesh axis, an attribute, an
// operation or a function: letters, digits, combining marks, underscores and
// points, with a letter or underscore in front. Letters and digits are those of
// Unicode, so that each name of the language is one. Names are the same if their
// bytes are: nothing is normalized.
func IsIdent(s string) bool { return startsIdent(s) && isWord(s) }

// startsIdent reports whether an identifier can begin as s does.
func startsIdent(s string) bool {
	if s == "" {
		return false
	}
	if c := s[0]; c < utf8.RuneSelf {
		return isLetter(c)
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// isWord reports whether s is made of the characters of identifiers, at least
// one.
func isWord(s string) bool { return s != "" && wordLen(s) == len(s) }

// wordLen is how many bytes at the start of s are characters of identifiers.
func wordLen(s string) int {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if !isLetter(c) && !isDigit(c) && c != '.' {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			return i
		}
		i += n
	}
	return len(s)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
