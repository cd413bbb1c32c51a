package passtest

import (
	"fmt"
	"math/rand"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// RandomRuns is a module of one function of level Local, a training step in its form:
// blocks of which one or two values go from instance to instance up, and back down,
// reading what they have kept; gradients, a norm over them, and new parameters.
func RandomRuns(r *rand.Rand, count int) *ir.Module { return randomRuns(r, count, false) }

// RandomOwnRuns is the same where instances read, but for what enters them, what they have of
// their own alone: so a run waits for what is outside by way of earlier runs. What is made
// between runs reads what is outside of any time.
func RandomOwnRuns(r *rand.Rand, count int) *ir.Module { return randomRuns(r, count, true) }

func randomRuns(r *rand.Rand, count int, alone bool) *ir.Module {
	f := &ir.Func{Name: "f", Class: ir.Entry}
	s := &ir.Stack{Name: "blocks", Count: count}
	f.Stacks = []*ir.Stack{s}
	g := &runs{generator{r: r, b: op.Builder{F: f}}, s, nil, alone}
	for i := range 2 {
		g.outside = append(g.outside, f.AddArg(g.someType(ir.F32), ir.RoleData, string(rune('p'+i)), nil, diag.Pos{}))
	}
	big := ir.Type{DType: ir.F32, Axes: append([]ir.Axis(nil), axes[:3]...)}
	g.outside = append(g.outside, f.AddArg(big.Clone(), ir.RoleData, "x", nil, diag.Pos{}), f.AddArg(big.Clone(), ir.RoleParam, "wte", nil, diag.Pos{}))
	g.pool = g.outside
	for _, v := range g.outside {
		if alone { // before the first run
			g.pool = append(g.pool, g.b.Emit(op.Tanh, nil, v))
		}
	}
	g.outside = g.pool
	var params, own []*ir.Value
	for i := range 1 + r.Intn(3) {
		t := g.someType(ir.F32)
		if i == 0 {
			t = big.Clone()
		}
		v := f.AddArg(t, ir.RoleParam, fmt.Sprintf("blocks.{i}.w%d", i), nil, diag.Pos{})
		v.Each = s
		params = append(params, v)
	}
	own = append(own, params...)
	for n := range 2 + r.Intn(2) { // forward, backward, perhaps more
		carried := []*ir.Value{}
		for range r.Intn(3) {
			if alone {
				carried = append(carried, g.outside[r.Intn(len(g.outside))])
			} else {
				carried = append(carried, g.mixed(g.outside))
			}
		}
		if n > 0 && alone { // as the gradient of a sum
			carried = append(carried[:len(carried)/2], g.outside[r.Intn(4)])
		}
		g.b.Slot.Run = &ir.Run{Stack: s, Down: n%2 == 1}
		carried, own = g.run(carried, own, 4+r.Intn(10))
		g.b.Slot.Run = nil
		g.outside = append(g.outside, carried...)
		g.pool = g.outside
		for range r.Intn(3) {
			g.mixed(g.outside)
		}
		for _, v := range carried { // what is of any time, with what leaves
			if w := g.outside[r.Intn(len(g.outside))]; alone && w.Type.Equal(v.Type) {
				g.pool = append(g.pool, g.b.Mul(w, v))
			}
		}
		g.outside = g.pool
	}
	g.results(params, own)
	return &ir.Module{Name: "runs", Level: ir.Local, Funcs: []*ir.Func{f}}
}

type runs struct {
	generator
	stack   *ir.Stack
	outside []*ir.Value // what is there once
	alone   bool        // instances read of that only what enters them
}

// run emits one: what entered, and everything that its instances have.
func (g *runs) run(carried, own []*ir.Value, n int) (left, after []*ir.Value) {
	var entered []*ir.Value
	for _, v := range carried {
		entered = append(entered, g.b.Emit(op.Enter, nil, v))
	}
	known := len(own)
	g.pool = append(append(append([]*ir.Value{}, g.outside...), own...), entered...)
	own = append(append([]*ir.Value{}, own...), entered...)
	if g.alone {
		g.pool = own
	}
	from := len(g.b.F.Ops)
	for len(g.b.F.Ops) < from+n {
		was := len(g.pool)
		g.grow()
		own = append(own, g.pool[was:]...)
	}
	var last []*ir.Value
	for i, v := range entered {
		y := v
		if g.r.Intn(8) > 0 {
			y = g.same(v, own[g.r.Intn(len(own))])
			own = append(own, y)
		} else if i > 0 && y.Type.Equal(entered[0].Type) && g.r.Intn(2) == 0 {
			y = entered[0] // from another one
		}
		last = append(last, y)
	}
	for i, y := range last {
		left = append(left, g.b.Emit(op.Leave, nil, entered[i], y))
	}
	var out []*ir.Value
	for i, v := range own { // not everything is read later
		if i < known || g.r.Intn(2) == 0 {
			out = append(out, v)
		}
	}
	return left, out
}

// mixed is made of some of the values.
func (g *runs) mixed(of []*ir.Value) *ir.Value {
	v := of[g.r.Intn(len(of))]
	if w := g.same(v, of[g.r.Intn(len(of))]); g.r.Intn(4) > 0 {
		return w
	}
	return v
}

// same is of the type of v, which it is made of, and of w.
func (g *runs) same(v, w *ir.Value) *ir.Value {
	if !w.Type.Equal(v.Type) {
		w = g.b.Sum(w, w.Type.Names()...)
	}
	x := g.b.Emit(op.Tanh, nil, g.b.Add(v, w))
	return g.b.Emit(op.Transpose, ir.A("order", ir.Names(v.Type.Names())), x)
}

// results are a loss, gradients, new parameters.
func (g *runs) results(params, own []*ir.Value) {
	f := g.b.F
	sum := g.b.Const(ir.F32, 0)
	for _, v := range g.outside {
		sum = g.b.Add(sum, g.b.Sum(g.b.Emit(op.Tanh, nil, v), v.Type.Names()...))
	}
	g.b.Slot.Run = &ir.Run{Stack: g.stack}
	entered := g.b.Emit(op.Enter, nil, sum)
	norm := entered
	for _, v := range own {
		if v.Def != nil && v.Def.Name != op.Enter && g.r.Intn(2) == 0 {
			norm = g.b.Add(norm, g.b.Sum(g.b.Emit(op.Tanh, nil, v), v.Type.Names()...))
			if g.r.Intn(2) == 0 {
				f.Results = append(f.Results, ir.Result{Value: v, Role: ir.RoleGrad, Path: fmt.Sprintf("blocks.{i}.g%d", v.ID)})
			}
		}
	}
	sum = g.b.Emit(op.Leave, nil, entered, norm)
	g.b.Slot.Run = &ir.Run{Stack: g.stack, Down: g.r.Intn(2) == 0}
	for i, p := range params {
		var v *ir.Value
		if v = g.same(p, own[g.r.Intn(len(own))]); g.r.Intn(5) == 0 {
			v = g.same(p, params[g.r.Intn(len(params))])
		}
		f.Results = append(f.Results, ir.Result{Value: v, Role: ir.RoleParam, Path: fmt.Sprintf("blocks.{i}.w%d", i)})
	}
	g.b.Slot.Run = nil
	f.Results = append([]ir.Result{{Value: g.b.Emit(op.Tanh, nil, sum), Role: ir.RoleLoss}}, f.Results...)
}

// RandomAhead has operations of runs be some iterations ahead or behind, where they may.
func RandomAhead(r *rand.Rand, f *ir.Func, most int) {
	inside := func(v *ir.Value, run *ir.Run) bool { return v.Def != nil && v.Def.Run == run }
	f.Runs(func(run *ir.Run, ops []*ir.Op) {
		if run == nil {
			return
		}
		leaves := map[*ir.Value]bool{}
		for i := len(ops) - 1; i >= 0; i-- {
			o := ops[i]
			needed := o.Name == op.Leave
			for _, v := range o.Results {
				needed = needed || leaves[v]
			}
			for _, v := range o.Args {
				leaves[v] = leaves[v] || needed
			}
		}
		for _, o := range ops {
			if o.Name == op.Enter || o.Name == op.Leave {
				continue
			}
			lo, hi := -most, most
			for _, v := range o.Results {
				if leaves[v] {
					lo = 0
				}
			}
			for _, v := range o.Args {
				if inside(v, run) {
					hi = min(hi, v.Def.Ahead)
				}
			}
			if r.Intn(3) > 0 {
				lo, hi = min(max(lo, 0), hi), max(lo, min(hi, 0))
			}
			o.Ahead = lo + r.Intn(hi-lo+1)
		}
	})
}
