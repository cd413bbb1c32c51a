package builtin

import (
	"math"
	"regexp"
	"strings"

	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

func init() {
	eval.DefineTraced("require", "x, condition, what",
		"`x`, if the condition holds; else an error where it was given, which says what must hold. For arguments "+
			"of modules.",
		require)
	eval.Define("byte_size", "x",
		"`x`, if it is a size such as `64 MiB` or `\"64MiB\"`; else an error where it was given.",
		byteSize)
}

// require is require(x, condition, "what must hold"): x, if the condition
// holds, and an error where the program is compiled otherwise.
func require(f *eval.Frame, c *eval.Call) value.Value {
	holds, ok := c.Vals[1].(value.Truth)
	if !ok {
		return f.Wants("E0219", c.Nodes[1], "a condition known at compile time", "", "the condition is %s", c.Vals[1].What())
	}
	what, ok := c.Vals[2].(value.Text)
	if !ok {
		return f.NotA(c.Nodes[2], c.Vals[2], "a string")
	}
	if holds {
		return c.Vals[0]
	}
	found := c.Vals[0].What()
	if n, ok := value.NumberOf(c.Vals[0]); ok {
		found = value.FormatNumber(n)
	}
	return refused(f, c, found, string(what))
}

// refused reports the first argument, which is not what it must be: at the place that it
// was given by, if it is a name.
func refused(f *eval.Frame, c *eval.Call, found, want string) value.Value {
	name := ""
	if n, ok := c.Nodes[0].(*syntax.Name); ok {
		name, found = n.Name, "`"+n.Name+"` is "+found
	} else {
		found = "found " + found
	}
	f.ReportNamed(source.Wanted("E0216", c.Nodes[0], want, "", "%s", found), name)
	return value.Unknown{}
}

// sizeText is a size in bytes as a string, as sources of data read it: a fraction
// has a unit.
var sizeText = regexp.MustCompile(`^ *([0-9]+|[0-9]*\.?[0-9]+ *[KMGT]i?B|[0-9]+ *B) *$`)

// byteSize is byte_size(x): x, if it is a number of bytes, at least 1, or a
// string such as "64MiB"; an error where it was given otherwise.
func byteSize(f *eval.Frame, c *eval.Call) value.Value {
	found := c.Vals[0].What()
	switch v := c.Vals[0].(type) {
	case value.Number:
		if v.V >= 1 && v.V <= 1<<53 && value.WholeBytes(v.V) {
			return value.Number{V: math.Trunc(v.V), Whole: true}
		}
		found = value.FormatNumber(v)
	case value.Text:
		if sizeText.MatchString(string(v)) && strings.ContainsAny(string(v), "123456789") {
			return v
		}
	case value.Word:
		found = "`" + v.Name + "`"
	}
	return refused(f, c, found, "a size such as `64 MiB`, in whole bytes, at least one")
}
