package lang

import (
	"sort"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
)

// placed is a tensor of the model and what to call it.
type placed struct {
	typ  ir.Type
	name string
	path string // of a parameter that is listed by itself
}

// tensors lists what the rules are about, once for each type: the parameters,
// the batch, and the values of the forward pass. With paths, parameters are
// listed each by itself.
func (y *layout) tensors(paths bool) []placed {
	var out []placed
	seen := map[string]bool{}
	add := func(t ir.Type, name, path string) {
		k := t.WithDType(ir.F32).String() + path
		if !seen[k] {
			seen[k] = true
			out = append(out, placed{t, name, path})
		}
	}
	for _, p := range y.l.params {
		at := ""
		if paths {
			at = p.path
		}
		add(p.typ, "the parameter `"+p.path+"`", at)
	}
	step := y.l.mod.Func("step")
	if step == nil || paths {
		return out
	}
	for _, a := range step.Args {
		if a.Role == ir.RoleData {
			add(a.Value.Type, "the field `"+a.Path+"` of the batch", "")
		}
	}
	for _, o := range step.Ops {
		if o.Name == "grad" {
			break
		}
		add(o.Results[0].Type, "the value at "+o.Pos.String(), "")
	}
	return out
}

func (y *layout) axisExists(name string) bool { return contains(y.allAxes(), name) }

// allAxes lists the axes of all tensors, sorted.
func (y *layout) allAxes() []string {
	seen := map[string]bool{}
	var out []string
	for _, p := range y.tensors(false) {
		for _, n := range p.typ.Names() {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	sort.Strings(out)
	return out
}

// checkShards looks at all rules together: no axis sharded twice, no mesh axis
// twice in a tensor, every size divisible.
func (y *layout) checkShards() {
	for i, r := range y.shards {
		for _, o := range y.shards[:i] {
			if o.axis == r.axis && sameScope(o, r) {
				y.again(o, r)
			}
		}
	}
	all, params := y.tensors(false), y.tensors(true)
	for i, r := range y.shards {
		for _, p := range y.scoped(r, all, params) {
			y.checkSize(r, p)
			for _, o := range y.shards[:i] {
				y.checkTwice(o, r, p)
			}
		}
	}
}

// scoped are the tensors that a rule is about: what crosses the borders of the
// modules after `between`, the parameters after `of`, else all.
func (y *layout) scoped(r shardRule, all, params []placed) []placed {
	var out []placed
	switch {
	case len(r.between) > 0:
		for _, m := range r.between {
			for _, t := range y.l.bounds[m] {
				out = append(out, placed{typ: t, name: "the result of `" + m.Name.Name + "`"})
			}
		}
	case len(r.of) > 0:
		for _, p := range params {
			for _, q := range r.of {
				if y.covers(q, p.path) {
					out = append(out, p)
					break
				}
			}
		}
	default:
		return all
	}
	return out
}

// covers is whether a pattern names a parameter, an instance that holds it, or
// the module of one.
func (y *layout) covers(q *syntax.Path, param string) bool {
	s := q.String()
	if matchPath(s, param) || matchPath(s+".**", param) {
		return true
	}
	if y.holders == nil {
		y.holders = map[string]*syntax.Module{}
		for _, i := range y.l.instances {
			y.holders[i.path] = i.decl
		}
	}
	for at := param; ; {
		i := strings.LastIndexByte(at, '.')
		if i < 0 {
			return false
		}
		at = at[:i]
		if m := y.holders[at]; m != nil && m.Name.Name == s {
			return true
		}
	}
}

func sameScope(a, b shardRule) bool {
	text := func(r shardRule) string {
		var s []string
		for _, p := range r.of {
			s = append(s, p.String())
		}
		s = append(s, "|")
		for _, m := range r.between {
			s = append(s, m.Name.Name)
		}
		return strings.Join(s, " ")
	}
	return text(a) == text(b)
}

func (y *layout) again(o, r shardRule) {
	e := at("E0404", r.node, "axis `%s` is sharded twice", r.axis)
	e.Hint = "`shard " + r.axis + " over (" + meshList(o) + ", " + meshList(r) + ")` cuts it by both"
	e.Note = []diag.Note{{Pos: o.node.At(), Msg: "first sharded here"}}
	y.l.errs.add(e)
}

func meshList(r shardRule) string {
	var s []string
	for _, m := range r.mesh {
		s = append(s, m.Name)
	}
	return strings.Join(s, ", ")
}

// checkTwice reports a tensor in which two axes want the same mesh axis.
func (y *layout) checkTwice(o, r shardRule, p placed) {
	if o.axis == r.axis || !p.typ.Has(o.axis) || !p.typ.Has(r.axis) {
		return
	}
	if (len(o.of) > 0 || len(o.between) > 0) && !sameScope(o, r) {
		return
	}
	for _, a := range o.mesh {
		for _, b := range r.mesh {
			if a.Name != b.Name {
				continue
			}
			e := at("E0405", r.node, "%s has both `%s` and `%s`, which are both sharded over `%s`", p.name, o.axis, r.axis, a.Name)
			e.Want = "a mesh axis at most once in a tensor"
			e.Note = []diag.Note{{Pos: o.node.At(), Msg: "`" + o.axis + "` is sharded here"}}
			y.l.errs.add(e)
		}
	}
}

func (y *layout) checkSize(r shardRule, p placed) {
	i := p.typ.Index(r.axis)
	if i < 0 {
		return
	}
	parts := 1
	for _, m := range r.mesh {
		parts *= y.l.mod.MeshSize(m.Name)
	}
	if n := p.typ.Axes[i].Size; n%parts != 0 {
		y.f.wants("E0406", r.node, "a multiple of "+formatNumber(whole(parts)), "", "axis `%s` is %d in %s, and cannot be cut into %d equal parts", r.axis, n, p.name, parts)
	}
}
