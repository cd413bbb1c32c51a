package search

import (
	"math"
	"slices"

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
		out.step = max(out.step, machine.PS(f.space.pipelined(c, t, unlinked)))
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

// message is the time of the quickest message of a microbatch between two stages: of what goes from block to block, in 16 bits, and
// divided over all devices that share a block.
func (f *finder) message(c *Choice) int64 {
	x := f.space.Facts
	if c.PP == 1 || f.space.fixed() {
		return 0
	}
	bytes := wide.MulDiv(wide.Mul(int64(c.Rows), int64(max(x.Positions, 1))), 2*int64(x.Sizes[x.Residual]), int64(c.CP*c.TP))
	orders := [][]string{c.Order}
	if c.Depth < len(Dimensions) {
		orders = f.space.orders(c)
	}
	least := int64(math.MaxInt64)
	for _, o := range orders {
		stride := c.strides(o, []string{"pp"})[0].Stride
		for d := range c.PP {
			least = min(least, int64(f.between(d*stride, (d+1)%c.PP*stride, bytes)))
		}
	}
	return least
}

// outer are the parameters outside of the blocks that a device has at least.
type outer int

const (
	noOuter     outer = iota
	beforeOuter       // those before the blocks
	allOuter
)

// reduction is the time of exchanging the gradients of some blocks and of others, and the parameters that follow from them, over the
// replicas: a device does it after its last microbatch. It is 0 where there is one microbatch, whose backward pass may hide it, and
// under zero 2 and 3, where each microbatch has its own.
func (f *finder) reduction(c *Choice, blocks int64, others outer) (least int64) {
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
			e := f.exchanged(c, blocks, others, experts)
			if e.grads == 0 {
				continue // an exchange of nothing would take its latency
			}
			over := []string{"dp", "ep", "cp"}
			if experts {
				over = []string{"dp", "cp"}
			}
			g := s.Cluster.Spread(0, c.strides(o, over)...)
			if c.Zero == 0 {
				sum += int64(f.exchange(collective.AllReduce, g, e.grads))
				continue
			}
			gather := int64(f.exchange(collective.AllGather, g, e.params))
			if !e.whole {
				gather /= 2
			}
			sum += int64(f.exchange(collective.ReduceScatter, g, e.grads)) + gather
		}
		least = min(least, sum)
	}
	return least
}

// exchanges is what a device exchanges of gradients and parameters, in bytes.
type exchanges struct {
	grads, params int64
	// whole says that every parameter has an axis whose size divides by all replicas. Else some of the parameters may be
	// gathered from fewer, at least two: half as many bytes as from all.
	whole bool
}

// exchanged is what a device exchanges with some blocks and others: of experts, or of all else.
func (f *finder) exchanged(c *Choice, blocks int64, others outer, experts bool) exchanges {
	x, out := f.space.Facts, exchanges{whole: true}
	replicas := c.DP * c.CP
	if !experts {
		replicas *= c.EP
	}
	for i := range x.Params {
		p, n := &x.Params[i], int64(1)
		switch {
		case (x.Experts != "" && p.Has(x.Experts)) != experts:
			continue
		case p.Block:
			n = blocks
		case others == noOuter || others == beforeOuter && !p.Before:
			continue
		}
		elems := wide.Mul(n, f.elems(c, p))
		out.grads, out.params = wide.Add(out.grads, elems*f.space.reduced()), wide.Add(out.params, elems*p.Bytes)
		divides := false
		for _, a := range p.Axes {
			tp := 1
			if slices.Contains(x.Tensor, a.Name) { // which tp divides, or not
				tp = c.TP
			}
			divides = divides || a.Size%(replicas*tp) == 0
		}
		out.whole = out.whole && divides
	}
	return out
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
func (f *finder) byTable(c *Choice, t *certificate.Table) least {
	s, x := f.space, f.space.Facts
	n := int64(c.microbatches(x)) * int64((x.Instances+c.PP-1)/c.PP)
	l := &links{func(blocks int64, others outer) int64 { return f.reduction(c, blocks, others) }, f.message(c)}
	step := max(s.pipelined(c, t, l), wide.Mul(t.Exchanges, n))
	return least{step: max(f.ideal(c.Devices), machine.PS(step)), bytes: s.fullest(c, t, f.persistent(c))}
}
