package lang

import (
	"math"
	"regexp"
	"strings"

	"ptc/lang/syntax"
)

func init() {
	define("require", "x, condition, what", require)
	define("byte_size", "x", byteSize)
}

// require is require(x, condition, "what must hold"): x, if the condition
// holds, and an error where the program is compiled otherwise. The place is
// the argument that x was given by, if x is a name.
func require(f *frame, c *builtinCall) value {
	holds, ok := c.vals[1].(truth)
	if !ok {
		return f.wants("E0219", c.nodes[1], "a condition known at compile time", "", "the condition is %s", c.vals[1].what())
	}
	what, ok := c.vals[2].(text)
	if !ok {
		return f.notA(c.nodes[2], c.vals[2], "a string")
	}
	if holds {
		return c.vals[0]
	}
	name, found := "", c.vals[0].what()
	if n, ok := c.vals[0].(number); ok {
		found = formatNumber(n)
	}
	if n, ok := c.nodes[0].(*syntax.Name); ok {
		name = n.Name
		found = "`" + name + "` is " + found
	} else {
		found = "found " + found
	}
	e := at("E0216", c.nodes[0], "%s", found)
	e.Want = string(what)
	f.reportNamed(e, name)
	return unknown{}
}

// sizeText is a size in bytes as a string, as sources of data read it: a fraction
// has a unit.
var sizeText = regexp.MustCompile(`^ *([0-9]+|[0-9]*\.?[0-9]+ *[KMGT]i?B|[0-9]+ *B) *$`)

// byteSize is byte_size(x): x, if it is a number of bytes, at least 1, or a
// string such as "64MiB"; an error where it was given otherwise.
func byteSize(f *frame, c *builtinCall) value {
	found, name := c.vals[0].what(), ""
	switch v := c.vals[0].(type) {
	case number:
		if v.v >= 1 && v.v <= 1<<53 && wholeBytes(v.v) {
			return number{v: math.Trunc(v.v), whole: true}
		}
		found = formatNumber(v)
	case text:
		if sizeText.MatchString(string(v)) && strings.ContainsAny(string(v), "123456789") {
			return v
		}
	case word:
		found = "`" + v.name + "`"
	}
	if n, ok := c.nodes[0].(*syntax.Name); ok {
		name = n.Name
		found = "`" + name + "` is " + found
	} else {
		found = "found " + found
	}
	e := at("E0216", c.nodes[0], "%s", found)
	e.Want = "a size such as `64 MiB`, in whole bytes, at least one"
	f.reportNamed(e, name)
	return unknown{}
}
