package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/internal/progress"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/verify"
)

func init() {
	for _, l := range []ir.Level{ir.Local, ir.Fused, ir.Planned} {
		verify.AtLevel(l, "messages", Check)
	}
}

// Check proves that the programs of a pipeline's devices send and receive the
// same messages, and that no device waits for ever, with no more than
// [op.InFlight] messages of a kind on their way: it runs the messages alone.
//
// Devices that differ on other mesh axes alone run one program, so they issue
// their collectives in one order. That each of them has peers of its own and
// waits for its group changes nothing: in the run of one device for each
// program, every operation can be done by all of its devices when it is done by
// one.
func Check(m *ir.Module) diag.List {
	groups := map[string]*group{}
	var names []string
	var bugs diag.List
	for _, f := range m.Funcs {
		of := f.Of
		if of == "" || f.Stage == 0 {
			bugs = append(bugs, noMessages(f)...)
			continue
		}
		if groups[of] == nil {
			names = append(names, of)
			groups[of] = &group{of: of}
		}
		groups[of].progs = append(groups[of].progs, f)
	}
	for _, of := range names {
		g := groups[of]
		if g.shape(m); len(g.bugs) == 0 {
			g.run()
		}
		bugs = append(bugs, g.bugs...)
	}
	return bugs
}

func isMessage(o *ir.Op) bool { return op.Has(o, op.Message) }

// noMessages: a function of all devices has nobody to send to.
func noMessages(f *ir.Func) diag.List {
	for _, o := range f.Ops {
		if isMessage(o) {
			return diag.List{{Code: "E0392", Pos: o.Pos, Msg: fmt.Sprintf("@%s: `%s` in a function that is no program of a pipeline", f.Name, o.Name)}}
		}
	}
	return nil
}

// group is the programs of one function, by their device's coordinate.
type group struct {
	of    string
	progs []*ir.Func
	bugs  diag.List
}

func (g *group) bug(o *ir.Op, format string, args ...any) {
	e := &diag.Error{Code: "E0392", Msg: fmt.Sprintf("@%s: ", g.of) + fmt.Sprintf(format, args...)}
	if o != nil {
		e.Pos = o.Pos
	}
	g.bugs = append(g.bugs, e)
}

// shape: there is one program for each coordinate of the axis along which they
// send, and they have no collectives along it.
func (g *group) shape(m *ir.Module) {
	axis := ""
	for i, f := range g.progs {
		if stage := int64(f.Stage.Or(0)); stage != int64(i) {
			g.bug(nil, "program %d, @%s, is of stage %d", i, f.Name, stage)
		}
		for _, o := range f.Ops {
			if !isMessage(o) {
				continue
			}
			over := o.Attrs.Names("over")[0]
			if axis == "" {
				axis = over
			}
			if peer := o.Attrs.Int("peer", 0); over != axis || peer >= int64(len(g.progs)) || peer == int64(i) {
				g.bug(o, "a message from stage %d to or from stage %d of %d over `%s`", i, peer, len(g.progs), over)
			}
		}
	}
	if axis != "" && m.MeshSize(axis) != len(g.progs) {
		g.bug(nil, "%d programs for %d coordinates on mesh axis `%s`", len(g.progs), m.MeshSize(axis), axis)
	}
	for _, f := range g.progs {
		for _, o := range f.Ops {
			if op.Of(o).Class == op.Collective && !isMessage(o) && slices.Contains(o.Attrs.Names("over"), axis) {
				g.bug(o, "`%s` over `%s` among devices of different programs", o.Name, axis)
			}
		}
	}
}

// message is what a program sends or receives, for a microbatch.
type message struct {
	*stream
	micro int
}

// stream is what the messages of one operation have in common.
type stream struct {
	*ir.Op
	sends           bool
	peer, tag, each int
	typ             any // a text
}

func streamOf(o *ir.Op) *stream {
	x := &stream{Op: o, sends: op.Has(o, op.Sends), peer: int(o.Attrs.Int("peer", 0)),
		tag: int(o.Attrs.Int(ir.AttrTag, 0)), each: int(o.Attrs.Int(ir.AttrEach, 0))}
	for _, values := range [][]*ir.Value{o.Args, o.Results} {
		for _, v := range values {
			x.typ = v.Type.String()
		}
	}
	return x
}

// messages are those of a program in the order in which it comes to them.
func messages(f *ir.Func) (out []message) {
	of := map[*ir.Task][]*stream{}
	for _, o := range f.Ops {
		if isMessage(o) {
			of[o.Task] = append(of[o.Task], streamOf(o))
		}
	}
	ticks := f.Ticks
	if len(ticks) == 0 {
		ticks = []ir.Tick{{}}
	}
	for _, t := range ticks {
		for _, o := range of[t.Task] {
			out = append(out, message{o, t.Micro})
		}
	}
	return out
}

func (x message) number() int { return x.tag + x.micro*x.each }

// run lets the programs go on until all are at their end, or says why they cannot
// be.
func (g *group) run() {
	all := make([][]message, len(g.progs))
	for d, f := range g.progs {
		all[d] = messages(f)
	}
	sys := progress.System{Room: op.InFlight, Step: func(d, i int) (progress.Step, bool) {
		if i >= len(all[d]) {
			return progress.Step{}, false
		}
		x := all[d][i]
		if x.sends {
			return progress.Step{Kind: progress.Send, Channel: progress.Channel{From: d, To: x.peer, Tag: x.number()}, What: x.typ}, true
		}
		return progress.Step{Kind: progress.Receive, Channel: progress.Channel{From: x.peer, To: d, Tag: x.number()}, What: x.typ}, true
	}}
	for d := range g.progs {
		sys.Processes = append(sys.Processes, d)
	}
	_, err := sys.Run()
	var f *progress.Fault
	if !errors.As(err, &f) {
		return
	}
	steps := make([]progress.Step, len(f.At))
	for i, at := range f.At {
		steps[i], _ = sys.Step(at.Process, at.Step)
	}
	first := all[f.At[0].Process][f.At[0].Step].Op
	message := fmt.Sprintf("message %d from stage %d to stage %d", steps[0].Channel.Tag, steps[0].Channel.From, steps[0].Channel.To)
	switch f.Kind {
	case progress.Lost:
		g.bug(first, "%s is sent and never received", message)
	case progress.Mismatch:
		g.bug(first, "%s is %s, and %s is received", message, steps[0].What, steps[1].What)
	default:
		var waits []string
		for i, at := range f.At {
			o := all[at.Process][at.Step]
			waits = append(waits, fmt.Sprintf("stage %d waits to %s message %d of stage %d", at.Process, o.Name, steps[i].Channel.Tag, o.Attrs.Int("peer", 0)))
		}
		if f.Ended >= 0 {
			waits = append(waits, fmt.Sprintf("stage %d is at its end", f.Ended))
		}
		g.bug(first, "the stages wait for ever: %s", strings.Join(waits, "; "))
	}
}
