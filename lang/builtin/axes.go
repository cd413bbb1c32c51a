package builtin

import (
	"slices"

	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

func init() {
	eval.Define("dot", "a, b, over: axis, to?",
		"The contraction over axes that both have: `f32[batch, embed]` and `f32[embed, ffn]` over `embed` give "+
			"`f32[batch, ffn]`. Other axes that both have stay, once. `to` is the dtype of the result.",
		dot)
	eval.Define("index", "x, axis: axis",
		"The position along an axis, as i32: `index(seq)` is `i32[seq]` of 0, 1, 2, …, with the size that the "+
			"axis has in the function or the config; `index(x, seq)` takes it from a tensor or a type.",
		indexOf) // index(axis) is callIndex
	eval.Define("size", "x, axis: axis",
		"The number of elements of a tensor or a type along one axis, or several together, as a number.",
		sizeOf)
	eval.Define("len", "x",
		"How many a repeated module or a list has, as a number.",
		func(f *eval.Frame, c *eval.Call) value.Value {
			switch v := c.Vals[0].(type) {
			case value.Instances:
				return value.Whole(len(v))
			case value.Tuple:
				return value.Whole(len(v))
			}
			return f.NotA(c.Nodes[0], c.Vals[0], "a repeated module or a list")
		})
	eval.Define("rename", "x, **",
		"`x` with other names for axes, all at once: `x.rename(seq = kseq)` of `f32[batch, seq]` is `f32[batch, kseq]`.",
		ofTensor(rename))
	eval.Define("split", "x, **",
		"One axis as several, the first one major: `x.split(embed = (heads, head))` of `f32[seq, embed]` is "+
			"`f32[seq, heads, head]`. One of them may be without a size.",
		ofTensor(split))
	eval.Define("merge", "x, **",
		"Several axes as one, the first one major: `x.merge(embed = (heads, head))` of `f32[seq, heads, head]` is"+
			" `f32[seq, embed]`.",
		ofTensor(merge))
	eval.Define("transpose", "x, order: axis",
		"`x` with its axes in another order in memory. Names say which is which, so no result depends on it.",
		ofTensor(func(f *eval.Frame, c *eval.Call, x value.Tensor) value.Value {
			return f.Emit(c.Site, "transpose", ir.A("order", ir.Names(c.Axes[1])), x)
		}))
	eval.Define("concat", "a, *, over: axis",
		"Tensors one after the other along an axis that all have: of `f32[seq=4]` and `f32[seq=2]` over `seq` it "+
			"is `f32[seq=6]`. Their other axes are the same.",
		concat)
	for _, r := range [][2]string{
		{"uniform", "Uniform numbers from 0 to 1, as f32 with the axes of `x`; only while `training`. They depend on the " +
			"seed, the step, the place in the program and the global index, so that they are the same under every " +
			"layout."},
		{"normal", "Normal numbers of mean 0 and deviation 1, as f32 with the axes of `x`; only while `training`. They " +
			"depend on what those of `random_uniform` do."},
	} {
		dist := r[0]
		eval.Define("random_"+dist, "x", r[1], ofTensor(func(f *eval.Frame, c *eval.Call, x value.Tensor) value.Value { return random(f, c, x, dist) }))
	}
}

// ofTensor adapts a function whose first argument, x, must be a tensor.
func ofTensor(do func(f *eval.Frame, c *eval.Call, x value.Tensor) value.Value) func(*eval.Frame, *eval.Call) value.Value {
	return func(f *eval.Frame, c *eval.Call) value.Value {
		x, ok := f.TensorArg(c, 0)
		if !ok {
			return value.Unknown{}
		}
		return do(f, c, x)
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
func dot(f *eval.Frame, c *eval.Call) value.Value {
	a, okA := f.TensorArg(c, 0)
	b, okB := f.TensorArg(c, 1)
	if !okA || !okB {
		return value.Unknown{}
	}
	attrs := ir.A("over", ir.Names(c.Axes[2]))
	if c.Vals[3] != nil {
		d, ok := c.Vals[3].(value.DType)
		if !ok {
			return f.NotA(c.Nodes[3], c.Vals[3], "a dtype, such as f32")
		}
		attrs = attrs.With("to", ir.Name(ir.DType(d).String()))
	}
	return f.Product(c.Site, attrs, c.Axes[2], a, b)
}

// indexOf is index(axis) or index(x, axis), with x a tensor or a type: the
// position along an axis, as i32. The first form takes the size that the axis
// has in the tensors of the function, or in the config.
func indexOf(f *eval.Frame, c *eval.Call) value.Value {
	t, ok := ir.Type{}, false
	switch x := c.Vals[0].(type) {
	case value.Tensor:
		t, ok = x.V.Type, true
	case value.Shape:
		t, ok = x.Type, true
	}
	names := c.Axes[1]
	if !ok || len(names) != 1 {
		return f.Wants("E0206", c.Site, "`index(axis)` or `index(x, axis)`", "", "the arguments do not fit `index`")
	}
	size := t.Size(names[0])
	if size == 0 {
		return f.NoAxisIn(c.Nodes[1], t, names[0])
	}
	return f.EmitIndex(c.Site, names[0], size)
}

func sizeOf(f *eval.Frame, c *eval.Call) value.Value {
	x, isShape := c.Vals[0].(value.Shape)
	if !isShape {
		t, ok := f.TensorArg(c, 0)
		if !ok {
			return value.Unknown{}
		}
		x.Type = t.V.Type
	}
	n := 1
	for _, a := range c.Axes[1] {
		s := x.Size(a)
		if s == 0 {
			return f.NoAxisIn(c.Nodes[1], x.Type, a)
		}
		n *= s
	}
	return value.Whole(n)
}

// rename is x.rename(from = to, …), all at once.
func rename(f *eval.Frame, c *eval.Call, x value.Tensor) value.Value {
	var pairs ir.Pairs
	for _, a := range c.Extra {
		to, ok := f.OneAxis(a.Value)
		if !ok {
			return value.Unknown{}
		}
		from := f.AxisName(a.Name.Name)
		if len(from) != 1 {
			return f.Wants("E0206", a.Name, "one axis", "", "`%s` stands for %d axes", a.Name.Name, len(from))
		}
		pairs = append(pairs, ir.Pair{From: from[0], To: to})
	}
	if len(pairs) == 0 {
		return f.Wants("E0206", c.Site, "`x.rename(old = new)`", "", "`rename` without names")
	}
	return f.Emit(c.Site, "rename", ir.A("axes", pairs), x)
}

// split is x.split(axis = (major, …, minor)). Sizes are those that the names
// have; one that has none gets what is left.
func split(f *eval.Frame, c *eval.Call, x value.Tensor) value.Value {
	if len(c.Extra) == 0 {
		return f.Wants("E0206", c.Site, "`x.split(axis = (major, minor))`", "", "`split` without names")
	}
	for _, a := range c.Extra {
		for _, from := range f.AxisName(a.Name.Name) {
			into, ok := splitSizes(f, a, x, from)
			if !ok {
				return value.Unknown{}
			}
			if x, ok = f.Emit(c.Site, "split", ir.A("axis", ir.Name(from), "into", into), x).(value.Tensor); !ok {
				return value.Unknown{}
			}
		}
	}
	return x
}

// splitSizes finds the size of each part: that of the config or of a tensor
// seen, except that one part may be left to be computed.
func splitSizes(f *eval.Frame, a *syntax.Arg, x value.Tensor, from string) (ir.Sizes, bool) {
	names, ok := f.Axes(a.Value)
	if !ok {
		return nil, false
	}
	total := x.V.Type.Size(from)
	if total == 0 {
		f.NoAxis(a.Name, x, from)
		return nil, false
	}
	var into ir.Sizes
	open, known := -1, 1
	for i, n := range names {
		size := knownSize(f, a, n)
		if size == 0 && open < 0 {
			open = i
		} else if size == 0 {
			f.Wants("E0204", a.Value, "at most one part without a size", "", "neither `%s` nor `%s` has a size", names[open], n)
			return nil, false
		} else if known <= source.MaxSize {
			known *= size
		}
		into = append(into, ir.SizeOf{Name: n, N: size})
	}
	if open >= 0 {
		if total%known != 0 {
			f.Errorf("E0205", a, "axis `%s` of %d cannot be split in parts of %d", from, total, known)
			return nil, false
		}
		into[open].N = total / known
	}
	return into, true
}

// knownSize is the size of an axis, or 0.
func knownSize(f *eval.Frame, n syntax.Node, name string) int {
	if s := f.Sizes[name]; s > 0 {
		return s
	}
	if v, ok := f.Interp.Config.Value(name); ok {
		if c, ok := f.Static(n, v).(value.Number); ok {
			if s, ok := c.Int(); ok && s > 0 && s <= source.MaxSize {
				return s
			}
		}
	}
	return 0
}

// merge is x.merge(axis = (major, …, minor)). Parts that are not neighbours in
// memory are brought together first.
func merge(f *eval.Frame, c *eval.Call, x value.Tensor) value.Value {
	if len(c.Extra) == 0 {
		return f.Wants("E0206", c.Site, "`x.merge(axis = (major, minor))`", "", "`merge` without names")
	}
	for _, a := range c.Extra {
		parts, ok := f.Axes(a.Value)
		if !ok {
			return value.Unknown{}
		}
		into := f.AxisName(a.Name.Name)
		if len(into) != 1 {
			return f.Wants("E0206", a.Name, "one axis", "", "`%s` stands for %d axes", a.Name.Name, len(into))
		}
		if order := together(x.V.Type, parts); order != nil {
			if x, ok = f.Emit(c.Site, "transpose", ir.A("order", ir.Names(order)), x).(value.Tensor); !ok {
				return value.Unknown{}
			}
		}
		attrs := ir.A("axes", ir.Names(parts), "into", ir.Name(into[0]))
		if x, ok = f.Emit(c.Site, "merge", attrs, x).(value.Tensor); !ok {
			return value.Unknown{}
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
func concat(f *eval.Frame, c *eval.Call) value.Value {
	vs := append([]value.Value{c.Vals[0]}, c.Rest...)
	for i, v := range vs {
		if _, ok := v.(value.Tensor); !ok {
			n := c.Nodes[0]
			if i > 0 {
				n = c.Site
			}
			return f.NotA(n, v, "a tensor")
		}
	}
	if len(c.Axes[1]) != 1 {
		return f.Wants("E0206", c.Nodes[1], "one axis", "", "%d axes are named", len(c.Axes[1]))
	}
	return f.Emit(c.Site, "concat", ir.A("axis", ir.Name(c.Axes[1][0])), vs...)
}

// random has the axes of x, in f32. Its site, a number in the order of the
// program, keeps its numbers apart from those of others.
func random(f *eval.Frame, c *eval.Call, x value.Tensor, dist string) value.Value {
	fb := f.Interp.Builder
	if fb.Seed == nil {
		return f.Wants("E0219", c.Site, "", "choose with `if training { … }`", "there are no random numbers outside of training")
	}
	site := fb.Sites
	fb.Sites++
	return f.Emit(c.Site, "random", ir.A("axes", sizesOf(x.V.Type), "dist", ir.Name(dist), "site", ir.Int(site)), value.Tensor{V: fb.Seed}, value.Tensor{V: fb.Step})
}
