package jinja

import "slices"

// method is what a value of a type can do.
type method func(c *call, of Value) Value

// unsafe are methods that change a value, which the sandbox of transformers refuses.
var unsafe = map[string][]string{
	"dict": {"clear", "pop", "popitem", "setdefault", "update"},
	"list": {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"},
}

// unknown are methods that Python has and templates have no use for.
var unknown = map[string][]string{
	"dict":  {"fromkeys"},
	"str":   {"casefold", "center", "encode", "expandtabs", "format", "format_map", "isascii", "isdecimal", "isidentifier", "isnumeric", "isprintable", "istitle", "maketrans", "swapcase", "translate"},
	"int":   {"as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes", "imag", "is_integer", "numerator", "real", "to_bytes"},
	"float": {"as_integer_ratio", "conjugate", "fromhex", "hex", "imag", "is_integer", "real"},
	"range": {"start", "stop", "step"},
}

// member is what a value has by its type: a method, an attribute of a namespace or of
// a loop.
func (s *state) member(v Value, name string, line int) (Value, bool) {
	switch v := v.(type) {
	case *namespace:
		return v.vars.get(name)
	case *loop:
		return v.attribute(name)
	}
	kind := typeName(v)
	if slices.Contains(unsafe[kind], name) {
		return undefined{"a template may not call " + name + " of a " + kind}, true
	}
	if slices.Contains(unknown[kind], name) {
		fail(line, "%s of a %s is not known here", name, kind)
	}
	var m method
	switch v := v.(type) {
	case string:
		m = textMethods[name]
	case *Dict:
		m = dictMethods[name]
	case *List:
		if v.shape != generator && v.shape != view {
			m = listMethods[name]
		}
	}
	if m == nil {
		return nil, false
	}
	return &function{name, func(c *call) Value { return m(c, v) }}, true
}

var dictMethods = map[string]method{
	"get": func(c *call, of Value) Value {
		if len(c.args) < 1 || len(c.args) > 2 || len(c.names) > 0 {
			fail(c.line, "get takes a key and what it gives without it")
		}
		if _, ok := keyOf(c.args[0]); !ok {
			fail(c.line, "a %s cannot be a key", typeName(c.args[0]))
		}
		if v, ok := of.(*Dict).get(c.args[0]); ok {
			return v
		}
		return c.arg(1, "", nil)
	},
	"keys": func(c *call, of Value) Value {
		c.only("keys")
		return &List{items: of.(*Dict).keys, shape: view, label: "dict_keys"}
	},
	"values": func(c *call, of Value) Value {
		c.only("values")
		return &List{items: of.(*Dict).vals, shape: view, label: "dict_values"}
	},
	"items": func(c *call, of Value) Value {
		c.only("items")
		return itemsOf(c, of.(*Dict), view)
	},
	"copy": func(c *call, of Value) Value {
		c.only("copy")
		c.s.payItems(len(of.(*Dict).keys), c.line)
		return of.(*Dict).copy()
	},
}

func itemsOf(c *call, d *Dict, shape shape) *List {
	c.s.payItems(len(d.keys), c.line)
	out := &List{shape: shape, label: "dict_items"}
	for i, k := range d.keys {
		out.items = append(out.items, &List{items: []Value{k, d.vals[i]}, shape: tuple})
	}
	return out
}

var listMethods = map[string]method{
	"index": func(c *call, of Value) Value {
		v := c.one("index")
		at := slices.IndexFunc(of.(*List).items, func(x Value) bool { return c.s.equal(x, v, c.line, 0) })
		if at < 0 {
			fail(c.line, "the element is not in the list")
		}
		return int64(at)
	},
	"count": func(c *call, of Value) Value {
		v, n := c.one("count"), int64(0)
		for _, x := range of.(*List).items {
			if c.s.equal(x, v, c.line, 0) {
				n++
			}
		}
		return n
	},
	"copy": func(c *call, of Value) Value {
		c.only("copy")
		l := of.(*List)
		if l.shape != list {
			fail(c.line, "a %s has no copy", typeName(of))
		}
		c.s.payItems(len(l.items), c.line)
		return &List{items: slices.Clone(l.items)}
	},
}
