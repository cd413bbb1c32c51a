package scale

import (
	"ptc/ir"
	"ptc/ir/op"
)

// SkippedPath is the state that counts skipped steps.
const SkippedPath = "loss_scale/skipped"

// updates gives the operations behind the gradient, rest, the number of the update in
// the place of the number of the step: a step that is skipped is no update. Adam's
// moments start at zero and are corrected by the number of updates they have seen
// (Kingma, Ba, "Adam" (2015), algorithm 1), and a schedule of the rate advances with
// updates, as with GradScaler under Hugging Face's Trainer, DeepSpeed and Megatron.
//
//	update = step − skipped
//
// What the loss computes of the step, such as the weight of a term, and random numbers,
// keep the step. Where nothing in rest reads the step, there is nothing to count.
func (s *scaling) updates(before, rest []*ir.Op) {
	step := s.step()
	if step == nil {
		return
	}
	c := &counter{s: s, step: step, loose: map[*ir.Value]bool{step: true}, of: map[*ir.Value]*ir.Value{}}
	c.see(before)
	for _, o := range rest {
		if op.Of(o).Class == op.Source {
			continue
		}
		for i, v := range o.Args {
			o.Args[i] = c.counted(v)
		}
	}
	for i, r := range s.f.Results {
		if r.Role == ir.RoleStat && r.Path == "lr" || r.Role == ir.RoleParam || r.Role == ir.RoleState {
			s.f.Results[i].Value = c.counted(r.Value)
		}
	}
}

// step is the number of the step; nil where the function does not have it.
func (s *scaling) step() *ir.Value {
	for _, a := range s.f.Args {
		if a.Role == ir.RoleStep {
			return a.Value
		}
	}
	return nil
}

// counter finds what depends on the step and on constants and settings alone, and
// computes it of the number of the update.
type counter struct {
	s     *scaling
	step  *ir.Value
	loose map[*ir.Value]bool      // depends on nothing else; true where it depends on the step
	of    map[*ir.Value]*ir.Value // the same of the number of the update
}

func (c *counter) see(ops []*ir.Op) {
	for _, a := range c.s.f.Args {
		if a.Role == ir.RoleSetting {
			c.loose[a.Value] = false
		}
	}
	for _, o := range ops {
		if o.Run != nil || op.Of(o).Class == op.Source && len(o.Args) > 0 || op.Of(o).Class == op.Boundary || o.Name == op.Grad {
			continue
		}
		all, some := true, false
		for _, v := range o.Args {
			reads, loose := c.loose[v]
			all, some = all && loose, some || reads
		}
		for _, r := range o.Results {
			if all {
				c.loose[r] = some
			}
		}
	}
}

// counted is v, of the number of the update where it is of that of the step.
func (c *counter) counted(v *ir.Value) *ir.Value {
	if !c.loose[v] {
		return v
	}
	if w := c.of[v]; w != nil {
		return w
	}
	if v == c.step {
		c.of[v] = c.s.b.Sub(v, c.s.skips())
		return c.of[v]
	}
	o := v.Def
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		args[i] = c.counted(a)
	}
	n := c.s.f.NewOp(o.Name, args, o.Attrs, ir.CloneTypes(o.Results)...)
	n.Scope, n.Pos = o.Scope, o.Pos
	c.s.out = append(c.s.out, n)
	for i, r := range o.Results {
		c.of[r] = n.Results[i]
	}
	return c.of[v]
}

// skips is how many steps have been skipped so far.
func (s *scaling) skips() *ir.Value {
	if s.skipped == nil {
		s.skipped = s.f.AddArg(ir.Scalar(ir.I32), ir.RoleState, SkippedPath, ir.A("init", ir.Term{Head: "zeros"}), s.b.Pos)
	}
	return s.skipped
}
