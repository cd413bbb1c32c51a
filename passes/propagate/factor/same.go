package factor

import (
	"ptc/ir"
	"ptc/ir/op"
)

// sameness finds values that are made of arguments alone, and alike, at one place of a phase, as casts of a parameter by
// what is rematerialized and by what reads it in the backward phase anyway. To make them twice costs nothing, and keeps
// nothing; but what they are brought into another state for is brought there once.
type sameness struct {
	of    map[*ir.Value]*ir.Value // the first that is like it; of an argument itself
	first map[likeness]*ir.Op
}

// likeness is what an operation computes, and where.
type likeness struct {
	name, attrs string
	args        [3]*ir.Value
	phase       ir.Phase
	stage       ir.Index
	micro       bool
	run         *ir.Run
}

func samenessOf(f *ir.Func) *sameness {
	s := &sameness{of: map[*ir.Value]*ir.Value{}, first: map[likeness]*ir.Op{}}
	for _, a := range f.Args {
		s.of[a.Value] = a.Value
	}
	return s
}

// key tells what o computes from other operations of its place; without a name where it is not made of arguments alone.
func (s *sameness) key(o *ir.Op, phase ir.Phase) likeness {
	k := likeness{phase: phase, stage: o.Stage, micro: o.Micro, run: o.Run}
	if op.Of(o).Class == op.Boundary || len(o.Args) == 0 || len(o.Args) > len(k.args) {
		return k
	}
	for i, v := range o.Args {
		if k.args[i] = s.argument(v); k.args[i] == nil {
			return k
		}
	}
	k.name, k.attrs = o.Name, o.Attrs.String()
	return k
}

// argument is the first value that is like v, if that is made of arguments alone, as numbers are.
func (s *sameness) argument(v *ir.Value) *ir.Value {
	if o := v.Def; s.of[v] == nil && o != nil && op.Of(o).Class == op.Source && v.Type.Rank() == 0 {
		s.note(o, likeness{name: o.Name, attrs: o.Attrs.String()})
	}
	return s.of[v]
}

// note has the results of o be those of the first operation that is like it, if that has them in the same states.
func (s *sameness) note(o *ir.Op, k likeness) {
	if k.name == "" {
		return
	}
	w := s.first[k]
	if w == nil {
		s.first[k], w = o, o
	}
	for i, r := range o.Results {
		if s.of[r] = r; w.Results[i].Type.Equal(r.Type) {
			s.of[r] = w.Results[i]
		}
	}
}
