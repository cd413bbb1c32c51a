package machine

// Cluster is a machine with the size of each level. Ranks 0 to Devices()−1 fill the innermost units first: rank order is
// mesh order, and the last axis of a mesh is the innermost.
type Cluster struct {
	*Machine
	Sizes []int // innermost first, one for each level; 1 where a level is not used
}

// Devices is how many ranks the cluster has.
func (c *Cluster) Devices() int { return c.Span(len(c.Sizes) - 1) }

// Span is how many ranks one unit of level l holds; Span(-1) is 1.
func (c *Cluster) Span(l int) int {
	n := 1
	for _, s := range c.Sizes[:l+1] {
		n *= s
	}
	return n
}

// Unit is which unit of level l a rank stands in.
func (c *Cluster) Unit(rank, l int) int { return rank / c.Span(l) }

// Level is the level whose links join two ranks: the innermost one with both in one unit. It is -1 for a rank and itself.
func (c *Cluster) Level(a, b int) int {
	l := -1
	for c.Unit(a, l) != c.Unit(b, l) {
		l++
	}
	return l
}
