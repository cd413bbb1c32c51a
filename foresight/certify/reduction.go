package certify

import (
	"math"
	"slices"

	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/internal/wide"
)

// others are the parameters outside of the blocks whose gradients a device exchanges too.
type others int

const (
	none   others = iota
	before        // what the first block depends on
	all
)

// of reports whether a parameter outside of the blocks is one of these.
func (o others) of(x *facts.Param) bool { return o == all || o == before && x.Before }

// reductions gives the time that a device takes at least, after its last microbatch, to exchange the gradients of so many blocks
// and others with the other replicas, and the parameters that follow from them. It is that of the order of the mesh, or before one is
// chosen of the order in which it takes the least.
//
// It is 0 with one microbatch, since the backward pass may hide it; under zero 2 and 3, where each microbatch has its own; and
// where the level of zero or the microbatches are not chosen here.
func (k *formulas) reductions(p *part) func(blocks int64, o others) int64 {
	if !p.chose(zeroLevel) || p.zero > 1 || k.kept("zero", "") || k.divided() || k.microbatches(p) < 2 {
		return apart.gradients
	}
	type key struct {
		blocks int64
		others
	}
	known := map[key]int64{}
	return func(blocks int64, o others) int64 {
		at := key{blocks, o}
		if t, ok := known[at]; ok {
			return t
		}
		known[at] = k.least(p, func(p *part) int64 { return k.reduction(p, blocks, o) })
		return known[at]
	}
}

// least is the least of a number over the orders of the mesh that a part may have.
func (k *formulas) least(p *part, of func(p *part) int64) int64 {
	if p.chose(placementLevel) {
		return of(p)
	}
	least := int64(math.MaxInt64)
	k.placements(p, func(_ string, set func(*part)) {
		x := *p
		set(&x)
		least = min(least, of(&x))
	})
	return least
}

// reduction is the time of these exchanges in an order of the mesh: one of the parameters of experts, among dp and cp, and one of
// all others, among dp, ep and cp. Without zero all gradients are reduced to every replica. With zero 1 each replica gets its
// share of them, and then the others' shares of the parameters; where only some of the replicas divide a size, it gets half of
// the parameters at least.
func (k *formulas) reduction(p *part, blocks int64, o others) (sum int64) {
	for _, experts := range []bool{false, true} {
		grads, params := k.exchanged(p, blocks, o, experts)
		if grads == 0 {
			continue
		}
		among := k.cluster.Spread(0, group(p, experts)...)
		take := func(kind string, bytes int64) int64 { return int64(k.model.Collective(kind, among, bytes).Time) }
		if p.zero == 0 {
			sum += take(collective.AllReduce, grads)
			continue
		}
		gather := take(collective.AllGather, params)
		if !k.shared(p, o, experts) {
			gather /= 2
		}
		sum += take(collective.ReduceScatter, grads) + gather
	}
	return sum
}

// exchanges reports whether a device exchanges the gradients of a parameter among the replicas of experts, or among all.
func (k *formulas) exchanges(x *facts.Param, o others, experts bool) bool {
	return k.ofExperts(x) == experts && (x.Block || o.of(x))
}

// exchanged is the bytes of the gradients of so many blocks and others, in the dtype in which they are reduced, and of their parameters,
// on a device: of experts, or of all else.
func (k *formulas) exchanged(p *part, blocks int64, o others, experts bool) (grads, params int64) {
	size := int64(4)
	for _, x := range k.auto.Keep {
		if x.Precision != nil {
			size = int64(x.Precision.Reduce.Size())
			break
		}
	}
	for i := range k.Params {
		if x := &k.Params[i]; k.exchanges(x, o, experts) {
			n := k.elems(p, x)
			if x.Block {
				n = wide.Mul(n, blocks)
			}
			grads = wide.Add(grads, n*size)
			params = wide.Add(params, n*x.Bytes)
		}
	}
	return grads, params
}

// shared reports whether all replicas can share each of these parameters: it has an axis whose size divides by all replicas, and by tp
// as well where tp may divide the axis.
func (k *formulas) shared(p *part, o others, experts bool) bool {
	replicas := p.size[dp] * p.size[cp]
	if !experts {
		replicas *= p.size[ep]
	}
	for i := range k.Params {
		x := &k.Params[i]
		if !k.exchanges(x, o, experts) {
			continue
		}
		divides := false
		for _, a := range x.Axes {
			by := replicas
			if slices.Contains(k.Tensor, a.Name) {
				by *= p.size[tp]
			}
			divides = divides || a.Size%by == 0
		}
		if !divides {
			return false
		}
	}
	return true
}

// message is the least time of a message of a microbatch between two stages: what goes from block to block, in 16 bits, divided among
// all devices that share a block. 0 if there is one stage, or what is kept divides the batch.
func (k *formulas) message(p *part) int64 {
	stages := p.size[pp]
	if stages == 1 || k.divided() {
		return 0
	}
	elements := wide.Mul(int64(p.rows), int64(max(k.Positions, 1)))
	bytes := wide.MulDiv(elements, 2*int64(k.Sizes[k.Residual]), int64(p.size[cp]*p.size[tp]))
	return k.least(p, func(p *part) int64 {
		stride := 1
		for i := len(p.order) - 1; p.order[i] != pp; i-- {
			stride *= p.size[p.order[i]]
		}
		least := int64(math.MaxInt64)
		for from := range stages {
			to := (from + 1) % stages
			least = min(least, int64(k.model.Message(from*stride, to*stride, bytes).Time))
		}
		return least
	})
}

// group is how the replicas of parameters lie among the ranks of a mesh, outermost first.
func group(p *part, experts bool) (out []machine.Axis) {
	stride := 1
	for _, a := range p.order {
		stride *= p.size[a]
	}
	for _, a := range p.order {
		stride /= p.size[a]
		if a == dp || a == cp || a == ep && !experts {
			out = append(out, machine.Axis{Size: p.size[a], Stride: stride})
		}
	}
	return out
}
