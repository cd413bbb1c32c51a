package propagate

import (
	"slices"
	"strings"

	"ptc/ir"
)

// origins are, for mesh axes over which a value is sharded or owes a sum, the
// rules of the layout that this goes back to: where they are written.
type origins map[string]string

// overlaid is o with what newer says in its place.
func (o origins) overlaid(newer origins) origins {
	out := origins{}
	for _, from := range []origins{o, newer} {
		for m, at := range from {
			if at != "" {
				out[m] = at
			}
		}
	}
	return out
}

// storedBecause is why an argument is stored as it is: the rules about its axes,
// else zero.
func (l *layout) storedBecause(a *ir.Arg) origins {
	path, _, _ := strings.Cut(a.Path, "/")
	if a.Role == ir.RoleData {
		path = ""
	}
	out := origins{}
	for _, x := range a.Value.Type.Axes {
		for _, m := range x.Mesh {
			if _, at := l.claimOn(x.Name, m, path); at != "" {
				out[m] = at
			} else {
				out[m] = l.zeroAt
			}
		}
	}
	return out
}

// wished is why a gradient is needed in state t.
func (l *layout) wished(t ir.Type) origins {
	out := origins{}
	for _, x := range t.Axes {
		for _, m := range x.Mesh {
			if s, at := l.claimOn(x.Name, m, ""); s == 2 {
				out[m] = at
			} else {
				out[m] = l.zeroAt
			}
		}
	}
	return out
}

// owedBecause is why the first operand of o that owes a sum over m does.
func (p *propagation) owedBecause(o *ir.Op, m string) string {
	for _, v := range o.Args {
		if at := p.origin[v][m]; at != "" && owes(v.Type, m) {
			return at
		}
	}
	return ""
}

// because is why v is brought into the state of t: for each mesh axis of which
// the state changes, the rule that the reader follows, or else the one that made
// v as it is; of parameters, which lie as the layout says, that one first.
// Without a reader it names whose value it becomes.
func (p *propagation) because(v *ir.Value, t ir.Type, from origins, whose string) string {
	var rules []string
	for _, m := range p.l.mesh {
		if sameOver(v.Type, t, m.Name) {
			continue
		}
		at, made := from[m.Name], p.origin[v][m.Name]
		if at == "" || made != "" && root(v).Def == nil {
			at = made
		}
		if at != "" && !slices.Contains(rules, at) {
			rules = append(rules, at)
		}
	}
	why := strings.Join(rules, " and ")
	switch {
	case whose == "":
		return why
	case why == "":
		return whose
	}
	return why + ", for " + whose
}

// sameOver reports whether a and b, of one tensor, are in the same state over
// mesh axis m.
func sameOver(a, b ir.Type, m string) bool {
	if owes(a, m) != owes(b, m) {
		return false
	}
	for i := range a.Axes {
		if slices.Contains(a.Axes[i].Mesh, m) != slices.Contains(b.Axes[i].Mesh, m) {
			return false
		}
	}
	return true
}
