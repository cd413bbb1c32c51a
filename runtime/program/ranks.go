package program

import "slices"

// Copies is how many ranks run each of Devices.
func (p *Plan) Copies() int { return p.Mesh.Ranks() / max(p.Mesh.Parts(p.By), 1) }

// RanksOf are the ranks that run d, in ascending order.
func (p *Plan) RanksOf(d *Device) []int {
	out := []int{0}
	for _, a := range p.Mesh {
		from, to := 0, a.Size
		if j := slices.Index(p.By, a.Name); j >= 0 {
			from, to = d.At[j], d.At[j]+1
		}
		next := make([]int, 0, len(out)*(to-from))
		for _, rank := range out {
			for at := from; at < to; at++ {
				next = append(next, rank*a.Size+at)
			}
		}
		out = next
	}
	return out
}

// HasRank says whether a rank runs d.
func (p *Plan) HasRank(d *Device, rank int) bool {
	at := p.Mesh.Coordinates(rank)
	for j, name := range p.By {
		if at[p.Mesh.index(name)] != d.At[j] {
			return false
		}
	}
	return true
}

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
