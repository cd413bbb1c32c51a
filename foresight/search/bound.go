package search

import (
	"ptc/foresight/certificate"
	"ptc/foresight/machine"
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
		out.step = max(out.step, machine.PS(f.space.pipelined(c, t)))
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
		elems := p.Elems()
		for _, a := range x.Tensor {
			if p.Has(a) && x.Sizes[a]%c.TP == 0 {
				elems /= int64(c.TP)
				break
			}
		}
		if x.Experts != "" && p.Has(x.Experts) {
			elems /= int64(c.EP)
		}
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

// byTable is what follows from the times and bytes of a block.
func (f *finder) byTable(c *Choice, t *table) least {
	s, x := f.space, f.space.Facts
	n := int64(c.microbatches(x)) * int64((x.Instances+c.PP-1)/c.PP)
	step := max(s.pipelined(c, &t.Table), wide.Mul(t.Exchanges, n))
	return least{step: max(f.ideal(c.Devices), machine.PS(step)), bytes: s.fullest(c, &t.Table, f.persistent(c))}
}
