package certify

import (
	"math"

	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/internal/wide"
)

// nothing is a reduction that takes no time.
func nothing(int64) int64 { return 0 }

// reductions gives the time that a device takes at least, after its last microbatch, to exchange the gradients of so many blocks
// with the other replicas, and the parameters that follow from them. It is that of the order of the mesh, or before one is chosen
// of the order in which it takes the least.
//
// It is 0 with one microbatch, since the backward pass may hide it; under zero 2 and 3, where each microbatch has its own; and
// where the level of zero or the microbatches are not chosen here.
func (k *formulas) reductions(p *part) func(blocks int64) int64 {
	if !p.chose(zeroLevel) || p.zero > 1 || k.kept("zero", "") || k.divided() || k.microbatches(p) < 2 {
		return nothing
	}
	known := map[int64]int64{}
	return func(blocks int64) int64 {
		if t, ok := known[blocks]; ok {
			return t
		}
		least := int64(math.MaxInt64)
		if p.chose(placementLevel) {
			least = k.reduction(p, blocks)
		} else {
			k.placements(p, func(_ string, set func(*part)) {
				x := *p
				set(&x)
				least = min(least, k.reduction(&x, blocks))
			})
		}
		known[blocks] = least
		return least
	}
}

// reduction is the time of these exchanges in an order of the mesh: one of the parameters of experts, among dp and cp, and one of
// all others, among dp, ep and cp. Without zero all gradients are reduced to every replica. With zero 1 each replica gets its
// share of them, and then the others' shares of the parameters; where only some of the replicas divide a size, it gets half of
// the parameters at least.
func (k *formulas) reduction(p *part, blocks int64) (sum int64) {
	for _, experts := range []bool{false, true} {
		grads, params := k.exchanged(p, experts)
		if grads == 0 {
			continue
		}
		among := k.cluster.Spread(0, group(p, experts)...)
		take := func(kind string, bytes int64) int64 {
			return int64(k.model.Collective(kind, among, wide.Mul(bytes, blocks)).Time)
		}
		if p.zero == 0 {
			sum += take(collective.AllReduce, grads)
		} else {
			sum += take(collective.ReduceScatter, grads) + take(collective.AllGather, params)/2
		}
	}
	return sum
}

// exchanged is the bytes of a block's gradients, in the dtype in which they are reduced, and of its parameters, on a device: of
// experts, or of all else.
func (k *formulas) exchanged(p *part, experts bool) (grads, params int64) {
	size := int64(4)
	for _, x := range k.auto.Keep {
		if x.Precision != nil {
			size = int64(x.Precision.Reduce.Size())
			break
		}
	}
	for i := range k.Params {
		if x := &k.Params[i]; x.Block && k.ofExperts(x) == experts {
			n := k.elems(p, x)
			grads += n * size
			params += n * x.Bytes
		}
	}
	return grads, params
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
