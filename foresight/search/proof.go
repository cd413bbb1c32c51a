package search

import (
	"maps"
	"slices"

	"ptc/foresight/certificate"
	"ptc/foresight/machine"
)

// found is the result of a search so far.
func (f *finder) found() *Found {
	out := &Found{Probes: f.probes, Leaves: len(f.leaves) + f.queue.Len()}
	if b := f.best; b != nil {
		out.Best, out.Layout, out.Step, out.Bytes, out.Least = b.Choice, b.Block(f.name, f.space), b.step, b.bytes, b.step
		for _, x := range f.queue.all {
			if f.compare(x, b) < 0 {
				out.Least = min(out.Least, x.step)
			}
		}
		return out
	}
	for _, path := range slices.Sorted(maps.Keys(f.leaves)) {
		if l := f.leaves[path]; l.Why == certificate.Over && (out.Closest == "" || l.Bytes < out.Needs) {
			out.Closest, out.Needs = path, l.Bytes
		}
	}
	return out
}

// certificate has the leaves in the order of the tree.
func (f *finder) certificate() *certificate.Certificate {
	c := &certificate.Certificate{Version: certificate.Version, Objectives: f.space.Auto.Minimize, Dimensions: Dimensions,
		Memory: f.space.memory, Slack: f.slack, Winner: -1, Layout: f.name}
	cl := f.space.Cluster
	c.Machine = certificate.Machine{Name: cl.Name, SHA256: cl.Hash, Levels: slices.Clone(cl.Sizes)}
	slices.Reverse(c.Machine.Levels)
	for _, k := range slices.Sorted(maps.Keys(f.tables)) {
		c.Tables = append(c.Tables, *f.tables[k])
	}
	for _, x := range f.queue.all {
		f.leaf(x, certificate.Leaf{Why: certificate.Bound, By: f.by(x), Bound: int64(x.step)})
	}
	f.collect(&Choice{}, c)
	return c
}

// collect adds the leaves below a choice.
func (f *finder) collect(x *Choice, c *certificate.Certificate) {
	if l := f.leaves[x.Path()]; l != nil {
		if f.best != nil && x.Depth == len(Dimensions) && l.At == f.best.Path() {
			c.Winner = len(c.Leaves)
		}
		c.Leaves = append(c.Leaves, *l)
		return
	}
	for _, y := range f.space.branches(x) {
		f.collect(y, c)
	}
}

// Gap is by how much the best layout may be slower than the best of the space, as a share of its step.
func (f *Found) Gap() float64 {
	if f.Step == 0 {
		return 1
	}
	return float64(f.Step-f.Least) / float64(max(f.Step, machine.PS(1)))
}
