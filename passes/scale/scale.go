package scale

import (
	"math"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// The rule of the dynamic scale; see the documentation of the package.
const (
	Initial  = 1 << 16
	Growth   = 2.0
	Backoff  = 0.5
	Interval = 2000 // steps
)

// Paths of the dynamic scale's states, and of the statistic.
const (
	ScalePath = "loss_scale/scale"
	GoodPath  = "loss_scale/good"
	StatPath  = "loss_scale"
)

// Run scales the loss of every function of m that differentiates one.
func Run(c *pass.Context, m *ir.Module) error {
	rule, err := layout.PrecisionOf(m)
	if err != nil || !rule.Scale.On() {
		return err
	}
	for _, f := range m.Funcs {
		for i, o := range f.Ops {
			if o.Name == op.Grad {
				s := &scaling{f: f, rule: rule.Scale, made: map[*ir.Op]bool{}}
				s.run(i)
				c.Remarkf(o, "@%s: the loss is scaled (%s); a step is skipped if a gradient is not finite", f.Name, rule.Scale)
				break
			}
		}
	}
	return nil
}

// scaling rewrites one function.
type scaling struct {
	f     *ir.Func
	rule  layout.Scale
	out   []*ir.Op
	b     op.Builder
	scale *ir.Value // f32 scalar
	good  *ir.Value // i32 scalar; nil where the scale is static
	// skipped is an i32 scalar; nil where nothing reads how many steps were.
	skipped *ir.Value
	made    map[*ir.Op]bool
}

// run rewrites the function, whose operation at is the gradient.
func (s *scaling) run(at int) {
	grad := s.f.Ops[at]
	rest := s.f.Ops[at+1:]
	s.out = append([]*ir.Op(nil), s.f.Ops[:at]...)
	s.b = op.Builder{F: s.f, Sink: &s.out, Scope: "loss_scale", Pos: grad.Pos}
	s.state()
	loss := grad.Args[0]
	grad.Args[0] = s.b.Mul(loss, s.b.Cast(s.scale, loss.Type.DType))
	// Before the gradients, so that each can be divided where it is made.
	inverse := s.b.Div(s.b.Const(ir.F32, 1), s.scale)
	s.out = append(s.out, grad)

	exact, bad := s.unscale(grad, inverse)
	// Before the optimizer, so that what it computes can be selected where it does.
	finite := s.b.Emit(op.Eq, nil, bad, s.b.Like(bad, 0))
	s.updates(s.f.Ops[:at], rest)
	for _, o := range s.out {
		s.made[o] = true
	}
	s.out = append(s.out, rest...)
	s.f.Ops = s.out
	s.replace(exact)

	s.b = op.Builder{F: s.f, Scope: "loss_scale", Pos: grad.Pos}
	s.guard(finite)
	s.update(finite)
}

// state makes the scale a value.
func (s *scaling) state() {
	if !s.rule.Dynamic {
		s.scale = s.b.Const(ir.F32, s.rule.Static)
		return
	}
	start := func(kind string, kv ...any) ir.Attrs { return ir.A("init", ir.Term{Head: kind, Args: ir.A(kv...)}) }
	s.scale = s.f.AddArg(ir.Scalar(ir.F32), ir.RoleState, ScalePath, start("constant", "value", ir.Float(Initial)), s.b.Pos)
	s.good = s.f.AddArg(ir.Scalar(ir.I32), ir.RoleState, GoodPath, start("zeros"), s.b.Pos)
}

// unscale divides the gradients by the scale in f32, by multiplying with its
// inverse. It returns them by result of grad, and how many of all their elements
// are not finite.
func (s *scaling) unscale(grad *ir.Op, inverse *ir.Value) (exact map[*ir.Value]*ir.Value, bad *ir.Value) {
	infinity := s.b.Const(ir.F32, math.Inf(1))
	zero, one := s.b.Const(ir.F32, 0), s.b.Const(ir.F32, 1)
	exact = map[*ir.Value]*ir.Value{}
	chain := op.Chain{B: &s.b}
	for _, g := range grad.Results {
		if bad == nil && g.In() != nil {
			bad = zero
		}
		bad = chain.Each(g.In(), bad)
		x := s.b.Mul(s.b.Cast(g, ir.F32), inverse)
		exact[g] = x
		// |x| < ∞ does not hold for NaN either.
		in := s.b.Emit(op.Lt, nil, s.b.Emit(op.Abs, nil, x), infinity)
		n := s.b.Sum(s.b.Select(in, zero, one), x.Type.Names()...)
		if bad != nil {
			n = s.b.Add(bad, n)
		}
		bad = n
	}
	return exact, chain.Each(nil, bad)
}

// replace has everything behind read the gradients without the scale: as f32
// where it casts to that, else as the dtype that they had, cast once before the first
// reader.
func (s *scaling) replace(exact map[*ir.Value]*ir.Value) {
	widens := func(o *ir.Op) bool {
		return o.Name == op.Cast && exact[o.Args[0]] != nil && o.Result().Type.DType == ir.F32
	}
	read := map[*ir.Value]bool{}
	made, rest := []*ir.Op{}, []*ir.Op{}
	for _, o := range s.f.Ops {
		if s.made[o] {
			made = append(made, o)
			continue
		}
		for _, v := range o.Args {
			read[v] = read[v] || !widens(o)
		}
		rest = append(rest, o)
	}
	for _, r := range s.f.Results {
		read[r.Value] = true
	}
	narrow, casts := map[*ir.Value]*ir.Value{}, map[*ir.Value]*ir.Value{}
	b := op.Builder{F: s.f, Scope: "loss_scale", Pos: s.b.Pos, Sink: &made}
	for _, o := range made {
		if o.Name != op.Grad {
			continue
		}
		for _, g := range o.Results {
			if exact[g] != nil && read[g] {
				b.Each(g.In())
				narrow[g] = b.Cast(exact[g], g.Type.DType)
			}
		}
	}
	s.f.Ops = made
	for _, o := range rest {
		if widens(o) {
			casts[o.Result()] = exact[o.Args[0]]
			continue
		}
		for i, a := range o.Args {
			if narrow[a] != nil {
				o.Args[i] = narrow[a]
			}
		}
		s.f.Ops = append(s.f.Ops, o)
	}
	for i, r := range s.f.Results {
		if narrow[r.Value] != nil {
			s.f.Results[i].Value = narrow[r.Value]
		}
	}
	s.f.Replace(casts)
}

// guard keeps parameters and states as they are where a gradient is not finite.
func (s *scaling) guard(finite *ir.Value) {
	args := s.f.Named()
	for i := range s.f.Results {
		r := &s.f.Results[i]
		old := args.Arg(r.Role, r.Path)
		if old == nil || r.Role != ir.RoleParam && r.Role != ir.RoleState || old.Value == r.Value {
			continue
		}
		s.b.Scope, s.b.Pos = "loss_scale", diag.Pos{}
		if d := r.Value.Def; d != nil {
			s.b.Scope, s.b.Pos = d.Scope, d.Pos
		}
		s.b.Each(r.Value.In())
		r.Value = s.b.Select(finite, r.Value, old.Value)
	}
	s.b.Each(nil)
}

// update adds the next scale and count, and reports the scale that the next step
// will use.
func (s *scaling) update(finite *ir.Value) {
	b := &s.b
	b.Scope, b.Pos = "loss_scale", diag.Pos{}
	if s.skipped != nil {
		n := b.Select(finite, s.skipped, b.Add(s.skipped, b.Const(ir.I32, 1)))
		defer func() {
			s.f.Results = append(s.f.Results, ir.Result{Value: n, Role: ir.RoleState, Path: SkippedPath})
		}()
	}
	if !s.rule.Dynamic {
		s.f.Results = append(s.f.Results, ir.Result{Value: s.scale, Role: ir.RoleStat, Path: StatPath})
		return
	}
	count := b.Add(s.good, b.Const(ir.I32, 1))
	full := b.Emit(op.Ge, nil, count, b.Const(ir.I32, Interval))
	doubled := b.Scale(s.scale, Growth)
	grow := b.Emit(op.And, nil, full, b.Emit(op.Lt, nil, doubled, b.Like(doubled, math.Inf(1))))
	scale := b.Select(finite, b.Select(grow, doubled, s.scale), b.Scale(s.scale, Backoff))
	none := b.Const(ir.I32, 0)
	good := b.Select(finite, b.Select(full, none, count), none)
	s.f.Results = append(s.f.Results,
		ir.Result{Value: scale, Role: ir.RoleStat, Path: StatPath},
		ir.Result{Value: scale, Role: ir.RoleState, Path: ScalePath},
		ir.Result{Value: good, Role: ir.RoleState, Path: GoodPath})
}
