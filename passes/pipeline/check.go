package pipeline

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"ptc/internal/diag"
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
			groups[of] = &group{of: of, sent: map[string][]ir.Type{}}
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
	next  []int                // operation that comes, by program
	sent  map[string][]ir.Type // messages on their way, by channel
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

// run lets each program go on until it waits, until all are at their end or
// none can go on. Processes that wait for messages and for room alone have one
// outcome, whoever goes first (Kahn, 1974).
func (g *group) run() {
	g.next = make([]int, len(g.progs))
	for moved := true; moved; {
		moved = false
		for d := range g.progs {
			from := g.next[d]
			for g.next[d] < len(g.progs[d].Ops) && g.step(d, g.progs[d].Ops[g.next[d]]) {
				g.next[d]++
			}
			moved = moved || g.next[d] > from
		}
	}
	var waits []string
	var at *ir.Op
	for d, f := range g.progs {
		if g.next[d] < len(f.Ops) {
			at = f.Ops[g.next[d]]
			waits = append(waits, fmt.Sprintf("stage %d waits to %s message %d of stage %d", d, at.Name, at.Attrs.Int("tag", 0), at.Attrs.Int("peer", 0)))
		}
	}
	if len(waits) > 0 {
		g.bug(at, "the stages wait for ever: %s", strings.Join(waits, "; "))
		return
	}
	var lost []string
	for c, types := range g.sent {
		if len(types) > 0 {
			lost = append(lost, c)
		}
	}
	if len(lost) > 0 {
		sort.Strings(lost)
		g.bug(nil, "%s is sent and never received", lost[0])
	}
}

// step does operation o of program d, or reports that it has to wait.
func (g *group) step(d int, o *ir.Op) bool {
	peer, tag := int(o.Attrs.Int("peer", 0)), o.Attrs.Int("tag", 0)
	switch {
	case op.Has(o, op.Sends):
		c := channel(d, peer, tag)
		if len(g.sent[c]) == op.InFlight {
			return false
		}
		g.sent[c] = append(g.sent[c], o.Args[0].Type)
	case op.Has(o, op.Receives):
		c := channel(peer, d, tag)
		if len(g.sent[c]) == 0 {
			return false
		}
		if t := g.sent[c][0]; !t.Equal(o.Result().Type) {
			g.bug(o, "%s is %s, and %s is received", c, t, o.Result().Type)
		}
		g.sent[c] = g.sent[c][1:]
	}
	return true
}

func channel(from, to int, tag int64) string {
	return fmt.Sprintf("message %d from stage %d to stage %d", tag, from, to)
}
