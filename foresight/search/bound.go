package search

import (
	"math"

	"ptc/foresight/certificate"
	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/internal/wide"
)

// least is what every layout below a choice takes at least: time of a step, bytes on a device.
type least struct {
	step  machine.PS
	bytes int64
}

// The levels of the tree behind which a choice is made.
const (
	meshAt     = 1
	rowsAt     = 4
	zeroAt     = 6
	offloadAt  = 7
	scheduleAt = 8
)

// byFacts is what follows from the model alone: the arithmetic of all products at the best rate, spread over all devices, and the
// products of the blocks through the pipeline; parameters and states.
func (f *finder) byFacts(c *Choice) least {
	out := least{step: f.ideal(c.Devices)}
	if c.Depth <= meshAt || f.space.Facts.Instances == 0 {
		return out
	}
	x := f.space.Facts
	out.bytes = wide.Mul(f.persistent(c), int64(x.Instances/c.PP))
	if c.Depth > rowsAt && !f.space.fixed() {
		block := f.evaluator.best(x.DTypes, wide.MulDiv(x.BlockFlops, int64(c.Rows), int64(x.Rows)*int64(c.CP*c.TP)))
		// Of each product there are one forward and two backward.
		t := &certificate.Table{Forward: int64(block) / 3, Backward: int64(block) / 3 * 2}
		out.step = max(out.step, machine.PS(f.space.pipelined(c, t, nil)))
	}
	return out
}

// ideal is the time of all arithmetic at the best rate on so many devices.
func (f *finder) ideal(devices int) machine.PS {
	return f.evaluator.best(f.space.Facts.DTypes, int64(f.space.Facts.Flops/float64(max(devices, 1))))
}

// persistent is the bytes of the parameters, states and summed gradients of one block on a device.
func (f *finder) persistent(c *Choice) (sum int64) {
	s, x := f.space, f.space.Facts
	zero := c.Zero
	if c.Depth <= zeroAt || s.keeps("zero", "") {
		zero = 3
	}
	away := c.Depth <= offloadAt || c.Offload == "optimizer" || s.keeps("offload", "")
	for i := range x.Params {
		p := &x.Params[i]
		if !p.Block {
			continue
		}
		elems := f.elems(c, p)
		param, states, grads := elems*p.Bytes, elems*p.States, int64(0)
		if c.Depth > rowsAt && !s.fixed() && c.microbatches(x) > 1 {
			grads = 4 * elems // sums over microbatches are in f32
		}
		if away {
			states = 0
		}
		replicas := int64(c.DP * c.CP * c.EP)
		if zero >= 1 {
			states /= replicas
		}
		if zero >= 2 {
			grads /= replicas
		}
		if zero == 3 {
			param /= replicas
		}
		sum += param + states + grads
	}
	return sum
}

// reduction is the time of exchanging the gradients of some blocks, and the parameters that follow from them, over the replicas: a
// device does it after its last microbatch. It is 0 where there is one microbatch, whose backward pass may hide it, and under
// zero 2 and 3, where each microbatch has its own.
func (f *finder) reduction(c *Choice, blocks int64) (least int64) {
	s, x := f.space, f.space.Facts
	if c.Depth <= zeroAt || s.keeps("zero", "") || s.fixed() || c.Zero > 1 || c.microbatches(x) < 2 {
		return 0
	}
	orders := [][]string{c.Order}
	if c.Depth < len(Dimensions) {
		orders = s.orders(c)
	}
	least = math.MaxInt64
	for _, o := range orders {
		sum := int64(0)
		for _, experts := range []bool{false, true} {
			grads, params := f.exchanged(c, experts)
			if grads == 0 {
				continue // an exchange of nothing would take its latency
			}
			over := []string{"dp", "ep", "cp"}
			if experts {
				over = []string{"dp", "cp"}
			}
			g := s.Cluster.Spread(0, c.strides(o, over)...)
			if c.Zero == 0 {
				sum += int64(f.exchange(collective.AllReduce, g, wide.Mul(grads, blocks)))
				continue
			}
			sum += int64(f.exchange(collective.ReduceScatter, g, wide.Mul(grads, blocks)))
			// If sizes divide by some of the replicas alone, parameters are gathered from at least two of them: half as many
			// bytes as from all.
			sum += int64(f.exchange(collective.AllGather, g, wide.Mul(params, blocks))) / 2
		}
		least = min(least, sum)
	}
	return least
}

// exchanged is the bytes of the gradients and of the parameters of a block on a device: of experts, or of all else.
func (f *finder) exchanged(c *Choice, experts bool) (grads, params int64) {
	x := f.space.Facts
	for i := range x.Params {
		p := &x.Params[i]
		if !p.Block || (x.Experts != "" && p.Has(x.Experts)) != experts {
			continue
		}
		elems := f.elems(c, p)
		grads, params = grads+elems*f.space.reduced(), params+elems*p.Bytes
	}
	return grads, params
}

// elems is how many elements of a parameter a device has, if nothing is sharded over replicas.
func (f *finder) elems(c *Choice, p *facts.Param) int64 {
	x, n := f.space.Facts, p.Elems()
	for _, a := range x.Tensor {
		if p.Has(a) && x.Sizes[a]%c.TP == 0 {
			n /= int64(c.TP)
			break
		}
	}
	if x.Experts != "" && p.Has(x.Experts) {
		n /= int64(c.EP)
	}
	return n
}

// byTable is what follows from the times and bytes of a block.
func (f *finder) byTable(c *Choice, t *table) least {
	s, x := f.space, f.space.Facts
	n := int64(c.microbatches(x)) * int64((x.Instances+c.PP-1)/c.PP)
	reduce := func(blocks int64) int64 { return f.reduction(c, blocks) }
	step := max(s.pipelined(c, &t.Table, reduce), wide.Mul(t.Exchanges, n))
	return least{step: max(f.ideal(c.Devices), machine.PS(step)), bytes: s.fullest(c, &t.Table, f.persistent(c))}
}
