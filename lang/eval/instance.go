package eval

import (
	"slices"
	"strconv"

	"ptc/internal/diag"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Instantiate makes an instance of m at a path; args are evaluated in f.
func (f *Frame) Instantiate(m value.ModuleRef, args []*syntax.Arg, site syntax.Node, path string) *value.Instance {
	i := value.NewInstance(m, path)
	g := f.Child(site, m.Decl.Name.Name, m.File, i)
	if f.Interp.work.modules++; f.Interp.work.modules > source.MaxModules {
		f.Interp.stop(f, site, "more than %d modules", source.MaxModules)
	}
	if !f.Interp.enter(f, site, g) || !f.pathFits(site, path) {
		return nil
	}
	if !f.Bind(g, site, "`"+m.Decl.Name.Name+"`", m.Decl.Params, args, func(name string, v value.Value) { i.Args[name] = v }) {
		return nil
	}
	for _, x := range m.Decl.Members {
		if f.Interp.Stopped {
			return nil
		}
		switch x := x.(type) {
		case *syntax.ParamDecl:
			g.declareParams(i, x)
		case *syntax.SubModule:
			for _, n := range x.Names {
				i.Subs[n.Name] = g.subModule(x.Value, value.Join(path, n.Name))
				g.watch(n, i.Subs[n.Name], nil)
			}
		case *syntax.Let:
			i.Lets[x.Name.Name] = g.Symbolic(x.Value)
			g.watch(x.Name, i.Lets[x.Name.Name], nil)
		}
	}
	f.Interp.Model.Instances = append(f.Interp.Model.Instances, i)
	return i
}

// subModule is the right side of `name : Module(args)[count]`.
func (g *Frame) subModule(x syntax.Expr, path string) value.Value {
	if ix, ok := x.(*syntax.Index); ok {
		return g.repeated(ix, path)
	}
	m, args, ok := g.moduleExpr(x)
	if !ok {
		return value.Unknown{}
	}
	if i := g.Instantiate(m, args, x, path); i != nil {
		return i
	}
	return value.Unknown{}
}

func (g *Frame) repeated(x *syntax.Index, path string) value.Value {
	m, args, ok := g.moduleExpr(x.X)
	if !ok {
		return value.Unknown{}
	}
	if len(x.Args) != 1 || x.Args[0].Name != nil {
		return g.Wants("E0206", x, "a number in brackets: how many", "", "a module repeated by %s", value.Count(len(x.Args), "argument"))
	}
	c, ok := g.count(x.Args[0].Value)
	if !ok {
		return value.Unknown{}
	}
	n, ok := c.Int()
	if !ok || n < 1 || n > source.MaxRepeat {
		return g.Wants("E0216", x.Args[0], "a whole number from 1 to "+strconv.Itoa(source.MaxRepeat), "", "a module repeated %s times", value.FormatNumber(c))
	}
	list := make(value.Instances, 0, n)
	gap, omits := g.Interp.gapOf(path, n)
	for k := 0; k < n; k++ {
		before := g.Interp.moment()
		i := g.Instantiate(m, args, x.X, elementPath(path, k))
		if i == nil {
			return value.Unknown{}
		}
		if list = append(list, i); omits && k == gap.From-1 {
			work := g.Interp.Work().Since(before.work)
			list = g.Interp.Model.fill(list, path, gap, before)
			g.Interp.Omit(path, work, gap.To-gap.From)
			k = gap.To - 1
		}
	}
	return list
}

func elementPath(list string, k int) string { return list + "." + strconv.Itoa(k) }

// moduleExpr is `Module` or `Module(args)`.
func (g *Frame) moduleExpr(x syntax.Expr) (value.ModuleRef, []*syntax.Arg, bool) {
	var args []*syntax.Arg
	name := x
	if c, ok := x.(*syntax.Call); ok {
		name, args = c.Fun, c.Args
	}
	v := g.Expr(name)
	m, ok := v.(value.ModuleRef)
	switch {
	case !ok:
		if w, isWord := v.(value.Word); isWord {
			names := g.moduleNames()
			g.Wants("E0201", w.At, diag.OneOf(names), diag.DidYouMean(w.Name, names), "unknown module `%s`", w.Name)
		} else if !value.IsUnknown(v) {
			g.Wants("E0209", name, "a module", "", "found %s", v.What())
		}
		return m, nil, false
	case m.Decl.Kind != "module":
		g.Wants("E0221", name, "a module", "", "%s cannot be part of a module", m.What())
		return m, nil, false
	}
	return m, args, true
}

func (g *Frame) moduleNames() []string {
	var out []string
	for n, d := range g.file.Modules {
		if d.Kind == "module" {
			out = append(out, n)
		}
	}
	for alias, h := range g.file.Imports {
		for n, d := range h.Modules {
			if d.Kind == "module" {
				out = append(out, alias+"."+n)
			}
		}
	}
	slices.Sort(out)
	return out
}
