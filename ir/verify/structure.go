package verify

import (
	"fmt"
	"slices"
	"strconv"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
)

// module checks what belongs to no function.
func (c *checker) module() {
	if _, ok := ir.ParseLevel(c.m.Level.String()); !ok {
		c.add(codeStructure, diag.Pos{}, "", fmt.Sprintf("unknown level %d", c.m.Level), "", "")
	}
	devices := 1
	seen := map[string]bool{}
	for _, a := range c.m.Mesh {
		switch {
		case !ir.IsIdent(a.Name):
			c.add(codeName, diag.Pos{}, "mesh", fmt.Sprintf("%q cannot name a mesh axis", a.Name), "an identifier", "")
		case seen[a.Name]:
			c.add(codeStructure, diag.Pos{}, "mesh", "axis `"+a.Name+"` is given twice", "", "")
		case a.Size < 1 || a.Size > ir.MaxDevices/devices:
			c.add(codeStructure, diag.Pos{}, "mesh", fmt.Sprintf("axis `%s` has size %d", a.Name, a.Size),
				fmt.Sprintf("at least 1, and at most %d devices in all", ir.MaxDevices), "")
		default:
			devices *= a.Size
		}
		seen[a.Name] = true
	}
	for _, t := range c.m.Meta {
		if msg := badValue(t, 0); msg != "" {
			c.add(codeName, diag.Pos{}, "meta "+t.Head, msg, "", "")
		}
	}
	for _, e := range layout.Check(c.m) {
		c.add(e.Code, e.Pos, "", e.Msg, e.Want, e.Hint)
	}
	for _, f := range c.m.Funcs {
		if !ir.IsIdent(f.Name) {
			c.add(codeName, diag.Pos{}, "", fmt.Sprintf("%q cannot name a function", f.Name), "an identifier", "")
		}
		if c.funcs[f.Name] != nil {
			c.add(codeStructure, diag.Pos{}, "", "function @"+f.Name+" is defined twice", "", "")
		}
		c.funcs[f.Name] = f
	}
}

// function checks that each value is defined once, before it is read, and
// that names, types and roles are well formed.
func (c *checker) function(f *ir.Func) {
	c.attrs(site{f: f}, diag.Pos{}, f.Attrs)
	defined := make(map[*ir.Value]bool, len(f.Args)+len(f.Ops))
	ids := make(map[int]bool, len(f.Args)+len(f.Ops))
	define := func(where site, pos diag.Pos, v *ir.Value, by *ir.Op) {
		switch {
		case v == nil:
			c.add(codeStructure, pos, where.String(), "a value is missing", "", "")
			return
		case defined[v]:
			c.add(codeStructure, pos, where.String(), fmt.Sprintf("value %%%d is defined twice", v.ID), "", "")
		case v.Def != by:
			c.add(codeStructure, pos, where.String(), fmt.Sprintf("value %%%d names another definition than the operation that has it as a result", v.ID), "", "")
		case v.ID < 0 || v.ID > ir.MaxID || ids[v.ID]:
			c.add(codeStructure, pos, where.String(), fmt.Sprintf("two values are numbered %%%d, or the number is out of range", v.ID), "", "")
		}
		defined[v] = true
		ids[v.ID] = true
		c.typ(where, pos, v)
	}
	for i, a := range f.Args {
		where := argument(f, i)
		define(where, a.Pos, a.Value, nil)
		c.attrs(where, a.Pos, a.Attrs)
	}
	for _, o := range f.Ops {
		where := site{f: f, o: o}
		if !ir.IsIdent(o.Name) {
			c.add(codeName, o.Pos, where.String(), fmt.Sprintf("%q cannot name an operation", o.Name), "", "")
		}
		for i, v := range o.Args {
			if v == nil {
				c.add(codeStructure, o.Pos, where.String(), fmt.Sprintf("operand %d is missing", i+1), "", "")
			} else if !defined[v] {
				c.add(codeStructure, o.Pos, where.String(), fmt.Sprintf("operand %d, %%%d, is not defined before", i+1, v.ID), "", "")
			}
		}
		for _, r := range o.Results {
			define(where, o.Pos, r, o)
		}
		c.attrs(where, o.Pos, o.Attrs)
	}
	for i, r := range f.Results {
		where := result(f, i)
		if r.Value == nil || !defined[r.Value] {
			c.add(codeStructure, diag.Pos{}, where.String(), "its value is not defined in the function", "", "")
		}
		c.attrs(where, diag.Pos{}, r.Attrs)
	}
	c.stacks(f)
	c.roles(f)
	c.padding(f)
}

// typ checks one type against the limits of the text and the mesh.
func (c *checker) typ(where site, pos diag.Pos, v *ir.Value) {
	t := v.Type
	place := func() string { return where.String() + ": type of %" + strconv.Itoa(v.ID) }
	add := func(code, msg, want string) { c.add(code, pos, place(), msg, want, "") }
	if _, ok := ir.ParseDType(t.DType.String()); !ok {
		add(codeType, fmt.Sprintf("unknown dtype %d", t.DType), "")
	}
	if t.Rank() > ir.MaxRank {
		add(codeType, fmt.Sprintf("%d axes", t.Rank()), fmt.Sprintf("at most %d", ir.MaxRank))
		return
	}
	elems := 1
	var used []string
	for i, a := range t.Axes {
		switch {
		case !ir.IsIdent(a.Name):
			add(codeName, fmt.Sprintf("%q cannot name an axis", a.Name), "an identifier")
		case t.Index(a.Name) != i:
			add(codeType, "axis `"+a.Name+"` appears twice", "")
		case a.Size < 1 || a.Size > ir.MaxElems/elems:
			add(codeType, fmt.Sprintf("axis `%s` has size %d", a.Name, a.Size),
				fmt.Sprintf("at least 1, and at most %d elements in all", int64(ir.MaxElems)))
		default:
			elems *= a.Size
		}
		parts := 1
		for _, m := range a.Mesh {
			if c.meshAxis(place, pos, m, &used) {
				parts *= c.m.MeshSize(m)
			}
		}
		if c.m.Level <= ir.Sharded && parts > 1 && a.Size%parts != 0 {
			add(codeType, fmt.Sprintf("axis `%s` has size %d, which %d devices cannot share equally", a.Name, a.Size, parts),
				fmt.Sprintf("a multiple of %d", parts))
		}
	}
	for _, p := range t.Partial {
		c.meshAxis(place, pos, p.Mesh, &used)
		if p.Reduce != "sum" && p.Reduce != "max" {
			add(codeType, fmt.Sprintf("unknown reduction %q", p.Reduce), "`sum` or `max`")
		}
	}
}

// meshAxis checks that a type's mesh axis exists and is used once in it.
func (c *checker) meshAxis(place func() string, pos diag.Pos, name string, used *[]string) bool {
	switch {
	case c.m.MeshSize(name) == 0:
		c.unknownMesh(codeType, pos, place(), name)
		return false
	case slices.Contains(*used, name):
		c.add(codeType, pos, place(), "mesh axis `"+name+"` is used twice", "", "")
		return false
	}
	*used = append(*used, name)
	return true
}

func (c *checker) unknownMesh(code string, pos diag.Pos, where, name string) {
	var names []string
	for _, a := range c.m.Mesh {
		names = append(names, a.Name)
	}
	c.add(code, pos, where, "unknown mesh axis `"+name+"`", diag.OneOf(names), diag.DidYouMean(name, names))
}
