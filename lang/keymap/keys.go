package keymap

import (
	"encoding/json"
	"strconv"
	"strings"

	"ptc/lang/syntax"
	"ptc/lang/value"
)

// key resolves a row of config: what the other program's key is for this model.
func (l *lowerer) key(r *syntax.KeyRow) {
	k := Key{}
	for _, n := range r.Keys {
		k.Names = append(k.Names, n.String())
	}
	x, other := choice(r.Value)
	v, ok := l.json(x)
	if !ok {
		return
	}
	k.Value = v
	switch {
	case isNull(other):
		if v == "0" || v == "0.0" {
			k.Value = "null"
		}
	case other != nil:
		d, ok := l.json(other)
		if !ok {
			return
		}
		k.Default = equal(v, d)
	}
	if _, list := x.(*syntax.List); list { // how often it is repeated is not known
		k.Default = true
	}
	l.out.Keys = append(l.out.Keys, k)
}

// choice is the value of a row, and what it is where the other program's config does
// not say: `value or default`.
func choice(x syntax.Expr) (val, other syntax.Expr) {
	if b, ok := x.(*syntax.Binary); ok && b.Op == "or" {
		return b.X, b.Y
	}
	return x, nil
}

func isNull(x syntax.Expr) bool {
	n, ok := x.(*syntax.Name)
	return ok && n.Name == "null"
}

// equal compares numbers by value.
func equal(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return a == b || err1 == nil && err2 == nil && x == y
}

// json is an expression's value as JSON has it.
func (l *lowerer) json(x syntax.Expr) (string, bool) {
	switch v := l.Expr(x).(type) {
	case value.Number:
		if n, ok := v.Int(); ok && v.Whole {
			return strconv.Itoa(n), true
		}
		s := strconv.FormatFloat(v.V, 'g', -1, 64)
		if !strings.ContainsAny(s, ".eIN") {
			s += ".0"
		}
		return s, !strings.ContainsAny(s, "IN")
	case value.Text:
		b, err := json.Marshal(string(v))
		return string(b), err == nil
	case value.Truth:
		return strconv.FormatBool(bool(v)), true
	case value.Tuple:
		if list, ok := x.(*syntax.List); ok && len(list.Elems) > 0 {
			return l.jsonList(list)
		}
		l.Wants("E0718", x, "a list with elements", "", "found %s", v.What())
		return "", false
	case value.Unknown:
		return "", false
	default:
		l.Wants("E0718", x, "an entry of the config, a number, a string, or true or false", "", "found %s", v.What())
		return "", false
	}
}

// jsonList is a list, which the other program's repeats.
func (l *lowerer) jsonList(x *syntax.List) (string, bool) {
	var elems []string
	for _, e := range x.Elems {
		s, ok := l.json(e)
		if !ok {
			return "", false
		}
		elems = append(elems, s)
	}
	return "[" + strings.Join(elems, ",") + "]", true
}

// Read is how a row of config is read: Names are the keys, Entry the entry of the
// model's config that takes the value, and Default the expression that it has where
// there is none. Entry is empty where the row computes its value.
type Read struct {
	Names          []string
	Entry, Default string
}

// Reads are the rows of config of a block, of the source text.
func Reads(n *syntax.Names, text string) []Read {
	var out []Read
	for _, x := range n.Items {
		rows, ok := x.(*syntax.KeyRows)
		if !ok {
			continue
		}
		for _, r := range rows.Rows {
			var read Read
			for _, k := range r.Keys {
				read.Names = append(read.Names, k.String())
			}
			v, other := choice(r.Value)
			if id, ok := v.(*syntax.Name); ok {
				read.Entry = id.Name
			}
			switch {
			case isNull(other):
				read.Default = "0"
			case other != nil:
				e := other.Extent()
				read.Default = strings.TrimSpace(text[e.Pos.Offset:e.EndPos.Offset])
			}
			out = append(out, read)
		}
	}
	return out
}

// FormatOf is the format of a block, as it is written.
func FormatOf(n *syntax.Names) string {
	for _, x := range n.Items {
		if e, ok := x.(*syntax.Entry); ok && e.Key.Name == "format" {
			if w, ok := e.Value.(*syntax.Name); ok {
				return w.Name
			}
		}
	}
	return "hf"
}
