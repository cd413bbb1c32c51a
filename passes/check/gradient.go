package check

import (
	"fmt"
	"maps"
	"math"
	"math/rand"
	"slices"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

const (
	jointDirections = 2 // directions that move all parameters
	// defaultBudget is seconds of the evaluator on one core.
	defaultBudget = 2e9
	// minGroups is how many groups of parameters are told apart, whatever the
	// cost.
	minGroups = 8
)

// steps are tried until one agrees. The error of a central difference grows
// with the square of the step, and with the step where a kink (max, abs) lies
// within it; that of the rounding grows with its inverse.
var steps = []float64{1e-4, 1e-6, 1e-5, 1e-3}

// gradients compares grads, by parameter path, with the derivative of the loss
// of f along random directions:
//
//	(loss(p + e d) - loss(p - e d)) / 2e  against  <grad, d>
//
// along directions that move all parameters, and along directions that move
// one group of them each: single parameters while the budget in floating-point
// operations allows it. Where a group disagrees each of its parameters is tried
// alone, so that the row names one.
func gradients(m *ir.Module, f *ir.Func, in Inputs, grads map[string]*tensor.Tensor, seed, budget int64) ([]Row, error) {
	l, err := newLoss(m, f, in)
	if err != nil || l == nil {
		return nil, err
	}
	d := &direction{loss: l, in: in, grads: grads, r: rand.New(rand.NewSource(seed))}
	var all []string
	for _, p := range slices.Sorted(maps.Keys(grads)) {
		if in[Key{ir.RoleParam, p}] != nil {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	row := Row{Kind: "gradient", Tol: TolGradient, Compared: len(all)}
	try := func(paths []string) (float64, error) {
		diff, err := d.compare(paths)
		if err == nil && (diff > row.Diff || row.Worst == "") {
			row.Diff, row.Worst = diff, fmt.Sprintf("@%s grad of %s", f.Name, label(paths))
		}
		return diff, err
	}
	affordable := int(min(budget/(2*max(l.flops(), 1)), int64(len(all))))
	groups := make([][]string, min(len(all), max(minGroups, affordable)))
	for i, p := range all {
		groups[i%len(groups)] = append(groups[i%len(groups)], p)
	}
	for range jointDirections {
		if _, err := try(all); err != nil {
			return nil, err
		}
	}
	for _, g := range groups {
		diff, err := try(g)
		if err != nil {
			return nil, err
		}
		for i := 0; diff > TolGradient && len(g) > 1 && i < len(g); i++ {
			one, err := d.compare(g[i : i+1])
			if err != nil {
				return nil, err
			}
			if one > TolGradient {
				row.Diff, row.Worst = math.Max(row.Diff, one), fmt.Sprintf("@%s grad of %s", f.Name, g[i])
				break
			}
		}
	}
	row.Diff, row.OK = math.Min(row.Diff, math.MaxFloat64), row.Diff <= row.Tol
	return []Row{row}, nil
}

func label(paths []string) string {
	if len(paths) == 1 {
		return paths[0]
	}
	return fmt.Sprintf("%s and %d more", paths[0], len(paths)-1)
}

// direction compares along random directions.
type direction struct {
	loss  *loss
	in    Inputs
	grads map[string]*tensor.Tensor
	r     *rand.Rand
}

// compare is the relative difference along one random direction that moves
// the parameters given by about their own size. It is relative to what <grad,
// d> would be if its terms had random signs, which does not vanish when they
// cancel, and to a small part of the loss, below which there is only noise.
func (d *direction) compare(paths []string) (float64, error) {
	move := map[string][]float64{}
	want, square := 0.0, 0.0
	for _, p := range paths {
		x, g := d.in[Key{ir.RoleParam, p}].Data, d.grads[p].Data
		size := math.Max(rms(x), 0.01)
		v := make([]float64, len(x))
		for i := range v {
			v[i] = size * d.r.NormFloat64()
			want += g[i] * v[i]
			square += g[i] * v[i] * g[i] * v[i]
		}
		move[p] = v
	}
	scale := math.Sqrt(square) + 1e-4*math.Max(math.Abs(d.loss.base), 1e-3)
	best := math.Inf(1)
	for _, e := range steps {
		up, err := d.loss.at(move, e)
		if err != nil {
			return 0, err
		}
		down, err := d.loss.at(move, -e)
		if err != nil {
			return 0, err
		}
		if diff := math.Abs((up-down)/(2*e)-want) / scale; diff < best {
			best = diff
		}
		if best <= TolGradient {
			break
		}
	}
	return best, nil
}

// loss is a function's loss alone, as a function of the parameters. What has
// no gradient by its row (detach, floor, comparisons) keeps the value it has
// at the parameters as they are, which is what the rows' gradients mean.
type loss struct {
	m    *ir.Module
	f    *ir.Func
	args []*tensor.Tensor
	base float64
}

// newLoss is nil for a function without a loss.
func newLoss(m *ir.Module, f *ir.Func, in Inputs) (*loss, error) {
	m = only(m, f.Name, ir.RoleLoss)
	f = m.Func(f.Name)
	if len(f.Results) == 0 {
		return nil, nil
	}
	l := &loss{m: m, f: f}
	for i, a := range f.Args {
		x := in[argKey(a, i)]
		l.args = append(l.args, &tensor.Tensor{Type: a.Value.Type, Data: x.Data})
	}
	frozen := frozen(f)
	keep := f.Results
	for _, o := range frozen {
		for _, v := range o.Results {
			f.Results = append(f.Results, ir.Result{Value: v})
		}
	}
	base, err := eval.Func(m, f, l.args, eval.Options{Exact: true})
	if err != nil {
		return nil, err
	}
	l.base = base[0].Data[0]
	f.Results = keep
	l.freeze(frozen, base[1:])
	return l, nil
}

// flops is what one evaluation costs.
func (l *loss) flops() (n int64) {
	for _, o := range l.f.Ops {
		n += op.Of(o).Flops(o)
	}
	return n
}

// frozen lists the operations without a gradient that depend on a parameter
// differentiably up to there.
func frozen(f *ir.Func) []*ir.Op {
	moves := map[*ir.Value]bool{}
	for _, a := range f.Args {
		moves[a.Value] = a.Role == ir.RoleParam
	}
	var out []*ir.Op
	for _, o := range f.Ops {
		depends := false
		for _, a := range o.Args {
			depends = depends || moves[a]
		}
		switch {
		case depends && op.Of(o).Grad == nil:
			out = append(out, o)
		case depends:
			for _, v := range o.Results {
				moves[v] = true
			}
		}
	}
	return out
}

// freeze makes arguments of the results of ops.
func (l *loss) freeze(ops []*ir.Op, values []*tensor.Tensor) {
	gone := map[*ir.Op]bool{}
	repl := map[*ir.Value]*ir.Value{}
	for _, o := range ops {
		gone[o] = true
		for _, v := range o.Results {
			repl[v] = l.f.AddArg(v.Type, "frozen", ir.Int(len(l.args)).String(), nil, o.Pos)
			l.args = append(l.args, values[0])
			values = values[1:]
		}
	}
	kept := l.f.Ops[:0]
	for _, o := range l.f.Ops {
		if !gone[o] {
			kept = append(kept, o)
		}
	}
	l.f.Ops = kept
	l.f.Replace(repl)
	keepResults(l.f, ir.RoleLoss)
}

// at is the loss with e times the direction added to the parameters.
func (l *loss) at(move map[string][]float64, e float64) (float64, error) {
	args := append([]*tensor.Tensor(nil), l.args...)
	for i, a := range l.f.Args {
		v := move[a.Path]
		if a.Role != ir.RoleParam || v == nil {
			continue
		}
		x := append([]float64(nil), args[i].Data...)
		for j := range x {
			x[j] += e * v[j]
		}
		args[i] = &tensor.Tensor{Type: args[i].Type, Data: x}
	}
	res, err := eval.Func(l.m, l.f, args, eval.Options{Exact: true})
	if err != nil {
		return 0, err
	}
	return res[0].Data[0], nil
}
