package machine

// Axis is an axis of a mesh as ranks have it: Size ranks that lie Stride apart.
type Axis struct{ Size, Stride int }

// Spread is how a group of ranks lies on the levels of a cluster. The slices have an element for each level,
// innermost first.
type Spread struct {
	Size    int   // ranks of the group
	Outer   int   // the outermost level whose links the group uses; -1 for a group of one
	Members []int // the most ranks of the group in one unit of the level; Size at Outer and above
	Units   []int // units of the level that hold ranks of the group; 1 at Outer and above
	// Sharing is how many groups over the same axes have ranks both in and outside one unit of the level, and so
	// share its links to the outside. Of the units that hold this group it is the most, and 0 at Outer and above.
	Sharing []int
}

// Spread is how the group of a rank over axes of a mesh lies on the levels. The axes are those of one mesh of the
// cluster's ranks, outermost first: each stride is a multiple of the size times the stride of the axis after it.
func (c *Cluster) Spread(rank int, axes ...Axis) Spread { return c.Spreads(axes...)(rank) }

// Spreads is [Cluster.Spread] for many ranks of one mesh: what their groups have in common is counted once.
func (c *Cluster) Spreads(axes ...Axis) func(rank int) Spread {
	known := map[[2]int]int{}
	return func(rank int) Spread { return c.spread(rank, axes, known) }
}

// spread is the spread of the group of a rank. By first rank and span of a unit, known has the groups that cross it.
func (c *Cluster) spread(rank int, axes []Axis, known map[[2]int]int) Spread {
	s := Spread{Size: 1, Outer: -1}
	for _, a := range axes {
		s.Size *= a.Size
	}
	for l := range c.Sizes {
		members, units, sharing, ok := even(axes, s.Size, c.Span(l))
		if !ok {
			members, units, sharing = count(rank, axes, c.Span(l), known)
		}
		if units > 1 {
			s.Outer = l + 1
		}
		s.Members, s.Units, s.Sharing = append(s.Members, members), append(s.Units, units), append(s.Sharing, sharing)
	}
	if s.Outer < 0 && s.Size > 1 {
		s.Outer = 0
	}
	return s
}

// even is the spread over units of span ranks where all groups lie on them in the same way: the span cuts every axis
// between two of its ranks, or not at all, so that each coordinate counts by itself.
func even(axes []Axis, size, span int) (members, units, sharing int, ok bool) {
	members = 1
	for _, a := range axes {
		extent := a.Size * a.Stride
		switch {
		case span%extent == 0:
			members *= a.Size
		case a.Stride%span == 0:
		case span%a.Stride == 0 && extent%span == 0:
			members *= span / a.Stride
		default:
			return 0, 0, 0, false
		}
	}
	if units = size / members; units > 1 {
		sharing = span / members
	}
	return members, units, sharing, true
}

// count is the spread over units of span ranks by going through the group, and through the ranks of its units.
func count(rank int, axes []Axis, span int, known map[[2]int]int) (members, units, sharing int) {
	base, extent := origin(rank, axes), reach(axes)
	unit, in := -1, 0
	each(base, axes, func(r int) {
		if r/span != unit {
			unit, in = r/span, 0
			units++
			at := [2]int{unit * span, span}
			n, ok := known[at]
			if !ok {
				n = crossing(unit*span, span, axes, extent)
				known[at] = n
			}
			sharing = max(sharing, n)
		}
		in++
		members = max(members, in)
	})
	return members, units, sharing
}

// crossing is how many groups have ranks both in and outside the span ranks from lo. A group counts where its first
// rank in them is met: the one whose predecessor in the group is before lo.
func crossing(lo, span int, axes []Axis, extent int) int {
	n := 0
	for r := lo; r < lo+span; r++ {
		base := origin(r, axes)
		if base >= lo && base+extent < lo+span {
			continue
		}
		if r == base || before(r, axes) < lo {
			n++
		}
	}
	return n
}

// origin is the first rank of a rank's group.
func origin(rank int, axes []Axis) int {
	base := rank
	for _, a := range axes {
		base -= rank / a.Stride % a.Size * a.Stride
	}
	return base
}

// reach is how far the last rank of a group is from its first.
func reach(axes []Axis) int {
	n := 0
	for _, a := range axes {
		n += (a.Size - 1) * a.Stride
	}
	return n
}

// before is the rank before one in its group, which is not the first.
func before(rank int, axes []Axis) int {
	for i := len(axes) - 1; i >= 0; i-- {
		a := axes[i]
		if rank/a.Stride%a.Size > 0 {
			return rank - a.Stride
		}
		rank += (a.Size - 1) * a.Stride
	}
	return rank
}

// each goes through the ranks of a group in ascending order.
func each(base int, axes []Axis, visit func(rank int)) {
	if len(axes) == 0 {
		visit(base)
		return
	}
	for i := range axes[0].Size {
		each(base+i*axes[0].Stride, axes[1:], visit)
	}
}
