package directive

import (
	"slices"
	"strconv"
	"strings"

	"ptc/internal/diag"
	"ptc/ir/auto"
	"ptc/ir/layout"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// contradictions reports a kept directive that `allow` or `limit` excludes.
func (s *searching) contradictions(d syntax.Directive, k auto.Kept) {
	switch l := k.Rule.(type) {
	case *layout.Zero:
		s.keepsValue(d, "zero", strconv.Itoa(l.Level))
	case *layout.Pipeline:
		s.keepsValue(d, "schedule", l.Schedule)
		stages := "balanced" // what the compiler makes of a directive that says nothing
		if l.Stages != nil {
			stages = ""
		}
		s.keepsValue(d, "stages", stages)
		if !s.found.Allowed("chunks").Number(l.Chunks) {
			s.excluded(d, "chunks", "as `"+strconv.Itoa(l.Chunks)+"`", "")
		}
	case *layout.Recompute:
		if len(l.Of) == 1 && l.Of[0] == "auto" {
			s.keepsValue(d, "recompute", "auto")
		} else if a := s.found.Allowed("recompute"); a != nil && slices.Equal(a.Values, []string{"none"}) {
			s.excluded(d, "recompute", "for modules", "")
		}
	case *layout.Offload:
		for _, w := range l.What {
			s.keepsValue(d, "offload", w)
		}
	case *layout.Shard:
		s.keepsShard(d, l)
	case *layout.Device:
		if s.limit != nil {
			s.f.Report(source.Conflict("E0436", d, s.limit.At(), "`limit memory` is here", "one of the two", "", "both `device memory` and `limit memory` bound the memory of a device"))
		}
	}
}

// keepsValue reports a value of a kept directive that is not among those allowed; an empty
// one is the blocks of stages by hand.
func (s *searching) keepsValue(d syntax.Directive, word, v string) {
	a := s.found.Allowed(word)
	if a == nil || len(a.Values) == 0 || a.Value(v) {
		return
	}
	what := "as `" + v + "`"
	if v == "" {
		what = "by hand"
	}
	s.excluded(d, word, what, diag.OneOf(a.Values))
}

// keepsShard compares a rule over tp with the sets of axes, and with sequence parallelism.
func (s *searching) keepsShard(d syntax.Directive, l *layout.Shard) {
	switch tensor := s.found.Allowed("tensor"); {
	case !slices.Contains(l.Over, "tp") || len(l.Of) > 0:
	case len(l.Between) > 0:
		s.keepsValue(d, "sequence", "on")
	case tensor != nil && len(tensor.Sets) > 0 && !slices.ContainsFunc(tensor.Sets, func(set []string) bool {
		return !slices.ContainsFunc(l.Axes, func(a string) bool { return !slices.Contains(set, a) })
	}):
		s.excluded(d, "tensor", "as `("+strings.Join(l.Axes, ", ")+")`", "axes of one of its sets")
	}
}

// excluded reports a kept directive that says what `allow` excludes.
func (s *searching) excluded(d syntax.Directive, word, what, want string) {
	s.f.Report(source.Conflict("E0436", d, s.allowed[word][0].At(), "what is allowed", want, "remove one of the two: a kept directive is in every layout", "`%s` is kept %s, and `allow` excludes that", word, what))
}
