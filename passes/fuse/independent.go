package fuse

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// splitRuns gives calls that do not need what goes from instance to instance runs of their
// own, before the one that they were in: where instances do not wait for each other, all
// of them are one launch (pass order). A call must write little, since what the rest of
// the run reads of it is then kept for all instances. Runs in which anything is exchanged
// stay whole.
func splitRuns(c *pass.Context, f *ir.Func, shared *kernels) {
	if len(f.Stacks) == 0 {
		return
	}
	j := newJoining(c, f, shared)
	var out []*ir.Op
	f.Runs(func(run *ir.Run, ops []*ir.Op) {
		free, rest := j.independent(run, ops)
		if len(free) > 0 && !c.May("runs of their own", free[0]) {
			free, rest = nil, ops
		}
		for n, o := range free {
			if n > 0 || len(rest) > 0 {
				o.Run = &ir.Run{Stack: run.Stack, Down: run.Down}
			}
		}
		out = append(append(out, free...), rest...)
	})
	f.Ops = out
}

// independent are the calls of a run that need neither what enters it nor other work that
// does, and the operations that are left, in their order.
func (j *joining) independent(run *ir.Run, ops []*ir.Op) (free, rest []*ir.Op) {
	stays := map[*ir.Op]bool{}
	for _, o := range ops {
		switch {
		case run == nil:
			return nil, ops
		case o.Name == op.Enter:
			stays[o] = true
		case o.Name == op.Leave:
			stays[o] = true
			if d := o.Args[1].Def; d != nil { // it is where what enters is
				stays[d] = true
			}
		case o.Callee == nil || o.Ahead != 0:
			return nil, ops
		}
	}
	for _, o := range ops {
		if stays[o] = stays[o] || j.bound(o, ops) || slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return v.Def != nil && stays[v.Def] }); stays[o] {
			rest = append(rest, o)
		} else {
			free = append(free, o)
		}
	}
	return free, rest
}

// bound reports whether a call of a run has its place there: it writes much, or over an
// argument that others of the run read.
func (j *joining) bound(c *ir.Op, ops []*ir.Op) bool {
	return j.special(c) || !j.writesLittle(c) || slices.ContainsFunc(ops, func(o *ir.Op) bool {
		return o != c && slices.ContainsFunc(o.Args, func(v *ir.Value) bool {
			n := slices.Index(c.Args, v)
			return n >= 0 && v.Def == nil && j.overwrites(c, n)
		})
	})
}
