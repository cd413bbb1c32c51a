package offload

import (
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/internal/openpath"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/passes/pass"
)

// defaultPiece is how many bytes of state are on their way at once, where the
// layout does not say: long enough for a disk, and small compared with an arena.
const defaultPiece = 4 << 20

// rule is one directive of the layout.
type rule struct {
	memory   ir.Memory // host or disk
	piece    int64     // bytes
	patterns []string  // of module paths; nil: all
	why      ir.Str    // what says so, and where
	at       diag.Pos
}

// rulesOf are the layout's rules that offload what, in order.
func rulesOf(m *ir.Module, what string) []rule {
	l := layout.Of(m)
	var out []rule
	for _, x := range layout.All[*layout.Offload](l) {
		if !slices.Contains(x.What, what) {
			continue
		}
		piece := x.Piece
		if piece == 0 {
			piece = defaultPiece
		}
		to, _ := ir.ParseMemory(x.To) // one of layout.Memories, which are these
		out = append(out, rule{to, piece, l.Patterns(x.Of), ir.Str(strings.TrimSpace("offload " + what + " " + x.Where())), x.At})
	}
	return out
}

// warnIdle warns of a rule that moves nothing.
func (r rule) warnIdle(c *pass.Context, m *ir.Module, what, why string) {
	c.Warnf(nil, "%s", layout.NoEffect(layout.Of(m).Name, "offload "+what, r.at, why))
}

// inside reports whether scope is in a module that the rule names.
func (r rule) inside(scope string) bool {
	if r.patterns == nil {
		return true
	}
	at := strings.Split(scope, ".")
	return slices.ContainsFunc(r.patterns, func(p string) bool {
		return openpath.Match(strings.Split(p+".**", "."), at)
	})
}
