package factor

import (
	"fmt"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// sameness finds values that are made of arguments alone, and alike, at one place of a phase, as casts of a parameter by
// what is rematerialized and by what reads it in the backward phase anyway. To make them twice costs nothing, and keeps
// nothing; but what they are brought into another state for is brought there once.
type sameness struct {
	of    map[*ir.Value]*ir.Value // the first that is like it; of an argument itself
	first map[string]*ir.Op
}

func samenessOf(f *ir.Func) *sameness {
	s := &sameness{of: map[*ir.Value]*ir.Value{}, first: map[string]*ir.Op{}}
	for _, a := range f.Args {
		s.of[a.Value] = a.Value
	}
	return s
}

// key tells what o computes from other operations of its place; empty where it is not made of arguments alone.
func (s *sameness) key(o *ir.Op, phase ir.Phase) string {
	if op.Of(o).Class == op.Boundary || len(o.Args) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %d %v %v %p", o.Name, o.Attrs, phase, o.Stage, o.Micro, o.Run)
	for _, v := range o.Args {
		switch w := s.of[v]; {
		case w != nil:
			fmt.Fprintf(&b, " %%%d", w.ID)
		case v.Def != nil && v.Def.Name == op.Const:
			fmt.Fprintf(&b, " %s %s", v.Type, v.Def.Attrs)
		default:
			return ""
		}
	}
	return b.String()
}

// note has the results of o be those of the first operation that is like it, if that has them in the same states.
func (s *sameness) note(o *ir.Op, key string) {
	if key == "" {
		return
	}
	w := s.first[key]
	if w == nil {
		s.first[key], w = o, o
	}
	for i, r := range o.Results {
		if s.of[r] = r; w.Results[i].Type.Equal(r.Type) {
			s.of[r] = w.Results[i]
		}
	}
}
