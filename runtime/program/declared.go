package program

import "slices"

// Declared is the mesh as the layout has it: axes that are parts of one are that.
func (p *Plan) Declared() []MeshAxis {
	var out []MeshAxis
	last := ""
	for _, a := range p.Mesh {
		of := partOf(p.Refined, a.Name)
		if n := len(out) - 1; of != "" && of == last {
			out[n].Size *= a.Size
			continue
		}
		last = of
		if of != "" {
			a.Name = of
		}
		out = append(out, a)
	}
	return out
}

// DeclaredOver names mesh axes as the layout does, where all parts of one of its
// axes follow one another; others keep their own names.
func (p *Plan) DeclaredOver(over []string) []string {
	var out []string
	for i := 0; i < len(over); {
		of, n := partOf(p.Refined, over[i]), 0
		var parts []string
		for _, a := range p.Mesh {
			if of != "" && partOf(p.Refined, a.Name) == of {
				parts = append(parts, a.Name)
			}
		}
		if n = len(parts); n > 0 && len(over)-i >= n && slices.Equal(over[i:i+n], parts) {
			out = append(out, of)
			i += n
			continue
		}
		out = append(out, over[i])
		i++
	}
	return out
}

// partOf is the axis of the layout that a mesh axis is a part of, if it is.
func partOf(refined []KV, axis string) string {
	for _, r := range refined {
		if r.Key == axis {
			return r.Value
		}
	}
	return ""
}
