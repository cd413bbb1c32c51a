package query

import (
	"ptc/editor/names"
	"ptc/editor/protocol"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// at is the reference at a position, or nil.
func (v *View) at(p protocol.Position) *names.Ref {
	at, ok := v.offset(p)
	if !ok || v.Names == nil {
		return nil
	}
	return v.Names.At(v.File, at)
}

// Definition is where the name at a position is declared.
func (v *View) Definition(p protocol.Position) []protocol.Location {
	r := v.at(p)
	if r == nil {
		return v.imported(p)
	}
	s := r.Symbol
	if s.Kind == names.Import && s.Target != nil {
		return v.locations(s.Target, 0, 0)
	}
	if s.At == nil || s.File == nil {
		return nil
	}
	at := s.At.Extent()
	return v.locations(s.File, at.Pos.Offset, at.EndPos.Offset)
}

// imported is the file that the import at a position names.
func (v *View) imported(p protocol.Position) []protocol.Location {
	at, ok := v.offset(p)
	if !ok {
		return nil
	}
	for _, n := range v.Path(v.File, at) {
		if d, ok := n.(*syntax.Import); ok {
			if f := v.File.Imports[source.ImportName(d).Name]; f != nil {
				return v.locations(f, 0, 0)
			}
		}
	}
	return nil
}

func (v *View) locations(f *source.File, from, to int) []protocol.Location {
	r, ok := v.span(f, from, to)
	if !ok || v.URI(f) == "" {
		return nil
	}
	return []protocol.Location{{URI: v.URI(f), Range: r}}
}

// References are all places where what is named at a position is named.
func (v *View) References(p protocol.Position, declaration bool) []protocol.Location {
	out := []protocol.Location{}
	r := v.at(p)
	if r == nil {
		return out
	}
	for _, o := range v.Names.Of(v.Program.Program.Program, r.Symbol) {
		if declaration || !o.Declares {
			out = append(out, v.locations(o.File, o.From, o.To)...)
		}
	}
	return out
}
