package metrics

import (
	"encoding/json"
	"math"
	"strconv"
)

// line is the text of a JSON object that is being written. Its memory is used
// again for the next, so that writing numbers and plain strings allocates nothing.
type line []byte

func (l *line) text(s string) { *l = append(*l, s...) }

// key begins a field behind another one.
func (l *line) key(k string) {
	l.text(`,"`)
	l.text(k)
	l.text(`":`)
}

func (l *line) str(k, v string)       { l.key(k); *l = appendString(*l, v) }
func (l *line) int(k string, v int64) { l.key(k); *l = strconv.AppendInt(*l, v, 10) }

// num writes a number; JSON has none that is not finite.
func (l *line) num(k string, v float64) {
	l.key(k)
	l.number(v)
}

func (l *line) number(v float64) {
	if !isFinite(v) {
		l.text("null")
		return
	}
	*l = strconv.AppendFloat(*l, v, 'g', -1, 64)
}

// nums writes a list of numbers.
func (l *line) nums(k string, list []float64) {
	l.key(k)
	l.text("[")
	for i, v := range list {
		if i > 0 {
			l.text(",")
		}
		*l = strconv.AppendFloat(*l, v, 'g', -1, 64)
	}
	l.text("]")
}

// figures writes metrics as an object; nothing where there are none.
func (l *line) figures(list []Figure) {
	if len(list) == 0 {
		return
	}
	l.key("metrics")
	l.text("{")
	for i, f := range list {
		if i == 0 {
			l.text(`"`)
		} else {
			l.text(`,"`)
		}
		l.text(f.Name)
		l.text(`":`)
		l.number(f.Value)
	}
	l.text("}")
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// appendString writes a string, without allocating if it needs no escape.
func appendString(b []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			text, err := json.Marshal(s)
			if err != nil {
				panic("metrics: a string cannot be written as JSON: " + err.Error())
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
