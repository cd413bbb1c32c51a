package program

import "slices"

// Copies is how many ranks run each of Devices.
func (p *Plan) Copies() int { return p.Ranks() / max(p.Parts(p.By), 1) }

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
	at := p.Coordinates(rank)
	for j, name := range p.By {
		if at[p.meshIndex(name)] != d.At[j] {
			return false
		}
	}
	return true
}

// meetsItself says whether some rank that runs d has coordinate peer in its group
// over these mesh axes.
func (p *Plan) meetsItself(d *Device, over []string, peer int) bool {
	for _, name := range slices.Backward(over) {
		size := p.Mesh[p.meshIndex(name)].Size
		if j := slices.Index(p.By, name); j >= 0 && d.At[j] != peer%size {
			return false
		}
		peer /= size
	}
	return true
}

// validateClasses checks that there is a program for each combination of
// coordinates on the axes By, and one alone.
func (p *Plan) validateClasses() error {
	last := -1
	for _, name := range p.By {
		i := p.meshIndex(name)
		if i <= last {
			return invalid("devices differ by mesh axis %q, which the mesh does not have or the list has out of order", name)
		}
		last = i
	}
	if want := p.Parts(p.By); len(p.Devices) != want {
		return invalid("%d programs for %d places along %v", len(p.Devices), want, p.By)
	}
	seen := make([]bool, len(p.Devices))
	for i := range p.Devices {
		at, n := p.Devices[i].At, 0
		if len(at) != len(p.By) {
			return invalid("device %d has %d coordinates on %v", i, len(at), p.By)
		}
		for j, name := range p.By {
			size := p.Mesh[p.meshIndex(name)].Size
			if at[j] < 0 || at[j] >= size {
				return invalid("device %d has coordinate %d of %d on %s", i, at[j], size, name)
			}
			n = n*size + at[j]
		}
		if seen[n] {
			return invalid("device %d has the coordinates %v of another", i, at)
		}
		seen[n] = true
	}
	return nil
}
