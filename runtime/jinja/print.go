package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"ptc/internal/order"
)

// show is Python's str( ).
func (s *state) show(v Value, line int) string {
	switch v := v.(type) {
	case string:
		return v
	case undefined:
		return ""
	}
	var b strings.Builder
	s.repr(&b, v, line, 0)
	return b.String()
}

// repr is Python's repr( ).
func (s *state) repr(b *strings.Builder, v Value, line, depth int) {
	if s.step(line); depth > maxNested || b.Len() > maxText {
		fail(line, "what is printed is too large")
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case undefined:
		b.WriteString("Undefined")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case huge:
		b.WriteString(string(v))
	case float64:
		b.WriteString(floatText(v))
	case string:
		s.pay(len(v), line)
		quote(b, v)
	case *List:
		s.reprList(b, v, line, depth)
	case *Dict:
		b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			s.repr(b, k, line, depth+1)
			b.WriteString(": ")
			s.repr(b, v.vals[i], line, depth+1)
		}
		b.WriteByte('}')
	default:
		fail(line, "a %s cannot be printed", typeName(v))
	}
}

func (s *state) reprList(b *strings.Builder, l *List, line, depth int) {
	left, right := "[", "]"
	switch l.shape {
	case tuple:
		left, right = "(", ")"
		if len(l.items) == 1 {
			right = ",)"
		}
	case view:
		left, right = l.label+"([", "])"
	case ranged:
		b.WriteString(l.label)
		return
	case generator:
		fail(line, "a generator cannot be printed; the filter list makes a list of it")
	}
	b.WriteString(left)
	for i, v := range l.items {
		if i > 0 {
			b.WriteString(", ")
		}
		s.repr(b, v, line, depth+1)
	}
	b.WriteString(right)
}

// floatText writes a float as Python does: the shortest digits that read back the
// same, with an exponent below 1e-4 and from 1e16 on.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(f), "+"))
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	out := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(out, ".") {
		out += ".0"
	}
	return out
}

// quote writes a text as Python's repr does.
func quote(b *strings.Builder, v string) {
	q := byte('\'')
	if strings.Contains(v, "'") && !strings.Contains(v, `"`) {
		q = '"'
	}
	b.WriteByte(q)
	for _, r := range v {
		switch {
		case r == rune(q) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteByte(q)
}

// jsonStyle is how json.dumps was asked to write.
type jsonStyle struct {
	ascii, sorted bool
	indent        string
	lines         bool // each element has a line of its own
	item, key     string
}

// json writes a value as Python's json.dumps does.
func (s *state) json(b *strings.Builder, v Value, j *jsonStyle, line, depth int) {
	if s.step(line); depth > maxNested || b.Len() > maxText {
		fail(line, "what becomes JSON is too large")
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case huge:
		b.WriteString(string(v))
	case float64:
		b.WriteString(map[string]string{"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[floatText(v)])
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			b.WriteString(floatText(v))
		}
	case string:
		s.pay(len(v), line)
		jsonText(b, v, j.ascii)
	case *List:
		if v.shape > tuple {
			fail(line, "a %s does not become JSON; the filter list makes a list of it", typeName(v))
		}
		s.jsonGroup(b, "[", "]", len(v.items), j, line, depth, func(i int) { s.json(b, v.items[i], j, line, depth+1) })
	case *Dict:
		s.jsonDict(b, v, j, line, depth)
	default:
		refuseUndefined(v, line)
		fail(line, "a %s does not become JSON", typeName(v))
	}
}

func (s *state) jsonDict(b *strings.Builder, d *Dict, j *jsonStyle, line, depth int) {
	at := order.By(len(d.keys), func(x, y int) int {
		switch {
		case j.sorted && s.less(d.keys[x], d.keys[y], line):
			return -1
		case j.sorted && s.less(d.keys[y], d.keys[x], line):
			return 1
		}
		return 0
	})
	s.jsonGroup(b, "{", "}", len(d.keys), j, line, depth, func(i int) {
		key, ok := d.keys[at[i]].(string)
		if !ok { // numbers, booleans and None are keys as JSON writes them
			var k strings.Builder
			s.json(&k, d.keys[at[i]], j, line, depth+1)
			key = k.String()
		}
		jsonText(b, key, j.ascii)
		b.WriteString(j.key)
		s.json(b, d.vals[at[i]], j, line, depth+1)
	})
}

func (s *state) jsonGroup(b *strings.Builder, left, right string, n int, j *jsonStyle, line, depth int, item func(i int)) {
	b.WriteString(left)
	for i := range n {
		if i > 0 {
			b.WriteString(j.item)
		}
		if j.lines {
			b.WriteString("\n" + strings.Repeat(j.indent, depth+1))
		}
		item(i)
	}
	if j.lines && n > 0 {
		b.WriteString("\n" + strings.Repeat(j.indent, depth))
	}
	b.WriteString(right)
}

// jsonText writes a string of JSON with the escapes of Python's encoder.
func jsonText(b *strings.Builder, v string, ascii bool) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}
	b.WriteByte('"')
	for _, r := range v {
		switch e := short[r]; {
		case e != "":
			b.WriteString(e)
		case r < 0x20 || ascii && r >= 0x7f && r < 0x10000 && r != 0x7f:
			fmt.Fprintf(b, `\u%04x`, r)
		case ascii && r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
