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
