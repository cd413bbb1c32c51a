package assign

import (
	"fmt"
	"math"
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/op"
)

// only is the loop of a phase that does nothing else that threads do together than to store, and what behind allows; or
// nil.
func only(body *tile.Block, behind ...tile.Kind) *tile.Op {
	var loop *tile.Op
	for _, o := range body.Ops {
		switch {
		case o.Kind == tile.For && loop == nil:
			loop = o
		case o.Kind == tile.Store || o.Kind == tile.Wait || loop != nil && slices.Contains(behind, o.Kind):
		case Effect(o.Kind):
			return nil
		}
	}
	if loop == nil || loop.Loop.From != nil || loop.Loop.To != nil {
		return nil
	}
	return loop
}

// mostTasks is less than what a number of 32 bits holds, by more than the number of blocks.
const mostTasks = 1 << 30

// specialize is the loop of a kernel's only phase as specialized warps do it, or nil where the schedule does not want that, or
// something else is to be done than to copy by tensor maps, to multiply by warpgroups, and to store.
func (c *chosen) specialize(p *tile.Program, ph *tile.Phase) (*Pipeline, error) {
	s := p.Schedule
	if s.Producers > 1 {
		return nil, fmt.Errorf("found %d warpgroups that only copy; expected one at most", s.Producers)
	}
	if s.Producers == 0 || len(p.Phases) != 1 || Tasks(ph) >= mostTasks {
		return nil, nil
	}
	o := only(ph.Body)
	if o == nil || len(dots(o.Loop.Body)) == 0 {
		return nil, nil
	}
	x := c.pipeline(o)
	if x == nil || x.Flight == 0 || len(x.Copied)+len(x.Computed) > 0 {
		return nil, nil
	}
	if slices.ContainsFunc(dots(o.Loop.Body), func(d *tile.Op) bool { return !x.inner[d.Args[0]] || !x.inner[d.Args[1]] }) {
		return nil, nil
	}
	return x, nil
}

// Cluster is a phase each of whose tasks the blocks of a cluster share: each sums a part of the contracted or reduced
// axis, and the first adds up what all have.
type Cluster struct {
	Loop  *tile.Op
	Parts int64
	Kinds []tile.Kind // of the reductions that the loop carries
	Rest  *tile.Block // what the first does with the sums
}

// mostParts is how many blocks a cluster has at most on all GPUs that have clusters ("CUDA C++ Programming Guide",
// "Thread Block Clusters").
const mostParts = 8

// cluster is a kernel's only phase as blocks of a cluster do it, or nil where the schedule does not want that, or it is no sum or
// maximum that begins at nothing, of as many iterations as there are blocks.
func cluster(p *tile.Program, body *tile.Block) (*Cluster, error) {
	parts := p.Schedule.Cluster
	if parts < 2 || len(p.Phases) != 1 {
		return nil, nil
	}
	if parts > mostParts || parts&(parts-1) != 0 {
		return nil, fmt.Errorf("found a cluster of %d blocks; expected 2, 4 or 8", parts)
	}
	o := only(body, reductions...)
	if o == nil || o.Range.Blocks() < parts || o.Range.Reversed || len(o.Loop.Carry) == 0 {
		return nil, nil
	}
	x := &Cluster{Loop: o, Parts: parts}
	for i, v := range o.Loop.Carry {
		kind, from := carries(o, i), o.Args[i].Def
		if kind == "" || from == nil || from.Kind != tile.Const || from.Const != Identity(kind, v.Type.DType) ||
			elementwise.Register(v.Type.DType, 1).Elem != kernel.F32 {
			return nil, nil
		}
		x.Kinds = append(x.Kinds, kind)
	}
	rest := *body
	rest.Ops = slices.DeleteFunc(slices.Clone(rest.Ops), func(x *tile.Op) bool { return x == o })
	x.Rest = &rest
	return x, nil
}

// carries is the reduction that loop o carries as its i-th value, or none: what it, or a loop in it, adds to that, or
// the larger of both.
func carries(o *tile.Op, i int) tile.Kind {
	v := o.Loop.Carry[i]
	d := o.Loop.Body.Yield[i].Def
	with := func(kind tile.Kind) bool { // what the iteration has
		return d.Kind == kind && d.Args[0] == v && !uses(d.Args[1], o.Loop.Carry, map[*tile.Value]bool{})
	}
	switch {
	case d == nil:
	case d.Kind == tile.Dot && len(d.Args) == 3 && d.Args[2] == v, with(op.Add):
		return op.ReduceSum
	case with(op.Max):
		return op.ReduceMax
	case d.Kind == tile.For:
		if j := slices.Index(d.Results, o.Loop.Body.Yield[i]); j >= 0 && d.Args[j] == v {
			return carries(d, j)
		}
	}
	return ""
}

// Identity is what a reduction of nothing is.
func Identity(kind tile.Kind, d ir.DType) float64 {
	if kind != op.ReduceMax {
		return 0
	}
	if d.IsFloat() {
		return math.Inf(-1)
	}
	lo, _ := d.Bounds()
	return lo
}
