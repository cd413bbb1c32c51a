package jinja

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// filters are what may stand behind |; the first argument is what is filtered.
var filters map[string]func(c *call) Value

func init() {
	filters = map[string]func(c *call) Value{
		"default": defaultFilter, "d": defaultFilter, "length": length, "count": length,
		"first": first, "last": last, "list": listFilter, "reverse": reverse, "join": join,
		"string":  func(c *call) Value { return c.s.show(c.one("string"), c.line) },
		"safe":    func(c *call) Value { return c.s.show(c.one("safe"), c.line) },
		"escape":  escape,
		"e":       escape,
		"tojson":  tojson,
		"int":     intFilter,
		"float":   floatFilter,
		"abs":     absFilter,
		"round":   round,
		"replace": replaceFilter,
		"trim":    trim,
		"indent":  indent,
		"items":   itemsFilter,
		"format": func(c *call) Value {
			if len(c.names) > 0 {
				fail(c.line, "names in formats are not known here")
			}
			return c.s.format(c.s.show(c.args[0], c.line), c.args[1:], c.line)
		},
		"wordcount": func(c *call) Value {
			return int64(len(strings.FieldsFunc(c.s.show(c.one("wordcount"), c.line), func(r rune) bool { return !isNameRune(r) })))
		},
	}
	for n, f := range map[string]func(string) string{"upper": upper, "lower": lower, "title": titleFilter, "capitalize": capitalize} {
		filters[n] = func(c *call) Value {
			s := c.s.show(c.one(n), c.line)
			c.s.pay(len(s), c.line)
			return f(s)
		}
	}
	listFilters()
}

func defaultFilter(c *call) Value {
	c.only("default", "value", "default_value", "boolean")
	_, missing := c.args[0].(undefined)
	if missing || truth(c.arg(2, "boolean", false)) && !truth(c.args[0]) {
		return c.arg(1, "default_value", "")
	}
	return c.args[0]
}

func length(c *call) Value {
	switch v := c.one("length").(type) {
	case undefined:
		return int64(0)
	case string:
		return int64(utf8.RuneCountInString(v))
	case *Dict:
		return int64(len(v.keys))
	case *List:
		if v.shape != generator {
			return int64(len(v.items))
		}
		fail(c.line, "a generator has no length; the filter list makes a list of it")
	default:
		fail(c.line, "a %s has no length", typeName(v))
	}
	return nil
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

func escape(c *call) Value {
	s := c.s.show(c.one("escape"), c.line)
	c.s.pay(5*len(s), c.line)
	return escaper.Replace(s)
}

// titleFilter begins words at white space and brackets, unlike the method.
func titleFilter(s string) string {
	var b strings.Builder
	begins := true
	for _, r := range s {
		if one := string(r); begins {
			b.WriteString(upper(one))
		} else {
			b.WriteString(lower(one))
		}
		begins = r == '-' || isSpace(r) || strings.ContainsRune("({[<", r)
	}
	return b.String()
}

// tojson is transformers' filter, with the arguments of json.dumps.
func tojson(c *call) Value {
	c.only("tojson", "x", "ensure_ascii", "indent", "separators", "sort_keys")
	j := &jsonStyle{ascii: truth(c.arg(1, "ensure_ascii", false)), sorted: truth(c.arg(4, "sort_keys", false)), item: ", ", key: ": "}
	switch n := c.arg(2, "indent", nil).(type) {
	case nil:
	case string:
		j.lines, j.indent = true, n
	default:
		j.lines, j.indent = true, c.s.repeat(" ", min(c.integer(n, "indent of tojson"), 64), c.line).(string)
	}
	if j.lines {
		j.item = ","
	}
	if sep := c.arg(3, "separators", nil); sep != nil {
		two := c.s.iterate(sep, c.line)
		if len(two) != 2 {
			fail(c.line, "separators of tojson are two texts")
		}
		j.item, j.key = c.text(two[0], "separators of tojson"), c.text(two[1], "separators of tojson")
	}
	var b strings.Builder
	c.s.json(&b, c.args[0], j, c.line, 0)
	return b.String()
}

func intFilter(c *call) Value {
	c.only("int", "value", "default", "base")
	base := int(c.integer(c.arg(2, "base", int64(10)), "int"))
	none := c.arg(1, "default", int64(0))
	v := c.args[0]
	if s, ok := v.(string); ok {
		t := strings.ReplaceAll(strings.TrimFunc(s, isSpace), "_", "")
		if base == 16 || base == 8 || base == 2 {
			t = strings.TrimPrefix(strings.ToLower(t), map[int]string{16: "0x", 8: "0o", 2: "0b"}[base])
		}
		if n, err := strconv.ParseInt(t, base, 64); err == nil {
			return n
		}
		f, err := strconv.ParseFloat(t, 64)
		if err != nil {
			return none
		}
		v = f
	}
	i, f, isFloat, ok := number(v)
	switch {
	case !ok:
		refuseUndefined(v, c.line)
		return none
	case !isFloat:
		return i
	case math.IsNaN(f) || math.IsInf(f, 0):
		return none
	case math.Abs(f) >= 1<<62:
		fail(c.line, "an integer needs more than 64 bits")
	}
	return int64(f)
}

func floatFilter(c *call) Value {
	c.only("float", "value", "default")
	none := c.arg(1, "default", 0.0)
	if s, ok := c.args[0].(string); ok {
		f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimFunc(s, isSpace), "_", ""), 64)
		if err != nil {
			return none
		}
		return f
	}
	if _, f, _, ok := number(c.args[0]); ok {
		return f
	}
	refuseUndefined(c.args[0], c.line)
	return none
}

func absFilter(c *call) Value {
	v := c.one("abs")
	i, f, isFloat, ok := number(v)
	switch {
	case !ok:
		refuseUndefined(v, c.line)
		fail(c.line, "abs of a %s", typeName(v))
	case isFloat:
		return math.Abs(f)
	case i == math.MinInt64:
		fail(c.line, "an integer needs more than 64 bits")
	}
	return max(i, -i)
}

// round is Python's, to the even neighbour of two that are as near.
func round(c *call) Value {
	c.only("round", "value", "precision", "method")
	digits := c.integer(c.arg(1, "precision", int64(0)), "round")
	how := c.text(c.arg(2, "method", "common"), "round")
	i, f, isFloat, ok := number(c.args[0])
	if !ok || digits < 0 || digits > 15 {
		refuseUndefined(c.args[0], c.line)
		fail(c.line, "round takes a number and from 0 to 15 digits")
	}
	scale := math.Pow(10, float64(digits))
	switch how {
	case "common":
		if !isFloat {
			return i
		}
		out, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(digits), 64), 64)
		return out
	case "ceil":
		return math.Ceil(f*scale) / scale
	case "floor":
		return math.Floor(f*scale) / scale
	}
	fail(c.line, "the method of round is common, ceil or floor")
	return nil
}

func replaceFilter(c *call) Value {
	c.only("replace", "s", "old", "new", "count")
	count := c.arg(3, "count", nil)
	if count == nil {
		count = int64(-1)
	}
	old, with := c.arg(1, "old", undefined{}), c.arg(2, "new", undefined{})
	return c.replaced(c.s.show(c.args[0], c.line), c.s.show(old, c.line), c.s.show(with, c.line), c.integer(count, "replace"))
}

func trim(c *call) Value {
	c.only("trim", "value", "chars")
	s := c.s.show(c.args[0], c.line)
	c.args = c.args[1:]
	return strip(c, s, true, true)
}

func indent(c *call) Value {
	c.only("indent", "s", "width", "first", "blank")
	s := c.text(c.args[0], "indent")
	with, ok := c.arg(1, "width", int64(4)).(string)
	if !ok {
		with = c.s.repeat(" ", c.integer(c.arg(1, "width", int64(4)), "indent"), c.line).(string)
	}
	lines := splitLines(s+"\n", false)
	c.s.pay(len(s)+min(len(lines)*len(with), maxText+1), c.line)
	for i := range lines {
		if i > 0 && (lines[i] != "" || truth(c.arg(3, "blank", false))) {
			lines[i] = with + lines[i]
		}
	}
	out := strings.Join(lines, "\n")
	if truth(c.arg(2, "first", false)) {
		out = with + out
	}
	return out
}

func itemsFilter(c *call) Value {
	switch v := c.one("items").(type) {
	case undefined:
		return &List{shape: generator}
	case *Dict:
		return itemsOf(c, v, generator)
	}
	fail(c.line, "items of what is no dictionary")
	return nil
}

func listFilter(c *call) Value {
	items := c.s.iterate(c.one("list"), c.line)
	c.s.payItems(len(items), c.line)
	return &List{items: slices.Clone(items)}
}
