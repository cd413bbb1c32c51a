package compiler

import (
	"ptc/lang/keymap"
	"ptc/runtime/program"
)

// Names are the blocks of names of a program's model, resolved, without a plan. The
// error and the report are as Compile's.
func Names(o Options) ([]program.Names, *Report, error) {
	r := &Report{Source: func(string) (string, bool) { return "", false }}
	low, err := lower(o, r)
	if err != nil {
		return nil, r, err
	}
	return planNames(low.result.Names), r, nil
}

// planNames are names as a plan has them.
func planNames(maps []keymap.Map) (out []program.Names) {
	for _, m := range maps {
		n := program.Names{Family: m.Family, Format: m.Format, Architecture: m.Architecture, Prefix: m.Prefix, Skip: m.Skip, Refuse: m.Refuse, PlusOne: m.PlusOne}
		for _, t := range m.Tensors {
			named := program.Named{Name: t.Name, Over: t.Over}
			for _, p := range t.Pieces {
				named.Pieces = append(named.Pieces, program.Piece(p))
			}
			n.Tensors = append(n.Tensors, named)
		}
		for _, k := range m.Keys {
			n.Keys = append(n.Keys, program.Key(k))
		}
		out = append(out, n)
	}
	return out
}
