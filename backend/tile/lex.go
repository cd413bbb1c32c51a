package tile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokens cuts a line into identifiers, names of tiles (with their %), numbers without
// sign, and single characters.
func tokens(line string) ([]string, error) {
	var out []string
	for line != "" {
		r, n := utf8.DecodeRuneInString(line)
		switch {
		case r == ' ' || r == '\t' || r == '\r':
			line = line[n:]
			continue
		case r == '#':
			return out, nil
		case isWordRune(r):
			n = wordLen(line)
		case r == '%':
			n += wordLen(line[n:])
		case !strings.ContainsRune("=:,[]()*+-@", r):
			return nil, fmt.Errorf("found the character %q; expected a name, a number or one of = : , [ ] ( ) * + - @ %%", r)
		}
		out = append(out, line[:n])
		line = line[n:]
	}
	return out, nil
}

func isWordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// wordLen is the length of the identifier or the number at the start of s. The sign of
// an exponent belongs to its number.
func wordLen(s string) int {
	number := s != "" && s[0] >= '0' && s[0] <= '9'
	last := rune(0)
	for i, r := range s {
		signed := number && (r == '+' || r == '-') && (last == 'e' || last == 'E')
		if !isWordRune(r) && r != '.' && !unicode.Is(unicode.Mn, r) && !signed {
			return i
		}
		last = r
	}
	return len(s)
}
