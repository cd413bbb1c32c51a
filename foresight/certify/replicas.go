package certify

import (
	"slices"

	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/internal/wide"
)

// replicas is the least time in which a device exchanges, after its last microbatch, the gradients of so many blocks over its
// replicas, and under zero 1 gathers their parameters, of which replicas have at least half. Experts are replicated over dp and cp, all else over ep
// too. It is that of the order of the mesh in which this is fastest, unless one is chosen, and 0 where a step has one microbatch, where
// each microbatch has its exchanges (zero 2 and 3), and where the source keeps a zero.
func (k *formulas) replicas(p *part, blocks int64) int64 {
	if !p.chose(zeroLevel) || p.zero > 1 || k.kept("zero", "") || k.divided() || k.microbatches(p) < 2 {
		return 0
	}
	if p.chose(placementLevel) {
		return k.replicasOn(p, p.order, blocks)
	}
	fastest := int64(-1)
	k.placements(p, func(_ string, set func(*part)) {
		x := *p
		set(&x)
		if t := k.replicasOn(p, x.order, blocks); fastest < 0 || t < fastest {
			fastest = t
		}
	})
	return max(fastest, 0)
}

// replicasOn is replicas of an order of the mesh.
func (k *formulas) replicasOn(p *part, order []int, blocks int64) int64 {
	take := func(kind string, over []int, bytes int64) int64 {
		group := k.cluster.Spread(0, strides(p, order, over)...)
		return int64(k.model.Collective(kind, group, wide.Mul(bytes, blocks)).Time)
	}
	sum := int64(0)
	for _, experts := range []bool{false, true} {
		over := []int{dp, ep, cp}
		if experts {
			over = []int{dp, cp}
		}
		grads, params := k.exchanged(p, experts)
		if p.zero == 0 {
			sum += take(collective.AllReduce, over, grads)
		} else {
			sum += take(collective.ReduceScatter, over, grads) + take(collective.AllGather, over, params)/2
		}
	}
	return sum
}

// strides are where the devices of a group over some mesh axes are, in a mesh of this order.
func strides(p *part, order, over []int) []machine.Axis {
	var out []machine.Axis
	for i, a := range order {
		inner := 1
		for _, b := range order[i+1:] {
			inner *= p.size[b]
		}
		if slices.Contains(over, a) {
			out = append(out, machine.Axis{Size: p.size[a], Stride: inner})
		}
	}
	return out
}

// exchanged is the bytes of a block's gradients, in the dtype in which they are reduced, and of its parameters on a device: those of
// experts, or all others.
func (k *formulas) exchanged(p *part, experts bool) (grads, params int64) {
	each := int64(4)
	for _, x := range k.auto.Kept("precision") {
		if x.Precision != nil {
			each = int64(x.Precision.Reduce.Size())
		}
	}
	for i := range k.Params {
		if x := &k.Params[i]; x.Block && (k.Experts != "" && x.Has(k.Experts)) == experts {
			n := k.elems(p, x)
			grads += n * each
			params += n * x.Bytes
		}
	}
	return grads, params
}

// elems is how many elements of a parameter a device has before zero divides any. tp divides the first axis of tensor parallelism that
// it has, ep that of experts.
func (k *formulas) elems(p *part, x *facts.Param) int64 {
	n := x.Elems()
	for _, a := range k.Tensor {
		if x.Has(a) && k.Sizes[a]%p.size[tp] == 0 {
			n /= int64(p.size[tp])
			break
		}
	}
	if k.Experts != "" && x.Has(k.Experts) {
		n /= int64(p.size[ep])
	}
	return n
}
