package eval

import (
	"errors"
	"fmt"
	"math"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// MaxDifferences bounds the elements that the gradient by differences takes:
// each costs two executions of what the loss depends on.
const MaxDifferences = 4096

// differences evaluates a grad op by central differences, in float64: for
// each element x of each operand, (loss(x+h) - loss(x-h)) / 2h with
// h = 1e-5 max(1, |x|). Operations without a gradient (comparisons, detach,
// floor) keep the value they have, which makes the result the derivative that
// the rows define, and steady at their jumps.
func (d *device) differences(f *ir.Func, o *ir.Op, env values) ([]*tensor.Tensor, error) {
	loss, params := o.Args[0], o.Args[1:]
	n := 0
	for _, p := range params {
		n += p.Type.Elems()
	}
	if n > MaxDifferences {
		return nil, fmt.Errorf("the gradient of %d elements is too large to take by differences (at most %d); run autodiff first", n, MaxDifferences)
	}
	out := make([]*tensor.Tensor, len(params))
	for i, p := range params {
		ops, err := between(f, o, p, loss)
		if err != nil {
			return nil, err
		}
		out[i] = tensor.New(o.Results[i].Type)
		for k, x := range env[p].Data {
			h := 1e-5 * math.Max(1, math.Abs(x))
			up, err := d.nudged(ops, p, k, x+h, loss, env)
			if err != nil {
				return nil, err
			}
			down, err := d.nudged(ops, p, k, x-h, loss, env)
			if err != nil {
				return nil, err
			}
			out[i].Data[k] = (up - down) / ((x + h) - (x - h))
		}
	}
	return out, nil
}

// between lists the operations before o that depend differentiably on p, up
// to the one that defines loss.
func between(f *ir.Func, o *ir.Op, p, loss *ir.Value) ([]*ir.Op, error) {
	moves := map[*ir.Value]bool{p: true}
	var ops []*ir.Op
	for _, q := range f.Ops {
		if q == o {
			break
		}
		depends := false
		for _, a := range q.Args {
			depends = depends || moves[a]
		}
		row := op.Lookup(q.Name)
		if !depends || row == nil || row.Grad == nil && row.Class != op.Control && q.Name != op.Grad {
			continue
		}
		if q.Name == op.Grad {
			return nil, errors.New("a gradient of a gradient is not taken by differences; run autodiff first")
		}
		defines := false
		for _, r := range q.Results {
			defines = defines || r == p
		}
		if defines {
			continue
		}
		ops = append(ops, q)
		for _, r := range q.Results {
			moves[r] = true
		}
		if q == loss.Def {
			break
		}
	}
	return ops, nil
}

// nudged is the loss when element k of p is x.
func (d *device) nudged(ops []*ir.Op, p *ir.Value, k int, x float64, loss *ir.Value, env values) (float64, error) {
	local := make(values, len(ops)+1)
	moved := env[p].Clone()
	moved.Data[k] = x
	local[p] = moved
	exact := *d
	exact.opts = Options{Exact: true}
	exact.plans = d.plans
	ctx := d.ctx
	ctx.Call = exact.call
	for _, q := range ops {
		for _, a := range q.Args {
			if local[a] == nil {
				local[a] = env[a]
			}
		}
		res, err := exact.step(&ctx, q, local, false)
		if err != nil {
			return 0, err
		}
		for i, r := range q.Results {
			local[r] = res[i]
		}
	}
	if v := local[loss]; v != nil {
		return v.Data[0], nil
	}
	return env[loss].Data[0], nil
}
