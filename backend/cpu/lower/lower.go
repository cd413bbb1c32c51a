package lower

import (
	"fmt"
	"slices"

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

// lowering is the state of lowering one phase.
type lowering struct {
	p     *tile.Program
	b     *kernel.Builder
	wide  int64 // lanes of a vector of f32; all other types follow
	bufs  map[*tile.Buffer]*kernel.Buffer
	units map[*tile.Range]int // how many accesses are contiguous along a range
	err   error

	first  map[*tile.Range]kernel.Index // first position of the present block
	n      map[*tile.Range]int64        // its existing positions
	at     map[*tile.Range]coord        // where a sweep is
	part   map[*tile.Range]int64        // which vector, or which position, of an unrolled block
	unroll int                          // vectors that a sweep takes at a time; 0 is for the compiler to choose
	lanes  int                          // of the vector range at present; 1 outside of a sweep
	mask   *kernel.Value                // lanes that exist, or nil for all
	sure   map[int]kernel.Index         // positions looked up that are in range, by axis

	scopes  []map[*tile.Value]*kernel.Value
	regs    map[*tile.Value]*registers
	kept    map[*tile.Value]*scratch
	spare   map[*tile.Value]*scratch             // where the next value of what is carried in scratch is computed
	instead map[*tile.Value]func() *kernel.Value // how values are computed otherwise than they are defined
	loaded  map[*tile.Value]int                  // when a load was reached
	stored  map[*tile.Buffer]int                 // when a store to memory that may be the buffer's was
	time    int
}

// coord is a position along a range: lane l is at idx, plus l on the vector range.
type coord struct {
	idx kernel.Index
	vec bool
}

func newLowering(p *tile.Program, m kernel.Machine) *lowering {
	return &lowering{
		p: p, wide: int64(m.Lanes(kernel.F32)), lanes: 1,
		bufs: map[*tile.Buffer]*kernel.Buffer{}, units: map[*tile.Range]int{},
		first: map[*tile.Range]kernel.Index{}, n: map[*tile.Range]int64{}, at: map[*tile.Range]coord{}, part: map[*tile.Range]int64{},
		scopes: []map[*tile.Value]*kernel.Value{{}}, regs: map[*tile.Value]*registers{}, kept: map[*tile.Value]*scratch{}, spare: map[*tile.Value]*scratch{},
		instead: map[*tile.Value]func() *kernel.Value{}, loaded: map[*tile.Value]int{}, stored: map[*tile.Buffer]int{},
	}
}

func phase(name string, p *tile.Program, ph *tile.Phase, m kernel.Machine) (*kernel.Kernel, error) {
	if err := supported(ph.Body); err != nil {
		return nil, err
	}
	tasks := int64(1)
	for _, r := range ph.Grid {
		tasks *= r.Blocks()
	}
	l := newLowering(p, m)
	l.begin(name, tasks)
	l.unroll = unroll(ph.Body)
	l.countUnits(ph.Body)
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

// begin starts the kernel, with a buffer for each of the program's.
func (l *lowering) begin(name string, tasks int64) *kernel.Builder {
	l.b = kernel.New(name, tasks)
	over := map[*tile.Buffer]bool{}
	for _, b := range l.p.Buffers {
		for _, a := range b.Over {
			over[a], over[b] = true, true
		}
	}
	for _, b := range l.p.Buffers {
		use := kernel.ReadWrite
		if b.Use == tile.Read {
			use = kernel.Read
		}
		if over[b] {
			l.bufs[b] = l.b.ArgAliased(b.Name, elem(b.DType), b.Len, use)
		} else {
			l.bufs[b] = l.b.Arg(b.Name, elem(b.DType), b.Len, use)
		}
	}
	return l.b
}

// put puts the computation at positions of ranges, of those that are given.
func (l *lowering) put(ranges []*tile.Range, at []kernel.Index) {
	for i, r := range ranges[:min(len(ranges), len(at))] {
		l.at[r] = coord{idx: at[i]}
	}
}

// countUnits counts the accesses that are contiguous along each range.
func (l *lowering) countUnits(b *tile.Block) {
	for _, o := range b.Ops {
		if o.View != nil {
			for _, r := range o.Span() {
				if stride(o, r) == 1 {
					l.units[r]++
				}
			}
		}
		for _, inner := range inside(o) {
			l.countUnits(inner)
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
func (l *lowering) vector(ranges []*tile.Range) *tile.Range {
	var best *tile.Range
	for _, r := range ranges {
		if best == nil || l.units[r] >= l.units[best] {
			best = r
		}
	}
	return best
}

// number puts each range of the grid at the block that the task's number says.
func (l *lowering) number(grid []*tile.Range) {
	many := slices.DeleteFunc(slices.Clone(grid), func(r *tile.Range) bool { return r.Blocks() == 1 })
	for _, r := range grid {
		l.enter(r, kernel.Int(0))
	}
	if len(many) == 0 {
		return
	}
	t := l.b.Value(l.b.Task())
	for i, r := range slices.Backward(many) {
		block := t
		if i > 0 {
			n := l.b.ConstInt(t.Type, r.Blocks())
			block, t = l.b.Rem(t, n), l.b.Div(t, n)
		}
		l.enter(r, kernel.Of(block))
	}
}

// enter puts r at the block that is visited at turn n.
func (l *lowering) enter(r *tile.Range, n kernel.Index) {
	if r.Reversed {
		n = kernel.Int(r.Blocks() - 1).Sub(n)
	}
	l.first[r], l.n[r] = n.Mul(r.Size), min(r.Size, r.Extent)
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
		arm := func(n int64) func() []*kernel.Value {
			return func() []*kernel.Value {
				l.apart(func() {
					l.n[r] = n
					l.variants(ranges[i+1:], body)
				})
				return nil
			}
		}
		l.b.If(full, arm(r.Size), arm(rest))
		return
	}
	body()
}

// within runs body in a scope of its own: values computed there are forgotten after it.
func (l *lowering) within(body func()) {
	l.scopes = append(l.scopes, map[*tile.Value]*kernel.Value{})
	body()
	l.scopes = l.scopes[:len(l.scopes)-1]
}

func (l *lowering) know(v *tile.Value, x *kernel.Value) { l.scopes[len(l.scopes)-1][v] = x }

func (l *lowering) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
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
