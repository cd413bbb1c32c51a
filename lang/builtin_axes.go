package lang

import (
	"slices"

	"ptc/ir"
	"ptc/lang/syntax"
)

func init() {
	define("dot", "a, b, over: axis, to?", dot)
	define("index", "x, axis: axis", indexOf) // index(axis) is callIndex
	define("size", "x, axis: axis", sizeOf)
	define("len", "x", func(f *frame, c *builtinCall) value {
		switch v := c.vals[0].(type) {
		case instances:
			return whole(len(v))
		case tuple:
			return whole(len(v))
		}
		return f.notA(c.nodes[0], c.vals[0], "a repeated module or a list")
	})
	define("rename", "x, **", rename)
	define("split", "x, **", split)
	define("merge", "x, **", merge)
	define("transpose", "x, order: axis", func(f *frame, c *builtinCall) value {
		x, ok := f.tensorArg(c, 0)
		if !ok {
			return unknown{}
		}
		return f.emit(c.site, "transpose", ir.A("order", ir.Names(c.axes[1])), x)
	})
	define("concat", "a, *, over: axis", concat)
	for _, dist := range []string{"uniform", "normal"} {
		define("random_"+dist, "x", func(f *frame, c *builtinCall) value { return random(f, c, dist) })
	}
}

func sizesOf(t ir.Type) ir.Sizes {
	s := make(ir.Sizes, len(t.Axes))
	for i, a := range t.Axes {
		s[i] = ir.SizeOf{Name: a.Name, N: a.Size}
	}
	return s
}

// dot contracts; `to` is the dtype of the result.
func dot(f *frame, c *builtinCall) value {
	a, okA := f.tensorArg(c, 0)
	b, okB := f.tensorArg(c, 1)
	if !okA || !okB {
		return unknown{}
	}
	attrs := ir.A("over", ir.Names(c.axes[2]))
	if c.vals[3] != nil {
		d, ok := c.vals[3].(dtype)
		if !ok {
			return f.notA(c.nodes[3], c.vals[3], "a dtype, such as f32")
		}
		attrs = attrs.With("to", ir.Name(ir.DType(d).String()))
	}
	return f.emit(c.site, "dot", attrs, a, b)
}

// indexOf is index(axis) or index(x, axis), with x a tensor or a type: the
// position along an axis, as i32. The first form takes the size that the axis
// has in the tensors of the function, or in the config.
func indexOf(f *frame, c *builtinCall) value {
	t, ok := ir.Type{}, false
	switch x := c.vals[0].(type) {
	case tensor:
		t, ok = x.v.Type, true
	case shape:
		t, ok = x.Type, true
	}
	names := c.axes[1]
	if !ok || len(names) != 1 {
		return f.wants("E0206", c.site, "`index(axis)` or `index(x, axis)`", "", "the arguments do not fit `index`")
	}
	size := t.Size(names[0])
	if size == 0 {
		return f.noAxisIn(c.nodes[1], t, names[0])
	}
	return f.emitIndex(c.site, names[0], size)
}

func sizeOf(f *frame, c *builtinCall) value {
	x, isShape := c.vals[0].(shape)
	if !isShape {
		t, ok := f.tensorArg(c, 0)
		if !ok {
			return unknown{}
		}
		x.Type = t.v.Type
	}
	n := 1
	for _, a := range c.axes[1] {
		s := x.Size(a)
		if s == 0 {
			return f.noAxisIn(c.nodes[1], x.Type, a)
		}
		n *= s
	}
	return whole(n)
}

// rename is x.rename(from = to, …), all at once.
func rename(f *frame, c *builtinCall) value {
	x, ok := f.tensorArg(c, 0)
	if !ok {
		return unknown{}
	}
	var pairs ir.Pairs
	for _, a := range c.extra {
		to, ok := f.oneAxis(a.Value)
		if !ok {
			return unknown{}
		}
		from := f.axisName(a.Name.Name)
		if len(from) != 1 {
			return f.wants("E0206", a.Name, "one axis", "", "`%s` stands for %d axes", a.Name.Name, len(from))
		}
		pairs = append(pairs, ir.Pair{From: from[0], To: to})
	}
	if len(pairs) == 0 {
		return f.wants("E0206", c.site, "`x.rename(old = new)`", "", "`rename` without names")
	}
	return f.emit(c.site, "rename", ir.A("axes", pairs), x)
}

// split is x.split(axis = (major, …, minor)). Sizes are those that the names
// have; one that has none gets what is left.
func split(f *frame, c *builtinCall) value {
	x, ok := f.tensorArg(c, 0)
	if !ok {
		return unknown{}
	}
	if len(c.extra) == 0 {
		return f.wants("E0206", c.site, "`x.split(axis = (major, minor))`", "", "`split` without names")
	}
	for _, a := range c.extra {
		for _, from := range f.axisName(a.Name.Name) {
			into, ok := splitSizes(f, a, x, from)
			if !ok {
				return unknown{}
			}
			if x, ok = f.emit(c.site, "split", ir.A("axis", ir.Name(from), "into", into), x).(tensor); !ok {
				return unknown{}
			}
		}
	}
	return x
}

// splitSizes finds the size of each part: that of the config or of a tensor
// seen, except that one part may be left to be computed.
func splitSizes(f *frame, a *syntax.Arg, x tensor, from string) (ir.Sizes, bool) {
	names, ok := f.axes(a.Value)
	if !ok {
		return nil, false
	}
	total := x.v.Type.Size(from)
	if total == 0 {
		f.noAxis(a.Name, x, from)
		return nil, false
	}
	var into ir.Sizes
	open, known := -1, 1
	for i, n := range names {
		size := knownSize(f, n)
		if size == 0 && open < 0 {
			open = i
		} else if size == 0 {
			f.wants("E0204", a.Value, "at most one part without a size", "", "neither `%s` nor `%s` has a size", names[open], n)
			return nil, false
		} else if known <= maxSize {
			known *= size
		}
		into = append(into, ir.SizeOf{Name: n, N: size})
	}
	if open >= 0 {
		if total%known != 0 {
			f.errorf("E0205", a, "axis `%s` of %d cannot be split in parts of %d", from, total, known)
			return nil, false
		}
		into[open].N = total / known
	}
	return into, true
}

// knownSize is the size of an axis, or 0.
func knownSize(f *frame, name string) int {
	if s := f.sizes[name]; s > 0 {
		return s
	}
	if v, ok := f.in.configValue(name); ok {
		if c, ok := v.(number); ok {
			if s, ok := c.int(); ok && s > 0 && s <= maxSize {
				return s
			}
		}
	}
	return 0
}

// merge is x.merge(axis = (major, …, minor)). Parts that are not neighbours in
// memory are brought together first.
func merge(f *frame, c *builtinCall) value {
	x, ok := f.tensorArg(c, 0)
	if !ok {
		return unknown{}
	}
	if len(c.extra) == 0 {
		return f.wants("E0206", c.site, "`x.merge(axis = (major, minor))`", "", "`merge` without names")
	}
	for _, a := range c.extra {
		parts, ok := f.axes(a.Value)
		if !ok {
			return unknown{}
		}
		into := f.axisName(a.Name.Name)
		if len(into) != 1 {
			return f.wants("E0206", a.Name, "one axis", "", "`%s` stands for %d axes", a.Name.Name, len(into))
		}
		if order := together(x.v.Type, parts); order != nil {
			if x, ok = f.emit(c.site, "transpose", ir.A("order", ir.Names(order)), x).(tensor); !ok {
				return unknown{}
			}
		}
		attrs := ir.A("axes", ir.Names(parts), "into", ir.Name(into[0]))
		if x, ok = f.emit(c.site, "merge", attrs, x).(tensor); !ok {
			return unknown{}
		}
	}
	return x
}

// together is an order of t's axes in which parts are neighbours, at the place
// of the first of them; nil where they are so already, or where t lacks one.
func together(t ir.Type, parts []string) []string {
	if len(parts) == 0 || !t.Has(parts[0]) {
		return nil
	}
	at := t.Index(parts[0])
	adjacent := true
	for i, p := range parts {
		if !t.Has(p) {
			return nil
		}
		adjacent = adjacent && t.Index(p) == at+i
	}
	if adjacent {
		return nil
	}
	var order []string
	for _, n := range t.Names() {
		switch {
		case n == parts[0]:
			order = append(order, parts...)
		case !slices.Contains(parts, n):
			order = append(order, n)
		}
	}
	return order
}

// concat is concat(a, b, …, over = axis).
func concat(f *frame, c *builtinCall) value {
	vs := append([]value{c.vals[0]}, c.rest...)
	for i, v := range vs {
		if _, ok := v.(tensor); !ok {
			n := c.nodes[0]
			if i > 0 {
				n = c.site
			}
			return f.notA(n, v, "a tensor")
		}
	}
	if len(c.axes[1]) != 1 {
		return f.wants("E0206", c.nodes[1], "one axis", "", "%d axes are named", len(c.axes[1]))
	}
	return f.emit(c.site, "concat", ir.A("axis", ir.Name(c.axes[1][0])), vs...)
}

// random has the axes of x, in f32. Its site, a number in the order of the
// program, keeps its numbers apart from those of others.
func random(f *frame, c *builtinCall, dist string) value {
	x, ok := f.tensorArg(c, 0)
	if !ok {
		return unknown{}
	}
	fb := f.in.fb
	if fb.seed == nil {
		return f.wants("E0219", c.site, "", "choose with `if training { … }`", "there are no random numbers outside of training")
	}
	site := fb.sites
	fb.sites++
	return f.emit(c.site, "random", ir.A("axes", sizesOf(x.v.Type), "dist", ir.Name(dist), "site", ir.Int(site)), tensor{fb.seed}, tensor{fb.step})
}
