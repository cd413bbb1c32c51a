package certify

import (
	"math"

	"ptc/foresight/certificate"
	"ptc/foresight/cost"
	"ptc/foresight/facts"
	"ptc/internal/wide"
)

// least is what all layouts of a part take at least: a step in ps, and bytes on the fullest device.
type least struct{ time, bytes int64 }

// formulas say what a part of a space takes at least.
type formulas struct {
	*space
	model *cost.Model
}

// whole is a slack that leaves bounds as they are.
const whole = 1000

// bound is what all layouts of a part take at least, by the model and by tables of its block. A table of a layout that
// the compiler refuses says nothing. Slack, in thousandths, multiplies both.
func (k *formulas) bound(p *part, slack int64, tables ...*certificate.Table) least {
	out := k.byModel(p)
	for _, t := range tables {
		if t.Illegal == "" {
			x := k.byBlock(p, t)
			out = least{max(out.time, x.time), max(out.bytes, x.bytes)}
		}
	}
	return least{wide.MulDiv(out.time, slack, whole), wide.MulDiv(out.bytes, slack, whole)}
}

// spread is all arithmetic of a step at the machine's best rate, divided among all devices.
func (k *formulas) spread(p *part) int64 {
	return int64(k.model.AtBest(k.DTypes, int64(k.Flops/float64(p.devices))))
}

// byModel is what follows from the model alone.
//
// Time: the arithmetic of a step, spread over all devices; and once rows are chosen, the blocks through the pipeline, each with the
// arithmetic of its products at the best rate, a third of it forward. Bytes: of a device with the average number of blocks, their
// parameters, states and sums of gradients.
func (k *formulas) byModel(p *part) least {
	if !p.chose(devicesLevel) {
		return least{}
	}
	out := least{time: k.spread(p)}
	if !p.chose(meshLevel) || k.Instances == 0 {
		return out
	}
	out.bytes = wide.Mul(k.stored(p), int64(k.Instances/p.size[pp]))
	if p.chose(rowsLevel) && !k.divided() {
		flops := wide.MulDiv(k.BlockFlops, int64(p.rows), int64(k.Rows)*int64(p.size[cp])*int64(p.size[tp]))
		third := int64(k.model.AtBest(k.DTypes, flops)) / 3
		out.time = max(out.time, k.piped(p, &certificate.Table{Forward: third, Backward: 2 * third}, apart))
	}
	return out
}

// stored is the bytes that a device has at least for the parameters, optimizer states and summed gradients of one block.
func (k *formulas) stored(p *part) (sum int64) {
	for i := range k.Params {
		if k.Params[i].Block {
			sum += k.storedOf(p, &k.Params[i])
		}
	}
	return sum
}

// elems is how many elements of a parameter a device has if replicas share nothing: tp divides the first axis of tensor
// parallelism that the parameter has and it divides, ep that of experts.
func (k *formulas) elems(p *part, x *facts.Param) int64 {
	n := x.Elems()
	for _, a := range k.Tensor {
		if x.Has(a) && k.Sizes[a]%p.size[tp] == 0 {
			n /= int64(p.size[tp])
			break
		}
	}
	if k.ofExperts(x) {
		n /= int64(p.size[ep])
	}
	return n
}

// ofExperts reports whether each expert has a parameter of its own.
func (k *formulas) ofExperts(x *facts.Param) bool { return k.Experts != "" && x.Has(k.Experts) }

// storedOf is stored of one parameter, whose parts zero divides among all replicas as its level says. A choice that is not made
// yet, or that is kept, counts as the one with the least bytes. Sums of gradients are there, in 4 bytes, if a step has several
// microbatches. Each number is rounded down.
func (k *formulas) storedOf(p *part, x *facts.Param) int64 {
	elems := k.elems(p, x)
	level := 3
	if p.chose(zeroLevel) && !k.kept("zero", "") {
		level = p.zero
	}
	replicas := int64(p.size[dp]) * int64(p.size[cp]) * int64(p.size[ep])
	share := func(bytes int64, from int) int64 { // among replicas, from a level of zero on
		if level >= from {
			return bytes / replicas
		}
		return bytes
	}
	sum := share(elems*x.Bytes, 3)
	if p.chose(offloadLevel) && p.offload != "optimizer" && !k.kept("offload", "") {
		sum += share(elems*x.States, 1)
	}
	if p.chose(rowsLevel) && !k.divided() && k.microbatches(p) > 1 {
		sum += share(elems*4, 2)
	}
	return sum
}

// byBlock is what follows from the table of a block.
//
// Time: the arithmetic of a step, spread over all devices; the blocks through the pipeline, and then the reduction of gradients;
// and the collectives of the device with the most blocks, one after the other. Bytes: those of the fullest device.
func (k *formulas) byBlock(p *part, t *certificate.Table) least {
	blocks := int64((k.Instances + p.size[pp] - 1) / p.size[pp])
	exchanges := wide.Mul(t.Exchanges, int64(k.microbatches(p))*blocks)
	return least{max(k.spread(p), k.piped(p, t, &exchanging{k.reductions(p), k.message(p)}), exchanges), k.fullest(p, t)}
}

// piped is the least time of a step whose blocks take what a table says, and whose exchanges what x says: that of the fastest
// schedule there may be. If there is none, nothing is known.
func (k *formulas) piped(p *part, t *certificate.Table, x *exchanging) int64 {
	m := int64(k.microbatches(p))
	if p.size[pp] == 1 {
		n := int64(k.Instances)
		return wide.Add(wide.Mul(m, wide.Add(wide.Mul(n, t.Forward+t.Backward), t.Ends)), x.gradients(n, all))
	}
	return k.smallest(p, func(f *flow) int64 { return f.time(k.cut(f, m, t), m, t, x) })
}

// fullest is the least bytes of the fullest device. A device has for each of its blocks what is stored of it, and what the block
// keeps for all microbatches; and for as many forward passes as it is ahead of backward passes, what the blocks of its smallest
// stage keep of a microbatch. `recompute auto` may keep nothing.
func (k *formulas) fullest(p *part, t *certificate.Table) int64 {
	block, kept := wide.Add(k.stored(p), t.Shared), t.Kept
	if p.recompute == "auto" {
		kept = 0
	}
	if p.size[pp] == 1 {
		return wide.Mul(int64(k.Instances), wide.Add(block, kept))
	}
	return k.smallest(p, func(f *flow) (most int64) {
		blocks := k.cut(f, int64(k.microbatches(p)), t)
		for d, ahead := range f.ahead {
			all, smallest := int64(0), int64(math.MaxInt64)
			for stage, n := range blocks {
				if f.at[stage] == d {
					all += int64(n)
					smallest = min(smallest, int64(n))
				}
			}
			most = max(most, wide.Add(wide.Mul(all, block), wide.Mul(wide.Mul(ahead, smallest), kept)))
		}
		return most
	})
}

// smallest is the smallest number that the schedules of a part have; 0 if there is none.
func (k *formulas) smallest(p *part, of func(f *flow) int64) int64 {
	out, found := int64(math.MaxInt64), false
	k.each(p, func(f *flow) { out, found = min(out, of(f)), true })
	if !found {
		return 0
	}
	return out
}
