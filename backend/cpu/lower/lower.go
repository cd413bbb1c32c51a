package lower

import (
	"fmt"

	"ptc/backend/elementwise"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/ir"
)

// Kernels lowers p: a kernel for each phase, to be run one after the other. Arguments
// are those of p, and then its work memory. One is named as p is, several get a number.
func Kernels(p *tile.Program, m kernel.Machine) ([]*kernel.Kernel, error) {
	var out []*kernel.Kernel
	for i, ph := range p.Phases {
		name := p.Name
		if len(p.Phases) > 1 {
			name = fmt.Sprintf("%s.%d", p.Name, i+1)
		}
		k, err := phase(name, p, ph, m)
		if err != nil {
			return nil, fmt.Errorf("tile %s: phase %d: %w", p.Name, i+1, err)
		}
		out = append(out, k)
	}
	return out, nil
}

// lowering writes the code of a phase: loops, and sweeps over tiles, in which an evaluator computes
// elements.
type lowering struct {
	*evaluator
	hazards
	units  units
	unroll int                      // vectors that a sweep takes at a time; 0 is for the compiler to choose
	spare  map[*tile.Value]*scratch // where the next value of what is carried in scratch is computed
}

func phase(name string, p *tile.Program, ph *tile.Phase, m kernel.Machine) (*kernel.Kernel, error) {
	if err := supported(ph.Body); err != nil {
		return nil, err
	}
	tasks := int64(1)
	for _, r := range ph.Grid {
		tasks *= r.Blocks()
	}
	l := &lowering{evaluator: newEvaluator(p, m), hazards: newHazards(p), units: units{}, unroll: unroll(ph.Body), spare: map[*tile.Value]*scratch{}}
	l.begin(name, tasks)
	l.units.count(ph.Body)
	l.number(ph.Grid)
	l.variants(ph.Grid, func() { l.block(ph.Body) })
	if l.err != nil {
		return nil, l.err
	}
	return l.b.Finish()
}

// unroll is how many vectors a sweep takes at a time: a few where there is little work
// on each, one where that work fills the processor's registers and queues by itself. Where
// rows are reduced as well, it is left to the compiler.
func unroll(b *tile.Block) int {
	const long = 24
	var walk func(b *tile.Block) (flops int64, folds bool)
	walk = func(b *tile.Block) (sum int64, folds bool) {
		for _, o := range b.Ops {
			sum, folds = sum+flops(o), folds || folded(o)
			for _, inner := range inside(o) {
				n, f := walk(inner)
				sum, folds = sum+n, folds || f
			}
		}
		return sum, folds
	}
	switch sum, folds := walk(b); {
	case folds:
		return 0
	case sum > long:
		return 1
	}
	return 4
}

// units is how many accesses are contiguous along a range.
type units map[*tile.Range]int

// count adds those of b.
func (u units) count(b *tile.Block) {
	for _, o := range b.Ops {
		if o.View != nil {
			for _, r := range o.Span() {
				if stride(o, r) == 1 {
					u[r]++
				}
			}
		}
		for _, inner := range inside(o) {
			u.count(inner)
		}
	}
}

// stride is the distance in memory between what o accesses at neighbours along r.
func stride(o *tile.Op, r *tile.Range) int64 {
	n := int64(0)
	for i, x := range o.At {
		for _, t := range x.Terms {
			if t.Range == r {
				n += t.Coef * int64(o.View.Axes[i].Stride)
			}
		}
	}
	return n
}

// vector is the one of ranges along which vectors lie: where most accesses are
// contiguous, the last of several.
func (u units) vector(ranges []*tile.Range) *tile.Range {
	var best *tile.Range
	for _, r := range ranges {
		if best == nil || u[r] >= u[best] {
			best = r
		}
	}
	return best
}

// variants runs body with the number of existing positions of each of ranges: where a
// last block is shorter, it has code of its own.
func (l *lowering) variants(ranges []*tile.Range, body func()) {
	for i, r := range ranges {
		rest := r.Extent % r.Size
		if rest == 0 || r.Blocks() == 1 {
			continue
		}
		first := l.b.Value(l.first[r])
		full := l.b.Lt(first, l.b.ConstInt(first.Type, r.Extent-rest))
		arm := func(n int64) func() {
			return func() {
				l.apart(func() {
					l.n[r] = n
					l.variants(ranges[i+1:], body)
				})
			}
		}
		l.b.Either(full, arm(r.Size), arm(rest))
		return
	}
	body()
}

func elem(d ir.DType) kernel.Elem { return kernel.Elem(d) }

func register(d ir.DType, lanes int) kernel.Type { return kernel.Vec(elem(d).Register(), lanes) }

// supported says what cannot be lowered yet.
func supported(b *tile.Block) error {
	for _, o := range b.Ops {
		for _, inner := range inside(o) {
			if err := supported(inner); err != nil {
				return err
			}
		}
		if len(inside(o)) == 0 && o.Kind != tile.Store && o.Kind != tile.Scatter && o.Kind != tile.Dot && o.Kind != tile.Wait && folds[o.Kind] == nil && pure[o.Kind] == nil && !elementwise.Known(o.Kind) {
			return fmt.Errorf("found %s; it has no native code", o.Kind)
		}
		for _, r := range o.Results {
			if r.Type.DType == ir.F64 {
				return fmt.Errorf("found a tile %s; f64 has no native code", r.Type)
			}
		}
	}
	return nil
}
