package facts

import (
	"slices"
)

// axes finds the axes that may be sharded.
func (x *Facts) axes() {
	x.Residual = x.residual()
	x.Experts = x.experts()
	x.tensor()
}

// residual is the axis that most parameters have: what goes from block to block is added up along it, so each module reads
// and writes it. Of equals it is the first.
func (x *Facts) residual() string {
	count, best := map[string]int{}, ""
	for _, name := range x.names() {
		for i := range x.Params {
			if x.Params[i].Has(name) {
				count[name]++
			}
		}
		if count[name] > count[best] {
			best = name
		}
	}
	return best
}

// names are the axes of parameters, in the order of the source.
func (x *Facts) names() (out []string) {
	for i := range x.Params {
		for _, a := range x.Params[i].Axes {
			if !slices.Contains(out, a.Name) {
				out = append(out, a.Name)
			}
		}
	}
	return out
}

// experts is the axis that leads every parameter of a block that has it, two at least, and one of them is a matrix for
// each expert.
func (x *Facts) experts() string {
	for _, name := range x.names() {
		leads, matrices := 0, 0
		for i := range x.Params {
			p := &x.Params[i]
			switch {
			case !p.Has(name):
				continue
			case !p.Block || p.Axes[0].Name != name:
				leads = -1 << 20
			case len(p.Axes) == 3 && p.Has(x.Residual):
				matrices++
			}
			leads++
		}
		if leads >= 2 && matrices >= 2 && name != x.Residual {
			return name
		}
	}
	return ""
}

// tensor finds the axes of tensor parallelism, those with the most elements of parameters first. Each comes first, but for the
// residual axis and the experts', in some matrix, as heads do and the elements of a head do not; has a hundredth of the elements of
// the heaviest one of a block at least; and no parameter has two of them, as a mesh axis shards a tensor once. Sharding the residual
// axis would leave sums after every product. A block counts once: neither a large vocabulary nor the number of blocks decides what
// is worth dividing.
func (x *Facts) tensor() {
	weight := map[string]int64{}
	heaviest := int64(0) // of a block, or of the model if it has no blocks
	var all []string
	for _, name := range x.names() {
		if name == x.Residual || name == x.Experts || name == x.Batch || name == x.Sequence {
			continue
		}
		first, block := false, int64(0)
		for i := range x.Params {
			if p := &x.Params[i]; p.Has(name) && len(p.Axes) > 1 {
				weight[name] += p.Elems()
				first = first || x.first(p) == name
				if p.Block || x.Blocks == "" {
					block += p.Elems()
				}
			}
		}
		if first {
			all = append(all, name)
			heaviest = max(heaviest, block)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return int(min(max(weight[b]-weight[a], -1), 1)) })
	for _, name := range all {
		if weight[name]*100 < heaviest {
			break // the rows of a router, say, which are not worth dividing
		}
		if !slices.ContainsFunc(x.Tensor, func(t string) bool { return x.together(t, name) }) {
			x.Tensor = append(x.Tensor, name)
		}
	}
	for _, name := range x.Tensor {
		if !slices.ContainsFunc(x.Params, func(p Param) bool { return p.Block && p.Has(name) }) {
			x.Outer = append(x.Outer, name)
		}
	}
}

// together reports whether a parameter has both axes.
func (x *Facts) together(a, b string) bool {
	return slices.ContainsFunc(x.Params, func(p Param) bool { return p.Has(a) && p.Has(b) })
}

// first is the first axis of a parameter that is neither the residual one nor that of experts.
func (x *Facts) first(p *Param) string {
	for _, a := range p.Axes {
		if a.Name != x.Residual && a.Name != x.Experts {
			return a.Name
		}
	}
	return ""
}
