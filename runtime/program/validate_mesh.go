package program

import "math"

// validateMesh checks that every rank of the mesh has one program.
func validateMesh(p *Plan) error {
	ranks := 1
	seen := map[string]bool{}
	for _, a := range p.Mesh {
		if err := name(a.Name); err != nil || seen[a.Name] {
			return invalid("%w", unlessLimit(err, "mesh axis %q", a.Name))
		}
		seen[a.Name] = true
		if a.Size < 1 {
			return invalid("mesh axis %s of size %d", a.Name, a.Size)
		}
		if err := within(CountLimit, "%d devices along mesh axis "+a.Name, int64(a.Size), int64(maxRanks/ranks)); err != nil {
			return invalid("%w", err)
		}
		ranks *= a.Size
	}
	for _, r := range p.Refined {
		if err := name(r.Value); err != nil || !seen[r.Key] {
			return invalid("mesh axis %q is a part of %q", r.Key, r.Value)
		}
	}
	if n := p.Stats.FlopsPerStep; !(n >= 0 && n <= math.MaxFloat64) {
		return invalid("a step of %g operations", n)
	}
	return validateClasses(p)
}

// validateClasses checks that there is a program for each combination of
// coordinates on the axes By, and one alone.
func validateClasses(p *Plan) error {
	last := -1
	for _, name := range p.By {
		i := p.Mesh.index(name)
		if i <= last {
			return invalid("devices differ by mesh axis %q, which the mesh does not have or the list has out of order", name)
		}
		last = i
	}
	if want := p.Mesh.Parts(p.By); len(p.Devices) != want {
		return invalid("%d programs for %d places along %v", len(p.Devices), want, p.By)
	}
	seen := make([]bool, len(p.Devices))
	for i := range p.Devices {
		at, n := p.Devices[i].At, 0
		if len(at) != len(p.By) {
			return invalid("device %d has %d coordinates on %v", i, len(at), p.By)
		}
		for j, name := range p.By {
			size := p.Mesh[p.Mesh.index(name)].Size
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
