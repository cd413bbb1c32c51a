package launch

import (
	"fmt"
	"strings"
)

// shellWords are the words of a text as a shell has them: quotes, backslashes, comments and
// continued lines. Words before the first flag, such as the command, are left out.
func shellWords(text string) ([]string, error) {
	if len(text) > MaxInput {
		return nil, fmt.Errorf("it is longer than 1 MiB")
	}
	var words []string
	var b strings.Builder
	quote, open := rune(0), false
	end := func() {
		if open {
			words = append(words, b.String())
		}
		b.Reset()
		open = false
	}
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(runes):
			if i++; runes[i] != '\n' {
				b.WriteRune(runes[i])
				open = true
			}
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			end()
		case c == '#' && !open:
			for i+1 < len(runes) && runes[i+1] != '\n' {
				i++
			}
		default:
			b.WriteRune(c)
			open = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is never closed")
	}
	end()
	for len(words) > 0 && !isFlag(words[0]) {
		words = words[1:]
	}
	return words, nil
}

// words are the words of all files, then those of the command line.
func (in Input) words() (out []string, err error) {
	for _, f := range in.Files {
		words, err := shellWords(string(f.Text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		out = append(out, words...)
	}
	return append(out, in.Args...), nil
}
