package lang

import (
	"sort"
	"strconv"

	"ptc/internal/diag"
	"ptc/lang/syntax"
)

// instantiate makes an instance of m at a path; args are evaluated in f.
func (f *frame) instantiate(m moduleRef, args []*syntax.Arg, site syntax.Node, path string) *instance {
	i := newInstance(m, path)
	g := f.child(site, m.decl.Name.Name, m.file, i)
	if f.in.modules++; f.in.modules > maxModules {
		f.in.stop(f, site, "more than %d modules", maxModules)
	}
	if !f.in.enter(f, site, g) || !f.pathFits(site, path) {
		return nil
	}
	if !f.bind(g, site, "`"+m.decl.Name.Name+"`", m.decl.Params, args, func(name string, v value) { i.args[name] = v }) {
		return nil
	}
	for _, x := range m.decl.Members {
		if f.in.stopped {
			return nil
		}
		switch x := x.(type) {
		case *syntax.ParamDecl:
			g.declareParams(i, x)
		case *syntax.SubModule:
			for _, n := range x.Names {
				i.subs[n.Name] = g.subModule(x.Value, join(path, n.Name))
			}
		case *syntax.Let:
			i.lets[x.Name.Name] = g.expr(x.Value)
		}
	}
	f.in.note(i)
	return i
}

// pathFits reports a path that is too long for a plan.
func (f *frame) pathFits(n syntax.Node, path string) bool {
	if len(path) <= maxPath {
		return true
	}
	f.wants("E0223", n, "at most "+strconv.Itoa(maxPath), "shorten the names of the modules on the way", "the path `%s` has %d bytes", clip(path), len(path))
	return false
}

// subModule is the right side of `name : Module(args)[count]`.
func (g *frame) subModule(x syntax.Expr, path string) value {
	if ix, ok := x.(*syntax.Index); ok {
		return g.repeated(ix, path)
	}
	m, args, ok := g.moduleExpr(x)
	if !ok {
		return unknown{}
	}
	if i := g.instantiate(m, args, x, path); i != nil {
		return i
	}
	return unknown{}
}

func (g *frame) repeated(x *syntax.Index, path string) value {
	m, args, ok := g.moduleExpr(x.X)
	if !ok {
		return unknown{}
	}
	if len(x.Args) != 1 || x.Args[0].Name != nil {
		return g.wants("E0206", x, "a number in brackets: how many", "", "a module repeated by %s", count(len(x.Args), "argument"))
	}
	c, ok := g.number(x.Args[0].Value)
	if !ok {
		return unknown{}
	}
	n, ok := c.int()
	if !ok || n < 1 || n > maxRepeat {
		return g.wants("E0216", x.Args[0], "a whole number from 1 to "+strconv.Itoa(maxRepeat), "", "a module repeated %s times", formatNumber(c))
	}
	list := make(instances, 0, n)
	for k := 0; k < n; k++ {
		i := g.instantiate(m, args, x.X, path+"."+strconv.Itoa(k))
		if i == nil {
			return unknown{}
		}
		list = append(list, i)
	}
	return list
}

// moduleExpr is `Module` or `Module(args)`.
func (g *frame) moduleExpr(x syntax.Expr) (moduleRef, []*syntax.Arg, bool) {
	var args []*syntax.Arg
	name := x
	if c, ok := x.(*syntax.Call); ok {
		name, args = c.Fun, c.Args
	}
	v := g.expr(name)
	m, ok := v.(moduleRef)
	switch {
	case !ok:
		if w, isWord := v.(word); isWord {
			names := g.moduleNames()
			g.wants("E0201", w.at, diag.OneOf(names), diag.DidYouMean(w.name, names), "unknown module `%s`", w.name)
		} else if !isUnknown(v) {
			g.wants("E0209", name, "a module", "", "found %s", v.what())
		}
		return m, nil, false
	case m.decl.Kind != "module":
		g.wants("E0221", name, "a module", "", "%s as part of a module", m.what())
		return m, nil, false
	}
	return m, args, true
}

func (g *frame) moduleNames() []string {
	var out []string
	for n, d := range g.file.modules {
		if d.Kind == "module" {
			out = append(out, n)
		}
	}
	for alias, h := range g.file.imports {
		for n, d := range h.modules {
			if d.Kind == "module" {
				out = append(out, alias+"."+n)
			}
		}
	}
	sort.Strings(out)
	return out
}
