package propagate

import (
	"slices"

	"ptc/ir"
	placement "ptc/ir/pipeline"
	"ptc/passes/stage"
)

// pipeline says which device of a pipeline an operation is on.
type pipeline struct{ place *placement.Placement }

// pipelineOf is m's pipeline, or nil.
func pipelineOf(m *ir.Module) *pipeline {
	r := stage.Of(m)
	if r == nil {
		return nil
	}
	place, err := stage.Placed(m, r)
	if err != nil {
		return nil // package stage has reported it
	}
	return &pipeline{place}
}

// device is where o runs; -1 and false for what every device does for itself, and
// without a pipeline.
func (s *pipeline) device(o *ir.Op) (int, bool) {
	if s == nil || o == nil {
		return -1, false
	}
	at, ok := o.Stage.Get()
	if !ok {
		return -1, false
	}
	return s.place.Device(at), true
}

// crosses reports whether o is on another device of the pipeline than what makes v.
// What is stored has the sharding in which it is stored, and is sent so.
func (s *pipeline) crosses(o *ir.Op, v *ir.Value) bool {
	from, ok := s.device(v.Def)
	to, known := s.device(o)
	return ok && known && from != to
}

// received is v as o reads it: where v crosses to another device of the pipeline, in
// the one sharding in which it is sent to all of them. Partial sums are reduced
// first, on the device that has them:
//
//	stage 0   %7 partial(tp) = add …         stage 1   %8 = norm
//	          %8 seq@tp = reshard %7                   %9 seq@tp = add %8, …
//
// Partial sums are several values of which one is needed, and reduced they are what
// every reader can make its own sharding of.
func (p *propagation) received(o *ir.Op, v *ir.Value) *ir.Value {
	if len(v.Type.Partial) == 0 || !p.l.pipe.crosses(o, v) {
		return v
	}
	t, from := p.sent(o, v)
	return p.reshard(v.Def, v, t, from, "")
}

// sent is the sharding in which v, a partial sum, is sent to o: as it is shared
// among the devices of each mesh axis by a rule about one of its axes, else
// replicated. Numbers and gradients on their way to the optimizer stay partial over
// mesh axes that do not shard them: as many bytes are sent, and what other stages
// add is reduced with them, once.
func (p *propagation) sent(o *ir.Op, v *ir.Value) (t ir.Type, from origins) {
	late := v.Type.Rank() == 0 || p.noted(o) || o.Phase == ir.Update
	want, grad := p.terms[o.Results[0]]
	t, from = v.Type.Clone(), origins{}
	t.Partial = nil
	for _, x := range v.Type.Partial {
		i, at := -1, ""
		switch {
		case !late:
			i, at = p.l.share(t, x.Mesh)
		case grad:
			i, at = toward(t, want, x.Mesh), p.l.wished(want)[x.Mesh]
		}
		switch {
		case i >= 0:
			t.Axes[i].Mesh = append(slices.Clone(t.Axes[i].Mesh), x.Mesh)
			from[x.Mesh] = at
		case late:
			t.Partial = append(t.Partial, x)
		}
	}
	return t, from
}

// toward is the axis of t that want shards over m next; -1 if there is none.
func toward(t, want ir.Type, m string) int {
	return slices.IndexFunc(t.Axes, func(a ir.Axis) bool {
		have, w := len(a.Mesh), want.Axes[want.Index(a.Name)].Mesh
		return have < len(w) && w[have] == m && slices.Equal(w[:have], a.Mesh)
	})
}

// share is the axis of t that the rules shard over mesh axis m, and where; -1 if
// there is none, or it does not divide. Rules without a region come first.
func (l *layout) share(t ir.Type, m string) (axis int, at string) {
	axis, best := -1, 0
	for i, a := range t.Axes {
		if s, where := l.claimOn(a.Name, m, ""); s > best && a.Size%(l.parts(a)*l.size(m)) == 0 {
			axis, best, at = i, s, where
		}
	}
	return axis, at
}
