package lang

import "ptc/lang/syntax"

func init() {
	define("require", "x, condition, what", require)
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
