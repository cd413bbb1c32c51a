package keymap

import (
	"strconv"

	"ptc/internal/diag"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// piece is the part of parameter p that x names.
func (l *lowerer) piece(x *syntax.Piece, p *value.Param, at map[string]int) (Piece, bool) {
	out := Piece{Param: p.Path}
	fixed := map[string]bool{}
	for _, a := range p.Type.Axes {
		from, extent := int64(0), int64(a.Size)
		for _, h := range x.Held {
			if h.Axis.Name == a.Name {
				from, extent = int64(at[h.Var.Name]), 1
				fixed[a.Name] = true
			}
		}
		if from >= int64(a.Size) {
			l.Wants("E0713", x, "", "", "axis `%s` of `%s` has %d positions, and this is number %d", a.Name, p.Path, a.Size, from)
			return out, false
		}
		out.From, out.Extent = append(out.From, from), append(out.Extent, extent)
	}
	if len(fixed) < len(x.Held) {
		l.Wants("E0713", x, diag.OneOf(p.Type.Names()), "", "the parameter `%s` does not have all axes in the brackets", p.Path)
		return out, false
	}
	d := &dims{l: l, x: x, p: p, fixed: fixed, order: map[string][]int64{}}
	return out, d.read(&out)
}

// dims reads what stands after `as`.
type dims struct {
	l     *lowerer
	x     *syntax.Piece
	p     *value.Param
	fixed map[string]bool
	order map[string][]int64 // by axis, the numbers of its views, in their order
	view  []int64
}

func (d *dims) read(out *Piece) bool {
	split := map[string]bool{}
	if list, ok := d.x.Dims.(*syntax.List); ok {
		for _, e := range list.Elems {
			d.splits(e, split)
		}
	}
	for _, a := range d.p.Type.Axes {
		n := int64(a.Size)
		switch {
		case d.fixed[a.Name]:
		case split[a.Name]:
			if n%2 != 0 {
				d.l.Wants("E0713", d.x.Dims, "an axis of an even size", "", "axis `%s` has %d elements, an odd number", a.Name, n)
				return false
			}
			k := int64(len(d.view))
			d.view = append(d.view, 2, n/2)
			d.order[a.Name] = []int64{k + 1, k}
		default:
			d.order[a.Name] = []int64{int64(len(d.view))}
			d.view = append(d.view, n)
		}
	}
	out.View = d.view
	if d.x.Dims == nil {
		for i := range d.view {
			out.Order, out.Shape = append(out.Order, int64(i)), append(out.Shape, d.view[i])
		}
		return true
	}
	list, ok := d.x.Dims.(*syntax.List)
	if !ok {
		d.l.Wants("E0713", d.x.Dims, "axes in brackets, such as `[(heads, head), embed]`", "", "not the dimensions of a tensor")
		return false
	}
	seen := map[string]bool{}
	for _, e := range list.Elems {
		size := int64(1)
		for _, name := range d.axes(e) {
			if d.order[name] == nil || seen[name] {
				return d.misfit(e, name, seen[name])
			}
			seen[name] = true
			for _, k := range d.order[name] {
				out.Order = append(out.Order, k)
				size *= d.view[k]
			}
		}
		out.Shape = append(out.Shape, size)
	}
	for _, a := range d.p.Type.Axes {
		if !seen[a.Name] && !d.fixed[a.Name] {
			return d.misfit(d.x.Dims, a.Name, false)
		}
	}
	return true
}

// axes are the names of one dimension; "" of what is none.
func (d *dims) axes(e syntax.Expr) []string {
	switch e := e.(type) {
	case *syntax.Name:
		return []string{e.Name}
	case *syntax.Tuple:
		var out []string
		for _, x := range e.Elems {
			out = append(out, d.axes(x)...)
		}
		return out
	case *syntax.Call:
		if f, ok := e.Fun.(*syntax.Name); ok && f.Name == "interleaved" && len(e.Args) == 1 && e.Args[0].Name == nil {
			return d.axes(e.Args[0].Value)
		}
	}
	return []string{""}
}

// splits notes the axes that are interleaved.
func (d *dims) splits(e syntax.Expr, out map[string]bool) {
	switch e := e.(type) {
	case *syntax.Tuple:
		for _, x := range e.Elems {
			d.splits(x, out)
		}
	case *syntax.Call:
		for _, n := range d.axes(e) {
			out[n] = true
		}
	}
}

func (d *dims) misfit(n syntax.Node, name string, twice bool) bool {
	var want []string
	for _, a := range d.p.Type.Axes {
		if !d.fixed[a.Name] {
			want = append(want, a.Name)
		}
	}
	msg := "the parameter `" + d.p.Path + "` has no axis " + strconv.Quote(name)
	switch {
	case twice:
		msg = "axis `" + name + "` is named twice"
	case name == "":
		msg = "not an axis, several in parentheses, or `interleaved(axis)`"
	case d.p.Type.Has(name):
		msg = "axis `" + name + "` of the parameter `" + d.p.Path + "` is not named"
		if d.fixed[name] {
			msg = "axis `" + name + "` is named in the brackets already"
		}
	}
	hint := ""
	if !d.p.Type.Has(name) {
		hint = diag.DidYouMean(name, want)
	}
	d.l.Wants("E0713", n, "each of these once: "+diag.OneOf(want), hint, "%s", msg)
	return false
}
