package query

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"ptc/editor/protocol"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

func sortedInts(set map[int]bool) (out []string) {
	for _, n := range slices.Sorted(maps.Keys(set)) {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

// Hints are the shapes of variables that say none, and the values of entries of the
// config that are computed, within a range.
func (v *View) Hints(r protocol.Range) []protocol.InlayHint {
	out := []protocol.InlayHint{}
	if v.File == nil || v.File.Tree == nil {
		return out
	}
	put := func(at syntax.Node, label string) {
		where, ok := v.place(v.File, at)
		if label != "" && ok && !before(where.End, r.Start) && !before(r.End, where.End) {
			out = append(out, protocol.InlayHint{Position: where.End, Label: label, Kind: 1})
		}
	}
	for _, d := range v.File.Tree.Decls {
		syntax.Inspect(d, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				if n.Type == nil {
					for _, id := range n.Names {
						put(id, v.shape(id))
					}
				}
			case *syntax.Let:
				put(n.Name, v.shape(n.Name))
			case *syntax.Config:
				for _, e := range n.Entries {
					put(e.Value, v.computed(e))
				}
			case syntax.Expr, *syntax.Layout, *syntax.Train:
				return false
			}
			return true
		})
	}
	return out
}

func before(p, q protocol.Position) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Character < q.Character
}

// shape is the type of a variable, with an ellipsis where it has several.
func (v *View) shape(id *syntax.Ident) string {
	values := v.values(id)
	if len(values) == 0 || !strings.Contains(values[0], "[") {
		return ""
	}
	if len(values) > 1 {
		return ": " + values[0] + " …"
	}
	return ": " + values[0]
}

// computed is the value of an entry that is not written as a number.
func (v *View) computed(e *syntax.Entry) string {
	switch e.Value.(type) {
	case *syntax.Int, *syntax.Float, *syntax.String, *syntax.Bool:
		return ""
	}
	for _, s := range v.Seen[e.Key] {
		if n, ok := s.Value.(value.Number); ok {
			return "= " + value.FormatNumber(n)
		}
	}
	return ""
}
