package propagate

import (
	"slices"

	"ptc/ir"
	directives "ptc/ir/layout"
	"ptc/ir/pipeline"
	"ptc/passes/pass"
	"ptc/passes/propagate/factor"
	"ptc/passes/stage"
)

// stages is the policy of a pipeline: what crosses to another device of it is read
// in the one sharding in which it is sent to all readers. Partial sums are reduced
// first, on the device that has them:
//
//	stage 0   %7 partial(tp) = add …         stage 1   %8 = norm
//	          %8 seq@tp = reshard %7                   %9 seq@tp = add %8, …
//
// Partial sums are several values of which one is needed, and reduced they are what
// every reader can make its own sharding of. What is stored has the sharding in which
// it is stored, and is sent so.
type stages struct {
	factor.Silent
	*trial
}

func newStages(t *trial) factor.Policy { return &stages{trial: t} }

// devices are those of a pipeline.
type devices struct {
	place  *pipeline.Placement
	counts []int64 // by device: for how many it stands; nil where each stands for itself
}

// devicesOf is nil where r has a mistake, which was reported.
func devicesOf(c *pass.Context, m *ir.Module, r *directives.Pipeline) *devices {
	place, err := stage.Placed(m, r)
	if err != nil {
		return nil
	}
	d := &devices{place: place}
	if c.Stands != nil {
		for i := range c.Stands.Of {
			d.counts = append(d.counts, c.Stands.Count(i))
		}
	}
	return d
}

// placeOf is the device of a pipeline on which an operation runs; false for what
// every device does for itself.
func (d *devices) placeOf(o *ir.Op) (int, bool) {
	at, ok := o.Stage.Get()
	if !ok {
		return 0, false
	}
	return d.place.Device(at), true
}

// alike is on how many devices of the pipeline there are operations like o: on several where its device stands for others.
func (d *devices) alike(o *ir.Op) int64 {
	if d == nil || d.counts == nil {
		return 1
	}
	at, ok := d.placeOf(o)
	if !ok {
		return 1
	}
	return d.counts[at]
}

func (s *stages) Before(x *factor.Flow, o *ir.Op) {
	for i, v := range o.Args {
		if len(v.Type.Partial) > 0 && x.Crosses(o, v) {
			t, from := s.message(o, v)
			o.Args[i] = x.Reshard(v.Def, v, t, from, "")
		}
	}
}

// message is the sharding in which v, a partial sum, is sent to o: as a rule about one
// of its axes shares it among the devices of each mesh axis, else replicated. Numbers
// and gradients on their way to the optimizer stay partial over mesh axes that do not
// shard them: as many bytes are sent, and what other stages add is reduced with them,
// once.
func (s *stages) message(o *ir.Op, v *ir.Value) (t ir.Type, from factor.Origins) {
	late := v.Type.Rank() == 0 || s.facts.update[o.Results[0]] || o.Phase == ir.Update
	t, from = v.Type.Clone(), factor.Origins{}
	t.Partial = nil
	for _, x := range v.Type.Partial {
		i, at := -1, ""
		switch {
		case !late:
			i, at = s.l.share(t, x.Mesh)
		case s.facts.terms[o.Results[0]]:
			want := s.facts.wanted[o.Results[0]]
			i, at = toward(t, want.Type, x.Mesh), want.From[x.Mesh]
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
	axis, best := -1, factor.None
	for i, a := range t.Axes {
		if s, where := l.claimOn(a.Name, m, ""); s > best && l.mesh.Fits(a, m) {
			axis, best, at = i, s, where
		}
	}
	return axis, at
}
