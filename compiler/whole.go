package compiler

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/openpath"
	"ptc/passes/pass"
	"ptc/runtime/program"
)

// expansion makes the plan of all devices of a pipeline from the programs of those that stand for them.
type expansion struct {
	plan   *program.Plan
	stands *pass.Stands
	tags   map[string]tags // by the name of a program
}

// tags say how messages are numbered in a program of all devices: first those that are no hops, as they are in the plan, and then
// the hops of each stage, up and down.
type tags struct {
	others, hops int // of the first kind; of a stage and direction
	each         int // of a microbatch
}

// errIrregular says that devices cannot stand for others after all, and each has to be compiled.
type errIrregular struct{ why string }

func (e errIrregular) Error() string { return "no device stands for another: " + e.why }

// expansionOf checks that the programs of a plan can stand for those of all devices.
func expansionOf(p *program.Plan, s *pass.Stands) (*expansion, error) {
	e := &expansion{plan: p, stands: s, tags: map[string]tags{}}
	for d, of := range s.Of {
		if d == of && e.device(d) == nil {
			return nil, errIrregular{fmt.Sprintf("device %d has no program", d)}
		}
	}
	for i := range p.Devices[0].Progs {
		if err := e.number(i); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// device is what stands for device d; nil where nothing was compiled.
func (w *expansion) device(d int) *program.Device {
	i := slices.IndexFunc(w.plan.Devices, func(x program.Device) bool { return x.At[0] == w.stands.Of[d] })
	if i < 0 {
		return nil
	}
	return &w.plan.Devices[i]
}

// whole is the plan of all devices.
func (w *expansion) whole() *program.Plan {
	out := *w.plan
	out.Devices = make([]program.Device, len(w.stands.Of))
	for d := range out.Devices {
		x := *w.device(d)
		x.At, x.Progs = []int{d}, slices.Clone(x.Progs)
		named := w.renaming(d)
		for i := range x.Progs {
			w.program(&x.Progs[i], d, named)
		}
		x.Tensors, x.Ports = slices.Clone(x.Tensors), slices.Clone(x.Ports)
		for i := range x.Tensors {
			t := &x.Tensors[i]
			t.Path, t.Of = named(t.Path), named(t.Of)
		}
		for i := range x.Ports {
			x.Ports[i].Path = named(x.Ports[i].Path)
		}
		out.Devices[d] = x
	}
	out.Stats.FlopsPerStep = flops(&out)
	return &out
}

// flops is the work of a step, added up in the order of package assemble.
func flops(p *program.Plan) (sum float64) {
	for i := range p.Devices {
		d := &p.Devices[i]
		step := d.Program("step")
		if step == nil {
			continue
		}
		times := make([]int64, len(step.Instrs))
		micros := make([]int64, len(step.Instrs))
		for k := range times {
			times[k], micros[k] = 1, 1
		}
		for _, r := range step.Runs {
			for k := r.From; k < r.To; k++ {
				times[k] = int64(d.Count(r.Stack))
			}
		}
		for _, t := range step.Tasks {
			for k := t.From; k < t.To && !t.Once; k++ {
				micros[k] = int64(step.Micro)
			}
		}
		for k := range step.Instrs {
			in := &step.Instrs[k]
			if in.Comm != nil {
				continue
			}
			n := p.Kernels[in.Kernel].Flops
			work := float64(n) * float64(times[k]*micros[k])
			if in.First != nil {
				work += float64(p.Kernels[in.First.Kernel].Flops-n) * float64(times[k])
			}
			sum += work * float64(p.Copies())
		}
	}
	return sum
}

// stoodOf is what is known of a program of a device that stands for itself.
func (w *expansion) stoodOf(name string, d int) *pass.Stood {
	if x := w.stands.Programs[fmt.Sprintf("%s.%d", name, d)]; x != nil {
		return x
	}
	return &pass.Stood{}
}

// end is one end of the hops from a stage, or to it.
type end struct {
	stage, to int
	send      bool
}

// number finds how many tags the program with number i of all devices needs, and checks that what a stage sends is what each
// stage that may follow it receives.
func (w *expansion) number(i int) error {
	var t tags
	ends := map[end][]string{}
	name := w.plan.Devices[0].Progs[i].Name
	for j := range w.plan.Devices {
		d := &w.plan.Devices[j]
		p := &d.Progs[i]
		stood := w.stoodOf(name, d.At[0])
		if own := stood.Ticks[d.At[0]]; len(own) != len(p.Ticks) {
			return errIrregular{fmt.Sprintf("@%s of device %d has %d ticks, not %d", name, d.At[0], len(p.Ticks), len(own))}
		}
		for k := range p.Instrs {
			c := p.Instrs[k].Comm
			if c == nil || !collective.Of(c.Kind).Message {
				continue
			}
			h, ok := stood.Hops[c.Tag]
			if !ok {
				t.others = max(t.others, c.Tag+1)
				continue
			}
			t.hops = max(t.hops, h.Number+1)
			e := end{h.Stage, h.To, h.Send}
			for len(ends[e]) <= h.Number {
				ends[e] = append(ends[e], "")
			}
			ends[e][h.Number] = fmt.Sprint(c.DType, c.Bytes, c.Each > 0)
		}
	}
	stages := 0
	for d := range w.stands.Of {
		stages += len(w.stands.Place.Stages(d))
	}
	for s := range stages - 1 {
		up := slices.Equal(ends[end{w.template(s), 1, true}], ends[end{w.template(s + 1), -1, false}])
		down := slices.Equal(ends[end{w.template(s + 1), -1, true}], ends[end{w.template(s), 1, false}])
		if !up || !down {
			return errIrregular{fmt.Sprintf("@%s: stage %d does not send what stage %d receives", name, s, s+1)}
		}
	}
	t.each = t.others + 2*stages*t.hops
	w.tags[name] = t
	return nil
}

// template is the stage that was compiled for a stage.
func (w *expansion) template(s int) int {
	place := w.stands.Place
	d := place.Device(s)
	return place.Stages(w.stands.Of[d])[slices.Index(place.Stages(d), s)]
}

// at is the stage of device d for which the one that stands for it has another one.
func (w *expansion) at(d, stage int) int {
	place := w.stands.Place
	return place.Stages(d)[slices.Index(place.Stages(w.stands.Of[d]), stage)]
}

// program makes p, of the device that stands for d, one of d.
func (w *expansion) program(p *program.Program, d int, named func(string) string) {
	stood, t := w.stoodOf(p.Name, w.stands.Of[d]), w.tags[p.Name]
	if len(p.Ticks) > 0 {
		p.Ticks = make([]program.Tick, len(stood.Ticks[d]))
		for i, t := range stood.Ticks[d] {
			p.Ticks[i] = program.Tick{Task: t.Task, Micro: t.Micro}
		}
	}
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		p.Tasks[i].Name = w.taskName(p.Tasks[i].Name, d)
	}
	p.Instrs = slices.Clone(p.Instrs)
	for i := range p.Instrs {
		in := &p.Instrs[i]
		in.Scope = named(in.Scope)
		if in.Comm == nil {
			continue
		}
		message, why := collective.Of(in.Comm.Kind).Message, named(in.Comm.Why)
		if !message && why == in.Comm.Why {
			continue
		}
		x := *in.Comm
		if x.Why = why; x.Each > 0 {
			x.Each = t.each
		}
		if h, ok := stood.Hops[x.Tag]; ok && message {
			stage := w.at(d, h.Stage)
			x.Peer, x.Tag = w.stands.Place.Device(stage+h.To), t.others+t.hop(stage, h)
		}
		in.Comm = &x
	}
}

// taskName is what a task of the device that stands for d is called on d: it ends with the stage, where a device has several.
func (w *expansion) taskName(name string, d int) string {
	at := strings.LastIndexByte(name, '_')
	stage, err := strconv.Atoi(name[at+1:])
	if at < 0 || err != nil {
		return name
	}
	return fmt.Sprint(name[:at+1], w.at(d, stage))
}

// renaming gives texts of the device that stands for d those of d: in the path of a block it has the number of another one, of the
// same stage.
func (w *expansion) renaming(d int) func(text string) string {
	if w.stands.Of[d] == d {
		return func(text string) string { return text }
	}
	prefix, known := w.stands.Blocks+".", map[string]string{}
	return func(text string) string {
		at := strings.Index(text, prefix)
		if at < 0 || at > 0 && text[at-1] != '.' && text[at-1] != ' ' {
			return text
		}
		out, ok := known[text]
		if !ok {
			at += len(prefix)
			end := at + strings.IndexAny(text[at:]+" ", ". /")
			out = text[:at] + w.block(text[at:end], d) + text[end:]
			known[text] = out
		}
		return out
	}
}

// block is what the number of a block, which may be open, is on d.
func (w *expansion) block(number string, d int) string {
	p, open := openpath.Parse(number)
	if !open {
		n, err := strconv.Atoi(number)
		if err != nil {
			return number
		}
		p.Plus = n
	}
	stage := sort.SearchInts(w.stands.First, p.Plus+1) - 1 // that was compiled
	place := w.stands.Place
	if !slices.Contains(place.Stages(w.stands.Of[d]), stage) {
		return number // a block of another device
	}
	p.Plus += w.stands.First[w.at(d, stage)] - w.stands.First[stage]
	if !open {
		return strconv.Itoa(p.Plus)
	}
	return openpath.Open(p.Times, p.Plus)
}

// hop is the number of a hop at a stage: the same at both ends.
func (t tags) hop(stage int, h pass.Hop) int {
	below, up := stage, h.Send == (h.To > 0)
	if h.To < 0 {
		below--
	}
	n := 2 * below
	if !up {
		n++
	}
	return n*t.hops + h.Number
}
