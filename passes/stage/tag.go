package stage

import (
	"maps"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// run finds the stage and half of every operation.
func (t *tagger) run() error {
	if err := t.places(); err != nil {
		return err
	}
	t.loss = len(t.f.Ops)
	for _, a := range t.f.Args {
		t.arg[a.Value] = a
	}
	grads := map[*ir.Value]bool{}
	for _, r := range t.f.Results {
		switch {
		case t.f.Name != "step": // all of it is forward
		case r.Role == ir.RoleLoss && r.Value.Def != nil:
			for i, o := range t.f.Ops {
				if o == r.Value.Def {
					t.loss = i
				}
			}
		case r.Role == ir.RoleGrad:
			grads[r.Value] = true
		}
	}
	t.findLoose()
	t.forward()
	t.homes()
	t.backward(grads)
	if err := t.together(grads); err != nil {
		return err
	}
	args := t.f.Named()
	for _, r := range t.f.Results {
		if a := args.Arg(r.Role, r.Path); a != nil && r.Value.Def != nil {
			t.stage[r.Value.Def] = t.home[a.Value]
		}
	}
	return nil
}

// findLoose finds what reads nothing but constants, positions and the numbers of the
// step: it is computed wherever it is needed. In a run it stays with the instances, but
// ties none of its readers to a stage or a phase.
func (t *tagger) findLoose() {
	for _, o := range t.f.Ops {
		class := op.Of(o).Class
		loose := class != op.Boundary && (class != op.Source || len(o.Args) == 0) // random numbers belong where they are used
		for _, v := range o.Args {
			if v.Def != nil {
				loose = loose && t.loose[v.Def]
				continue
			}
			a := t.arg[v]
			loose = loose && a != nil && (a.Role == ir.RoleStep || a.Role == ir.RoleSeed || a.Role == ir.RoleSetting)
		}
		t.loose[o] = loose
	}
}

// everywhere reports whether every stage that reads o's result computes it itself.
func (t *tagger) everywhere(o *ir.Op) bool { return o.Run == nil && t.loose[o] }

// forward tags the operations up to the loss.
func (t *tagger) forward() {
	var pending []*ir.Op // read parameters and data alone: they follow their readers
	for i, o := range t.f.Ops {
		if i > t.loss {
			break
		}
		t.phase[o] = ir.Forward
		if o.Run != nil {
			t.stage[o] = t.stacks[o.Run.Stack]
			continue
		}
		if t.everywhere(o) {
			t.stage[o] = anywhere
			continue
		}
		if k, ok := t.block(o); ok {
			t.stage[o] = t.of[k]
			continue
		}
		s, ok := t.latest(o)
		if !ok {
			pending = append(pending, o)
			continue
		}
		t.stage[o] = s
	}
	users := map[*ir.Value][]*ir.Op{}
	for _, o := range t.f.Ops {
		for _, v := range o.Args {
			users[v] = append(users[v], o)
		}
	}
	for i := len(pending) - 1; i >= 0; i-- {
		o := pending[i]
		first := t.last
		for _, r := range o.Results {
			for _, u := range users[r] {
				if s, ok := t.stage[u]; ok && s >= 0 {
					first = min(first, s)
				}
			}
		}
		t.stage[o] = first
	}
}

// latest is the last stage that one of o's operands is on.
func (t *tagger) latest(o *ir.Op) (int, bool) {
	s, ok := 0, false
	for _, v := range o.Args {
		if v.Def == nil {
			continue
		}
		if x, known := t.stage[v.Def]; known && x >= 0 {
			s, ok = max(s, x), true
		}
	}
	return s, ok
}

// homes puts each argument on the first stage that reads it before the loss, and a
// parameter of a block that nothing reads on the stage of the block.
func (t *tagger) homes() {
	for _, a := range t.f.Args {
		t.home[a.Value] = -1
	}
	for i, o := range t.f.Ops {
		if i > t.loss {
			break
		}
		for _, v := range o.Args {
			if h, isArg := t.home[v]; isArg && t.stage[o] >= 0 && (h < 0 || t.stage[o] < h) {
				t.home[v] = t.stage[o]
			}
		}
	}
	args := t.f.Named()
	for _, a := range t.f.Args {
		if a.Role == ir.RoleParam && t.home[a.Value] < 0 {
			t.home[a.Value] = t.ofBlock(a)
		}
	}
	for _, a := range t.f.Args {
		if a.Role != ir.RoleState || t.home[a.Value] >= 0 {
			continue
		}
		// Optimizer state lives with its parameter, and state of no parameter,
		// as a scale of the loss, where the loss is.
		path, _, _ := strings.Cut(a.Path, "/")
		if p := args.Arg(ir.RoleParam, path); p != nil {
			t.home[a.Value] = t.home[p.Value]
		} else {
			t.home[a.Value] = t.last
		}
	}
	for v, h := range t.home {
		t.home[v] = max(h, 0)
	}
}

// ofBlock is the stage of the block that parameter a belongs to; the first for all others.
func (t *tagger) ofBlock(a *ir.Arg) int {
	if s := a.Value.Each; s != nil {
		return t.stacks[s]
	}
	k, _ := t.number(a.Path)
	return t.of[k]
}

// backward tags the operations after the loss. What no block holds is where [tagger.follow]
// says, within the bounds that gradients set: they go from the last stage to the first.
func (t *tagger) backward(grads map[*ir.Value]bool) {
	t.phases(grads)
	least := t.least()
	for i, o := range t.f.Ops {
		if i <= t.loss || t.stage[o] == anywhere {
			continue
		}
		if at, ok := t.held(o); ok {
			t.stage[o] = at
			continue
		}
		t.stage[o] = t.follow(o)
		if t.phase[o] == ir.Backward {
			t.stage[o] = min(max(t.stage[o], least[o]), t.most(o))
		}
	}
}

// phases finds which operations after the loss update, and which are anywhere.
func (t *tagger) phases(grads map[*ir.Value]bool) {
	update := map[*ir.Value]bool{}
	leads := t.leads(grads)
	for i, o := range t.f.Ops {
		if i <= t.loss {
			continue
		}
		t.phase[o] = ir.Backward
		if t.everywhere(o) {
			t.stage[o] = anywhere
			continue
		}
		kept := !leads[o] // a scale of the loss is kept, and no update
		for _, v := range o.Args {
			if !leads[o] && (grads[v] || update[v]) { // else another gradient is made of this one
				t.phase[o] = ir.Update
			}
			floats := v.Def != nil && t.loose[v.Def]
			if a := t.arg[v]; v.Def == nil && a != nil {
				floats = a.Role != ir.RoleData
			}
			kept = kept && floats
		}
		if kept {
			t.phase[o] = ir.Update
		}
		if t.phase[o] == ir.Update {
			for _, r := range o.Results {
				update[r] = true
			}
		}
	}
}

// held is the stage of the block that o is in, for what has to be there.
func (t *tagger) held(o *ir.Op) (int, bool) {
	if o.Run != nil {
		return t.stacks[o.Run.Stack], true
	}
	if k, ok := t.block(o); ok && t.phase[o] == ir.Backward {
		return t.of[k], true
	}
	return 0, false
}

// least is the first stage that each operation of the backward phase may be on: the last
// one of those that read its results.
func (t *tagger) least() map[*ir.Op]int {
	least := map[*ir.Op]int{}
	for i := len(t.f.Ops) - 1; i > t.loss; i-- {
		o := t.f.Ops[i]
		if t.phase[o] != ir.Backward || t.stage[o] == anywhere {
			continue
		}
		if at, ok := t.held(o); ok {
			least[o] = at
		}
		for _, v := range o.Args {
			if d := v.Def; d != nil {
				least[d] = max(least[d], least[o])
			}
		}
	}
	return least
}

// most is the last stage that o of the backward phase may be on: the first of those that
// make the gradients that it reads.
func (t *tagger) most(o *ir.Op) int {
	most := t.last
	for _, v := range o.Args {
		if d := v.Def; d != nil && t.phase[d] == ir.Backward && t.stage[d] >= 0 {
			most = min(most, t.stage[d])
		}
	}
	return most
}

// leads are the operations that a gradient depends on.
func (t *tagger) leads(grads map[*ir.Value]bool) map[*ir.Op]bool {
	needed, out := maps.Clone(grads), map[*ir.Op]bool{}
	for i := len(t.f.Ops) - 1; i >= 0; i-- {
		o := t.f.Ops[i]
		for _, r := range o.Results {
			out[o] = out[o] || needed[r]
		}
		if out[o] {
			for _, a := range o.Args {
				needed[a] = true
			}
		}
	}
	return out
}

// follow is the stage of an operation outside of blocks after the loss: where
// its largest operands are, the first of several; for scalars the last, so
// that sums over parameters pass each stage once, and what is computed of a scale of the
// loss is where that is, from where it goes to all stages as gradients do.
func (t *tagger) follow(o *ir.Op) int {
	size, s := -1, 0
	home, homed := 0, false
	for _, v := range o.Args {
		n := v.Type.Elems()
		if v.Type.Rank() == 0 {
			n = 0
		}
		if v.Def == nil {
			h, ok := t.home[v]
			switch {
			case ok && n > 0:
				home, homed = h, true
			case ok && size <= 0:
				size, s = 0, max(s, h)
			}
			continue
		}
		x := t.stage[v.Def]
		if x < 0 {
			continue
		}
		switch {
		case n > size:
			size, s = n, x
		case n == size && n == 0:
			s = max(s, x)
		case n == size:
			s = min(s, x)
		}
	}
	if homed && size <= 0 {
		return home
	}
	return s
}

// stamp writes the tags of a function without microbatches of its own.
func (t *tagger) stamp() {
	for _, o := range t.f.Ops {
		run := o.Run
		o.Slot = t.slot(o, false)
		o.Run = run
	}
}

// slot is where and when o runs, for each microbatch or once.
func (t *tagger) slot(o *ir.Op, each bool) ir.Slot {
	if t.stage[o] == anywhere {
		return ir.Slot{Micro: each}
	}
	return ir.Slot{Stage: ir.At(t.stage[o]), Phase: t.phase[o], Micro: each}
}
