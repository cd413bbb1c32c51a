package layout

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
)

const code = "E0321" // metadata of a layout that cannot be read

func sameType(a, b Rule) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }

// decode is the rule that a term says, or what is wrong with it.
func decode(t ir.Term) (Rule, *diag.Error) {
	row := row(t.Head)
	if row == nil || row.New == nil {
		var words []string
		for _, r := range Table {
			if r.New != nil {
				words = append(words, r.Word)
			}
		}
		return nil, &diag.Error{Code: code, Msg: fmt.Sprintf("layout: no directive `%s`", t.Head),
			Want: diag.OneOf(words), Hint: diag.DidYouMean(t.Head, words)}
	}
	r := row.New()
	c := &reader{row: row, args: t.Args}
	if at := c.get("at"); at != nil {
		s, _ := at.(ir.Str)
		p := diag.ParsePos(string(s))
		if !p.IsValid() {
			c.wrong("at", at, "a place such as \"model.ptl:9:3\"")
		}
		r.Place(p)
	}
	r.fields(c)
	c.unknown()
	if c.err != nil && c.err.Pos == (diag.Pos{}) {
		c.err.Pos = c.at()
	}
	return r, c.err
}

// reader takes the fields of a rule from the arguments of a term. The first
// mistake counts.
type reader struct {
	row  *Row
	args ir.Attrs
	keys []string
	err  *diag.Error
}

func (c *reader) at() diag.Pos { return diag.ParsePos(c.args.Text("at")) }

func (c *reader) get(key string) ir.AttrVal {
	c.keys = append(c.keys, key)
	return c.args.Get(key)
}

func (c *reader) fail(e *diag.Error) {
	if c.err == nil {
		c.err = e
	}
}

func (c *reader) wrong(key string, v ir.AttrVal, want string) {
	c.fail(&diag.Error{Code: code, Msg: fmt.Sprintf("%s: `%s` is %s", c.row.Word, key, v), Want: want, Hint: c.readBy()})
}

func (c *reader) lacks(key, want string) {
	c.fail(&diag.Error{Code: code, Msg: fmt.Sprintf("%s: there is no `%s`", c.row.Word, key), Want: want, Hint: c.readBy()})
}

func (c *reader) readBy() string { return "the pass `" + c.row.Passes[0] + "` acts on it" }

// unknown reports an argument that no field has. The code is that of a setting of
// `precision`, which is older than that of a layout.
func (c *reader) unknown() {
	keys := slices.DeleteFunc(slices.Clone(c.keys), func(k string) bool { return k == "at" })
	slices.Sort(keys)
	number := code
	if c.row.Form == InMeta {
		number = "E0604"
	}
	for _, a := range c.args {
		if !slices.Contains(c.keys, a.Key) {
			c.fail(&diag.Error{Code: number, Msg: fmt.Sprintf("%s: unknown setting `%s`", c.row.Word, a.Key),
				Want: diag.OneOf(keys), Hint: diag.DidYouMean(a.Key, keys)})
		}
	}
}

func (c *reader) names(key string, v *[]string, l list) {
	want := "a list of names: (a, b)"
	if l.from != nil {
		want = "a list of " + strings.Join(l.from, ", ")
	}
	switch x := c.get(key).(type) {
	case nil:
		if l.some {
			c.lacks(key, want)
		}
	case ir.Names:
		*v = append([]string{}, x...)
		if l.some && len(x) == 0 || l.from != nil && slices.ContainsFunc(x, func(n string) bool { return !slices.Contains(l.from, n) }) {
			c.wrong(key, x, want)
		}
	default:
		c.wrong(key, x, want)
	}
	if !l.always && len(*v) == 0 {
		*v = nil
	}
}

func (c *reader) mesh(key string, v *[]string, l list) { c.names(key, v, l) }

func (c *reader) axis(key string, v *string) {
	var names []string
	c.names(key, &names, list{some: true})
	switch {
	case len(names) == 1:
		*v = names[0]
	case len(names) > 1:
		c.wrong(key, ir.Names(names), "one mesh axis: (a)")
	}
}

func (c *reader) paths(key string, v *[]string) {
	switch x := c.get(key).(type) {
	case nil:
	case ir.Str:
		for _, p := range strings.Split(string(x), ",") {
			if p = strings.TrimSpace(p); p != "" {
				*v = append(*v, p)
			}
		}
	default:
		c.wrong(key, x, "paths, separated by commas: \"blocks.*.attn, Block\"")
	}
}

// said is a string or name.
func said(v ir.AttrVal) (string, bool) {
	switch v := v.(type) {
	case ir.Str:
		return string(v), v != ""
	case ir.Name:
		return string(v), v != ""
	}
	return "", false
}

func (c *reader) word(key string, v *string, l list) {
	x := c.get(key)
	s, ok := said(x)
	switch {
	case x == nil && l.some:
		c.lacks(key, diag.OneOf(l.from))
	case x != nil && (!ok || !slices.Contains(l.from, s)):
		c.wrong(key, x, diag.OneOf(l.from))
	}
	*v = s
}

func (c *reader) text(key string, v *string) {
	x := c.get(key)
	s, ok := said(x)
	switch {
	case x == nil && *v == "":
		c.lacks(key, "a string")
	case x == nil:
	case !ok:
		c.wrong(key, x, "a string")
	default:
		*v = s
	}
}

func (c *reader) integer(key string, v int64, s span) int64 {
	want := fmt.Sprintf("a whole number from %d", s.least)
	if s.most > 0 {
		want += fmt.Sprintf(" to %d", s.most)
	}
	switch x := c.get(key).(type) {
	case nil:
		if !s.optional && !s.holds(v) {
			c.lacks(key, want)
		}
	case ir.Int:
		if v = int64(x); !s.holds(v) {
			c.wrong(key, x, want)
		}
	default:
		c.wrong(key, x, want)
	}
	return v
}

func (c *reader) counts(key string, v *[]int) {
	const want = "numbers from 1 on: [2, 1]"
	switch x := c.get(key).(type) {
	case nil:
	case ir.Ints:
		for _, n := range x {
			if *v = append(*v, int(n)); n < 1 {
				c.wrong(key, x, want)
			}
		}
	default:
		c.wrong(key, x, want)
	}
}

func (c *reader) dtype(key string, v *ir.DType, from []ir.DType) {
	x := c.get(key)
	if x == nil {
		return
	}
	var names []string
	for _, d := range from {
		names = append(names, d.String())
	}
	name, _ := said(x)
	d, ok := ir.ParseDType(name)
	switch {
	case !ok || !d.IsFloat():
		c.fail(&diag.Error{Code: "E0604", Msg: fmt.Sprintf("%s: `%s` is not a float dtype", c.row.Word, name),
			Want: diag.OneOf(names), Hint: diag.DidYouMean(name, names)})
	case !slices.Contains(from, d):
		c.fail(&diag.Error{Code: "E0605", Msg: fmt.Sprintf("%s: `%s = %s` is not available", c.row.Word, key, d), Want: diag.OneOf(names)})
	default:
		*v = d
	}
}

func (c *reader) scale(key string, v *Scale) {
	x := c.get(key)
	if x == nil {
		return
	}
	s, err := readScale(x)
	if err != nil {
		c.fail(err)
	}
	*v = s
}
