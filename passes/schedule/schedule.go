package schedule

import (
	"fmt"
	"maps"
	"slices"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/pipeline"
	"ptc/passes/pass"
	"ptc/passes/stage"
)

// Run splits every entry function of a pipeline, and has those of a device with the
// whole model do its microbatches one after the other.
func Run(c *pass.Context, m *ir.Module) error {
	r := stage.Of(m)
	if r == nil {
		inTasks(m)
		return nil
	}
	place, err := stage.Placed(m, r)
	if err != nil {
		return err
	}
	var out []*ir.Func
	kept := map[string]int{}
	for _, f := range m.Funcs {
		s := &split{m: m, f: f, rule: r, devices: m.MeshSize(r.Over), place: place, whole: !gathers(m), stands: c.Stands, schedules: c.Schedules}
		keeps := newKeepers(s, kept)
		s.shrink(keeps)
		works, proved, err := s.works()
		if err != nil {
			return err
		}
		messages := 0
		for _, p := range s.programs(keeps, works) {
			if s.stands.Compiled(p.d) {
				out = append(out, p.f)
				messages += p.messages
			}
		}
		only := ""
		if proved != nil && proved.Shape.ForwardOnly {
			only = ", forward only"
		}
		c.Remarkf(nil, "@%s: schedule %s over %s%s, %d messages", f.Name, r.Schedule, r.Over, only, messages)
		if proved != nil && only == "" && s.stands == nil {
			if err := draw(c, proved); err != nil {
				return err
			}
		}
	}
	m.Funcs = out
	return nil
}

// split is a function that the devices of a pipeline share.
type split struct {
	m       *ir.Module
	f       *ir.Func
	rule    *layout.Pipeline
	devices int
	place   *pipeline.Placement
	whole   bool // activations are sent as they are
	stands  *pass.Stands
	// schedules keeps those that were made; it may be nil
	schedules *pipeline.Cache
}

// on is the device of o; false for what every device does for itself.
func (s *split) on(o *ir.Op) (int, bool) {
	at, ok := o.Stage.Get()
	if !ok {
		return 0, false
	}
	return s.place.Device(at), true
}

// work is what a device does: its tasks, each with its operations in their order, and
// their ticks. A function without microbatches is one piece of no task.
type work struct {
	pieces []piece
	ticks  []ir.Tick
}

type piece struct {
	task *ir.Task
	ops  []*ir.Op
	kind kind // of a task of microbatches
}

// ops are those of all pieces.
func (w *work) ops() (out []*ir.Op) {
	for _, p := range w.pieces {
		out = append(out, p.ops...)
	}
	return out
}

// kind is what an operation is done in, for each microbatch: one kind of slot of a
// virtual stage.
type kind struct {
	stage int
	kind  pipeline.Kind
}

// taskNames are those of the kinds of slots.
var taskNames = map[pipeline.Kind]string{pipeline.Forward: "forward", pipeline.Backward: "backward",
	pipeline.BackwardInput: "backward_input", pipeline.BackwardWeight: "backward_weight"}

// works is what each device does, and the schedule of a function with microbatches. What every
// device does for itself is in none.
func (s *split) works() ([]*work, *pipeline.Schedule, error) {
	before, after := make([][]*ir.Op, s.devices), make([][]*ir.Op, s.devices)
	bodies := map[kind][]*ir.Op{}
	weights := s.weights()
	for _, o := range s.f.Ops {
		v, ok := o.Stage.Get()
		if !ok {
			continue
		}
		d := s.place.Device(v)
		switch {
		case s.f.Micro > 0 && o.Phase == ir.Update:
			after[d] = append(after[d], o)
		case !o.Micro:
			before[d] = append(before[d], o)
		default:
			k := kind{v, pipeline.Forward}
			if o.Phase == ir.Backward {
				k.kind = pipeline.Backward
				if weights != nil {
					k.kind = pipeline.BackwardInput
					if weights[o] {
						k.kind = pipeline.BackwardWeight
					}
				}
			}
			bodies[k] = append(bodies[k], o)
		}
	}
	out := make([]*work, s.devices)
	if s.f.Micro == 0 {
		for d := range out {
			out[d] = &work{pieces: []piece{{ops: before[d]}}}
		}
		return out, nil, nil
	}
	input := inputs(bodies)
	for k, ops := range bodies {
		if k.kind == pipeline.BackwardWeight {
			apart(ops, input)
		}
	}
	proved, err := s.schedule()
	if err != nil {
		return nil, nil, err
	}
	ticks := map[kind]int{}
	for d := range out {
		if !s.stands.Compiled(d) {
			out[d] = &work{}
			continue
		}
		out[d] = s.work(proved.Devices[d], bodies, ticks)
		s.stood(d, out[d], proved)
		out[d].pieces[0].ops = before[d]
		last := len(out[d].pieces) - 1
		out[d].pieces[last].ops = after[d]
	}
	for _, k := range inOrder(bodies) {
		if ticks[k] != s.f.Micro {
			return nil, nil, stage.Refused(s.rule, fmt.Errorf("@%s: stage %d has %d slots of %d in schedule %s", s.f.Name, k.stage, ticks[k], s.f.Micro, s.rule.Schedule))
		}
	}
	return out, proved, nil
}

// work is the tasks of a device with these slots, between one before and one after all
// microbatches, and their ticks.
func (s *split) work(slots []pipeline.Slot, bodies map[kind][]*ir.Op, count map[kind]int) *work {
	w := &work{}
	tasks := map[kind]*ir.Task{}
	begin, end := &ir.Task{Name: "before", Once: true}, &ir.Task{Name: "after", Once: true}
	w.ticks = append(w.ticks, ir.Tick{Task: begin})
	stages := map[int]bool{}
	for _, x := range slots {
		stages[x.Stage] = true
		for _, what := range kindsOf(x.Kind) {
			k := kind{x.Stage, what}
			if bodies[k] == nil {
				continue
			}
			if tasks[k] == nil {
				tasks[k] = &ir.Task{}
			}
			count[k]++
			w.ticks = append(w.ticks, ir.Tick{Task: tasks[k], Micro: x.Microbatch})
		}
	}
	w.ticks = append(w.ticks, ir.Tick{Task: end})
	w.pieces = append(w.pieces, piece{task: begin})
	for _, k := range inOrder(tasks) {
		if tasks[k].Name = taskNames[k.kind]; len(stages) > 1 {
			tasks[k].Name += fmt.Sprintf("_%d", k.stage)
		}
		w.pieces = append(w.pieces, piece{tasks[k], bodies[k], k})
	}
	w.pieces = append(w.pieces, piece{task: end})
	return w
}

// inOrder are the kinds of tasks so that none reads of its microbatch what a later one
// makes: forward along the stages, and back.
func inOrder[T any](tasks map[kind]T) []kind {
	return slices.SortedFunc(maps.Keys(tasks), func(a, b kind) int {
		af, bf := a.kind == pipeline.Forward, b.kind == pipeline.Forward
		switch {
		case af != bf && af:
			return -1
		case af != bf:
			return 1
		case a.stage != b.stage && af:
			return a.stage - b.stage
		case a.stage != b.stage:
			return b.stage - a.stage
		}
		return int(a.kind) - int(b.kind)
	})
}

// inputs are the runs that have operations in other tasks than those of gradients of
// weights.
func inputs(bodies map[kind][]*ir.Op) map[*ir.Run]bool {
	out := map[*ir.Run]bool{}
	for k, ops := range bodies {
		for _, o := range ops {
			if k.kind != pipeline.BackwardWeight && o.Run != nil {
				out[o.Run] = true
			}
		}
	}
	return out
}

// apart gives what a run does in a task for gradients of weights a run of its own,
// where the others are in another task.
func apart(ops []*ir.Op, input map[*ir.Run]bool) {
	own := map[*ir.Run]*ir.Run{}
	for _, o := range ops {
		if !input[o.Run] {
			continue
		}
		if own[o.Run] == nil {
			own[o.Run] = &ir.Run{Stack: o.Run.Stack, Down: o.Run.Down}
		}
		o.Run = own[o.Run]
	}
}

// schedule is the layout's schedule of the function, which is proved.
func (s *split) schedule() (*pipeline.Schedule, error) {
	shape := s.rule.Shape(s.m)
	shape.ForwardOnly = s.f.Name != "step"
	x, err := s.schedules.New(s.rule.Schedule, shape)
	if err == nil {
		if n := layout.Rounds(s.m); n > 1 {
			x = x.Rounds(n)
		}
		shape = x.Shape
		if s.stands == nil { // else whoever compiles all devices proves it
			// Each value that is sent has a channel of its own, so none is ever full.
			err = pipeline.Prove(x, shape, pipeline.Unbounded)
		}
	}
	if err != nil {
		return nil, stage.Refused(s.rule, err)
	}
	return x, nil
}

// weights marks, for a schedule that splits the backward phase, the operations
// that no other stage waits for: gradients of weights. Nil if it does not.
func (s *split) weights() map[*ir.Op]bool {
	row, err := pipeline.Lookup(s.rule.Schedule)
	if err != nil || !row.Split {
		return nil
	}
	inSlot := func(o *ir.Op) bool { return o.Phase == ir.Backward && o.Micro }
	urgent := map[*ir.Op]bool{}
	out := map[*ir.Op]bool{}
	for i := len(s.f.Ops) - 1; i >= 0; i-- {
		o := s.f.Ops[i]
		if inSlot(o) {
			out[o] = !urgent[o]
		}
		for _, v := range o.Args {
			if d := v.Def; d != nil && inSlot(d) && inSlot(o) && (d.Stage != o.Stage || urgent[o]) {
				urgent[d] = true
			}
		}
	}
	return out
}
