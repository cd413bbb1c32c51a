package directive

import (
	"strconv"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/auto"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// searching reads an auto layout: what may be chosen, then the kept directives, then both
// together.
type searching struct {
	*reading
	in    *syntax.Layout // as written; decl has its kept directives alone
	found *auto.Layout
	on    *syntax.MeshOn
	limit *syntax.Limit
	least *syntax.Minimize
	// allowed are the nodes of each word of `allow`, in order.
	allowed map[string][]*syntax.Allowed
}

// Auto checks an auto layout against the lowered module, as far as that is possible without
// the sizes of the mesh. It is about what the source says, also where that has mistakes.
func (y *Layout) Auto(mod *ir.Module, data *value.Data, unnamed bool) *auto.Layout {
	m := newModel(y.in, mod.Func("step"), data, unnamed)
	s := &searching{reading: y.reading(&ir.Module{Level: ir.Global}, m), in: y.decl, allowed: map[string][]*syntax.Allowed{}}
	s.found = &auto.Layout{Name: y.Name, Pos: y.decl.Name.At()}
	s.free = map[string]bool{}
	for _, x := range y.decl.Auto.Items {
		switch x := x.(type) {
		case *syntax.MeshOn:
			s.meshOn(x)
		case *syntax.Allow:
			for _, c := range x.Choices {
				s.allow(c)
			}
		case *syntax.Limit:
			s.limited(x)
		case *syntax.Minimize:
			s.minimize(x)
		}
	}
	switch {
	case s.on == nil:
		s.f.Wants("E0431", s.in.Name, "`mesh on` with a machine and its levels, such as `mesh on h100 : 16 x 8`", "", "the auto layout `%s` has no machine", s.in.Name.Name)
	case len(s.found.Levels) > 0:
		s.checkSizes()
	}
	if len(s.found.Minimize) == 0 {
		s.found.Minimize = []string{auto.Objectives[0].Name}
	}
	s.keep(y.in.Prog.Sources[0].Text)
	return s.found
}

// meshOn reads the machine.
func (s *searching) meshOn(x *syntax.MeshOn) {
	if s.on != nil {
		s.f.Report(source.Conflict("E0431", x, s.on.At(), "the first one", "one machine", "", "a second `mesh on`"))
		return
	}
	s.on = x
	if x.Name != nil {
		s.found.Machine, s.found.MachinePos = x.Name.Name, x.Name.At()
	} else {
		s.found.Machine, s.found.File, s.found.MachinePos = string(x.File.Text), true, x.File.At()
		if !strings.HasSuffix(s.found.Machine, ".ptm") {
			s.f.Wants("E0431", x.File, "a file such as \"cluster.ptm\", or the name of a machine without quotes", "", "`%s` is no file of a machine", value.Clip(s.found.Machine))
		}
	}
	devices := 1
	for _, l := range x.Levels {
		for _, n := range s.level(l) {
			if n < 1 || devices > source.MaxDevices/n {
				s.f.Wants("E0431", l, "whole numbers from 1, and at most "+value.FormatNumber(value.Whole(source.MaxDevices))+" devices in all, such as `16 x 8`", "", "invalid size of a level")
				s.found.Levels = nil
				return
			}
			devices *= n
			s.found.Levels = append(s.found.Levels, n)
		}
	}
}

// level are the sizes that a number, a word as `16x8`, or a name stands for; 0 is no size.
func (s *searching) level(l *syntax.Level) []int {
	if l.Name != nil {
		c, ok := s.f.Number(&syntax.Name{Span: l.Name.Span, Name: l.Name.Name})
		if n, whole := c.Int(); ok && whole {
			return []int{n}
		} else if ok {
			return []int{0}
		}
		return []int{1} // the name has been reported
	}
	text := strings.ReplaceAll(l.Sizes, "_", "")
	if n, err := strconv.ParseInt(text, 0, 32); err == nil {
		return []int{int(n)}
	}
	var out []int
	for _, part := range strings.Split(text, "x") {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil {
			return []int{0}
		}
		out = append(out, int(n))
	}
	return out
}

// limited reads a limit.
func (s *searching) limited(x *syntax.Limit) {
	if x.What.Name != "memory" {
		s.f.Wants("E0432", x.What, "`memory`", diag.DidYouMean(x.What.Name, []string{"memory"}), "nothing limits `%s`", x.What.Name)
		return
	}
	if s.limit != nil {
		s.f.Report(source.Conflict("E0433", x, s.limit.At(), "the first one", "", "", "a second `limit memory`"))
		return
	}
	s.limit = x
	if n, ok := s.bytes(x.Value, "E0437", "`limit memory`", "70 GiB", 1024); ok {
		s.found.Memory, s.found.MemoryPos = int64(n), x.At()
	}
}

// minimize reads the objectives.
func (s *searching) minimize(x *syntax.Minimize) {
	if s.least != nil {
		s.f.Report(source.Conflict("E0433", x, s.least.At(), "the first one", "one list, the most important objective first", "", "a second `minimize`"))
		return
	}
	s.least = x
	first := map[string]*syntax.Ident{}
	for _, id := range x.What {
		names := auto.ObjectiveNames()
		switch {
		case first[id.Name] != nil:
			s.f.Report(source.Conflict("E0433", id, first[id.Name].At(), "first named here", "each objective once", "", "the objective `%s` is named twice", id.Name))
		case auto.ObjectiveOf(id.Name) == nil:
			s.f.Wants("E0432", id, diag.OneOf(names), diag.DidYouMean(id.Name, names), "unknown objective `%s`", id.Name)
		default:
			s.found.Minimize = append(s.found.Minimize, id.Name)
		}
		first[id.Name] = id
	}
}

// checkSizes reports sizes that no part of the machine has, alone or together.
func (s *searching) checkSizes() {
	devices := s.found.Allowed("devices")
	all := s.found.Devices()
	if least, most := devices.Range(); least > all {
		s.tooMany(s.allowed["devices"][0], all, "`devices` is at least "+value.FormatNumber(value.Whole(least)))
		return
	} else if most > 0 {
		all = min(all, most)
	}
	product, names := 1, []string(nil)
	for _, w := range auto.Mesh {
		least, _ := s.found.Allowed(w).Range()
		if least < 2 {
			continue
		}
		product *= least
		if names = append(names, "`"+w+"`"); product > all {
			s.tooMany(s.allowed[w][0], all, strings.Join(names, " × ")+" is at least "+value.FormatNumber(value.Whole(product)))
			return
		}
	}
}

func (s *searching) tooMany(at *syntax.Allowed, all int, what string) {
	s.f.Report(source.Conflict("E0435", at, s.on.At(), "the machine has "+value.Count(s.found.Devices(), "device"), "at most "+value.FormatNumber(value.Whole(all)), "", "%s", what))
}

// keep reads the kept directives as those of a layout, and compares them with what is
// allowed. Sizes of the mesh are 1 where `allow` does not fix them: what is wrong with one
// device is wrong with several, too.
func (s *searching) keep(src string) {
	for _, name := range auto.Mesh {
		size, most := s.found.Allowed(name).Range()
		if size == 0 || size != most || s.mod.Devices() > source.MaxDevices/size { // the last is reported
			s.free[name], size = true, 1
		}
		s.mod.Mesh = append(s.mod.Mesh, ir.MeshAxis{Name: name, Size: size})
	}
	s.decl = &syntax.Layout{Span: s.in.Span, Name: s.in.Name}
	for _, d := range s.in.Kept() {
		if m, ok := d.(*Mesh); ok {
			s.f.Wants("E0438", m, "`mesh on` with a machine", s.fixes(m), "a search chooses the mesh: a layout cannot keep one")
			continue
		}
		s.decl.Directives = append(s.decl.Directives, d)
	}
	s.readAll()
	checkAll(s.reading) // warns of what the search may still give an effect
	for _, d := range s.decl.Directives {
		k := s.kept(d, src)
		s.contradictions(d, k)
		s.found.Keep = append(s.found.Keep, k)
	}
}

// fixes is the hint for a mesh that is kept: what fixes its sizes.
func (s *searching) fixes(m *Mesh) string {
	var sizes []string
	for _, e := range m.Axes {
		if n, ok := e.Value.(*syntax.Int); ok && s.free[e.Key.Name] {
			sizes = append(sizes, e.Key.Name+" = "+strconv.FormatInt(n.Value, 10))
		}
	}
	if len(sizes) < len(m.Axes) {
		return "`allow dp = 2` fixes the size of a mesh axis"
	}
	return "`allow " + strings.Join(sizes, ", ") + "` fixes these sizes"
}

// kept is a directive with what was read of it.
func (s *searching) kept(d syntax.Directive, src string) auto.Kept {
	k := auto.Kept{Text: syntax.FormatDirective(src, d), Pos: d.At()}
	if f := FormOf(d); f != nil {
		k.Word = f.Word
	}
	axes, mesh := d.Names()
	for _, id := range axes {
		k.Axes = append(k.Axes, id.Name)
	}
	for _, id := range mesh {
		k.Mesh = append(k.Mesh, id.Name)
	}
	for _, r := range s.rules {
		if r.node == d {
			k.Rule = r.Rule
		}
	}
	if _, ok := d.(*Precision); ok {
		p := s.precision
		p.Place(d.At())
		k.Precision = &p
	}
	return k
}
