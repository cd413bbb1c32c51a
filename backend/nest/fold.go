package nest

import (
	"fmt"
	"slices"

	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/internal/order"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// Part is a program of some of a kernel's results, one phase. The parts of a kernel share no
// result, so that their tasks may be those of one launch, in any order.
type Part struct {
	Program *tile.Program
	Args    []int // what its buffers are: the function's arguments, and behind these its results
}

// Fold is kernel k of class attention as programs whose tasks have s.Rows queries and s.Over keys
// at a time, and so fit into the registers of a block of threads: one whose tasks are blocks of
// queries, for the products over keys, and one whose tasks are blocks of keys for those over the
// same of the queries' axes. Each computes the scores again, none adds to what another stores.
func Fold(name string, k *fusion.Kernel, s schedule.Schedule) ([]Part, error) {
	parts, err := fold(name, k, s)
	if err != nil {
		return nil, fmt.Errorf("kernel @%s (%s, schedule %q): %w", k.F.Name, k.Class, s, err)
	}
	return parts, nil
}

func fold(name string, k *fusion.Kernel, s schedule.Schedule) ([]Part, error) {
	if k.Class != fusion.Attend {
		return nil, fmt.Errorf("found class %s; expected %s", k.Class, fusion.Attend)
	}
	if s.Left == schedule.PerPhase || s.Right == schedule.PerPhase {
		return nil, fmt.Errorf("found operands that a phase before packs; expected them to be packed by each task, or not")
	}
	if err := supported(k.F); err != nil {
		return nil, err
	}
	var out []Part
	groups := k.Attention.Groups()
	for i, outs := range groups {
		stored := resultsOf(k.Attention, outs, i == 0)
		if len(stored) == 0 {
			continue
		}
		of := name
		if len(groups) > 1 {
			of = fmt.Sprintf("%s.%d", name, i)
		}
		f := newFolding(newGen(of, k, s, stored), outs)
		if f.overKeys() {
			f.byRows()
		} else {
			f.byKeys()
		}
		p, err := f.b.Finish()
		if err != nil {
			return nil, err
		}
		args := order.Of(len(k.F.Args))
		for _, i := range stored {
			args = append(args, len(k.F.Args)+i)
		}
		out = append(out, Part{p, args})
	}
	return out, nil
}

// resultsOf are the results that are made of the products outs, and where rest holds those that are
// made of none.
func resultsOf(a *fusion.Attention, outs []*fusion.Out, rest bool) []int {
	var out []int
	for i, o := range a.Made {
		if o == nil && rest || slices.Contains(outs, o) {
			out = append(out, i)
		}
	}
	return out
}

// folding generates a part.
type folding struct {
	*gen
	*fusion.AttentionLoops
	a       *fusion.Attention
	all     []fusion.Loop
	copying map[*tile.Value]bool // copies of the present block that nothing has waited for
}

func newFolding(g *gen, outs []*fusion.Out) *folding {
	l := g.k.AttentionLoops(outs)
	f := &folding{gen: g, AttentionLoops: l, a: g.k.Attention, all: l.All(), copying: map[*tile.Value]bool{}}
	g.mem.declare(f.all)
	f.invert()
	return f
}

func (f *folding) overKeys() bool { return f.Outs[0].Over == fusion.OverKeys }

// invert has multiplications in the place of divisions by what is the same for a row, or for all:
// by sums of exponentials, which are not far from 1, and by constants.
func (f *folding) invert() {
	for _, o := range f.a.Body {
		if _, is := fusion.Inverse(o); is || o == f.a.Norm && o.Result().Type.DType == ir.F32 {
			f.instead[o.Result()] = func() known {
				return f.apply(op.Mul, f.find(o.Args[0]), f.apply(op.Div, f.constant(ir.F32, 1), f.find(o.Args[1])))
			}
		}
	}
}

// as is v of dtype d.
func (g *gen) as(v *tile.Value, d ir.DType) *tile.Value {
	if v.Type.DType == d {
		return v
	}
	return g.b.Cast(v, d)
}
