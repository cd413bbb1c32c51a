package query

import (
	"strings"

	"ptc/lang/directive"
	"ptc/lang/syntax"
)

// layout is the layout that a diagnostic is in, or nil.
func (s site) layout() *syntax.Layout {
	for _, n := range s.path {
		if y, ok := n.(*syntax.Layout); ok {
			return y
		}
	}
	return nil
}

// indent is what stands before an offset on its line, and whether that is space alone.
func (s site) indent(at int) (string, bool) {
	line := s.src[strings.LastIndexByte(s.src[:at], '\n')+1 : at]
	return line, strings.TrimSpace(line) == ""
}

// sharded adds a directive behind the mesh.
func sharded(s site, hint []string) *fix {
	y := s.layout()
	if y == nil {
		return nil
	}
	for _, x := range y.Directives {
		if m, ok := x.(*directive.Mesh); ok {
			at, gap := m.EndPos.Offset, "  "
			if line, alone := s.indent(m.Pos.Offset); alone {
				gap = "\n" + line
			}
			return &fix{"Add `" + hint[1] + "`", []change{{at, at, gap + hint[1]}}}
		}
	}
	return nil
}

// both makes one directive of two that shard an axis, if they say nothing else.
func both(s site, hint []string) *fix {
	y := s.layout()
	if y == nil || len(s.noted) != 1 {
		return nil
	}
	first, second := shardAt(y, s.noted[0].from), shardAt(y, s.from)
	if first == nil || second == nil || first.EndPos.Offset > second.Pos.Offset {
		return nil
	}
	from := second.Pos.Offset
	if line, alone := s.indent(from); alone {
		from = max(from-len(line)-1, first.EndPos.Offset)
	} else {
		from -= len(line) - len(strings.TrimRight(line, " \t"))
	}
	return &fix{"Write `" + hint[1] + "`", []change{{first.Pos.Offset, first.EndPos.Offset, hint[1]}, {from, second.EndPos.Offset, ""}}}
}

// shardAt is the directive at an offset that shards one axis of everything, or nil.
func shardAt(y *syntax.Layout, at int) *directive.Shard {
	for _, d := range y.Directives {
		x, ok := d.(*directive.Shard)
		if ok && x.Pos.Offset <= at && at < x.EndPos.Offset && len(x.Axes) == 1 && x.Of == nil && x.Between == nil && x.Options == nil {
			return x
		}
	}
	return nil
}
