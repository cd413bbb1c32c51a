package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"ptc/ir"
	"ptc/ir/pipeline"
	"ptc/passes/pass"
)

// stoodOf is what is known of the program of device d, which may stand for others.
func (s *split) stoodOf(d int) *pass.Stood {
	name := functionName(s.f, d)
	if s.stands.Programs[name] == nil {
		s.stands.Programs[name] = &pass.Stood{Hops: map[int]pass.Hop{}, Ticks: map[int][]pass.Tick{}}
	}
	return s.stands.Programs[name]
}

// functionName is that of device d's function of f.
func functionName(f *ir.Func, d int) string { return fmt.Sprintf("%s.%d", f.Name, d) }

// stood notes the ticks of all devices that d, which does w, stands for: what d does at its stages, they do at theirs, in the
// order of their own slots.
func (s *split) stood(d int, w *work, x *pipeline.Schedule) {
	if s.stands == nil {
		return
	}
	tasks := map[kind][]int{}
	for i, p := range w.pieces {
		if !p.task.Once {
			k := p.kind
			tasks[k] = append(tasks[k], i)
		}
	}
	here := s.place.Stages(d)
	for _, g := range s.stands.For(d) {
		there := s.place.Stages(g)
		ticks := make([]pass.Tick, 0, len(x.Devices[g])+2)
		ticks = append(ticks, pass.Tick{})
		for _, slot := range x.Devices[g] {
			for _, what := range kindsOf(slot.Kind) {
				for _, i := range tasks[kind{here[slices.Index(there, slot.Stage)], what}] {
					ticks = append(ticks, pass.Tick{Task: i, Micro: slot.Microbatch})
				}
			}
		}
		s.stoodOf(d).Ticks[g] = append(ticks, pass.Tick{Task: len(w.pieces) - 1})
	}
}

// kindsOf are the kinds of tasks that a slot does: a whole backward pass all of both kinds, where others are in two.
func kindsOf(k pipeline.Kind) []pipeline.Kind {
	if k == pipeline.Backward {
		return []pipeline.Kind{pipeline.Backward, pipeline.BackwardInput, pipeline.BackwardWeight}
	}
	return []pipeline.Kind{k}
}

// receivers are the devices that v is sent to, in order: those that want it, and of a message that is no hop those that such
// a one stands for.
func (s *split) receivers(x *traffic, v *ir.Value) []int {
	want := slices.Sorted(maps.Keys(x.wanted[v]))
	if s.stands == nil || x.hops[v] != nil {
		return want
	}
	var out []int
	for _, d := range want {
		out = append(out, s.stands.For(d)...)
	}
	slices.Sort(out)
	return out
}

// hops finds the messages between stages that follow one another, of which those that a device stands for have their own.
func (s *split) hops(x *traffic) {
	if s.stands == nil {
		return
	}
	x.hops = map[*ir.Value]*hop{}
	readers := map[*ir.Value][]*ir.Op{}
	for _, o := range s.f.Ops {
		for _, v := range o.Args {
			readers[v] = append(readers[v], o)
		}
	}
	var stages []int // that are compiled, in order
	for d, of := range s.stands.Of {
		if of == d {
			stages = append(stages, s.place.Stages(d)...)
		}
	}
	slices.Sort(stages)
	type end struct {
		stage, to int
		send      bool
	}
	count := map[end]int{}
	for _, v := range slices.SortedFunc(maps.Keys(x.wanted), func(a, b *ir.Value) int { return cmp.Compare(x.tags[a], x.tags[b]) }) {
		h := s.hop(x, v, stages, readers[v])
		if h == nil {
			if s.stands.Count(x.home[v]) > 1 {
				s.stands.Irregular = fmt.Sprintf("@%s: %s of device %d is not for the next stage", s.f.Name, v.Type, x.home[v])
			}
			continue
		}
		x.hops[v] = h
		from, to := end{h.from, h.to, true}, end{h.at, h.to, false}
		s.stoodOf(s.place.Device(h.from)).Hops[x.tags[v]] = pass.Hop{Stage: h.from, To: h.to, Send: true, Number: count[from]}
		s.stoodOf(s.place.Device(h.at)).Hops[x.tags[v]] = pass.Hop{Stage: h.at, To: -h.to, Number: count[to]}
		count[from]++
		count[to]++
	}
}

// hop is a message from a stage to the one at that follows it among those that are compiled, or is before it.
type hop struct{ from, at, to int }

// hop is what v, which is made at a stage and wanted by one other device, is; nil where it is no hop.
func (s *split) hop(x *traffic, v *ir.Value, stages []int, readers []*ir.Op) *hop {
	if v.Def == nil || len(x.wanted[v]) != 1 {
		return nil
	}
	from, ok := v.Def.Stage.Get()
	if !ok {
		return nil
	}
	i := slices.Index(stages, from)
	for _, to := range []int{1, -1} {
		against := to == 1 && v.Def.Phase == ir.Backward || to == -1 && v.Def.Phase == ir.Forward
		if against || i+to < 0 || i+to >= len(stages) {
			continue
		}
		at := stages[i+to]
		d := s.place.Device(at)
		if !x.wanted[v][d] || d == s.place.Device(from) {
			continue
		}
		for _, o := range readers {
			if stage, ok := o.Stage.Get(); ok && s.place.Device(stage) == d && stage != at {
				return nil
			}
		}
		return &hop{from, at, to}
	}
	return nil
}
