package weights

import (
	"encoding/json"
	"strings"
)

// Python writes and reads numbers that JSON does not have. A config may have them in keys that
// the model does not depend on.
var nonfinite = []string{"NaN", "-Infinity", "Infinity"}

// mark begins a string that stands for such a number; a NUL is in no string of a file that
// people write.
const mark = "\x00number "

// plainNumbers puts strings with a mark in the place of such numbers. A text that has none is
// returned as it is.
func plainNumbers(text []byte) []byte {
	var out []byte
	from, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == 'N' || c == 'I' || c == '-'):
			for _, w := range nonfinite {
				if len(text)-i >= len(w) && string(text[i:i+len(w)]) == w {
					out = append(append(out, text[from:i]...), `"\u0000number `+w+`"`...)
					i += len(w) - 1
					from = i + 1
					break
				}
			}
		}
	}
	if out == nil {
		return text
	}
	return append(out, text[from:]...)
}

// restore makes numbers of the strings with a mark, and is false where one is a key. They are none
// for arithmetic: who needs a finite one refuses them.
func restore(v *any) bool {
	switch x := (*v).(type) {
	case string:
		if w, ok := strings.CutPrefix(x, mark); ok {
			*v = json.Number(w)
		}
	case map[string]any:
		for k, y := range x {
			if strings.HasPrefix(k, mark) || !restore(&y) {
				return false
			}
			x[k] = y
		}
	case []any:
		for i := range x {
			if !restore(&x[i]) {
				return false
			}
		}
	}
	return true
}
