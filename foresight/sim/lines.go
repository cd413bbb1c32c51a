package sim

import (
	"cmp"
	"slices"

	"ptc/foresight/cost"
	"ptc/foresight/machine"
	"ptc/internal/collective"
)

// Line is the time that a class spends, in a step, on the instructions of one cause that come from one place in the source.
type Line struct {
	Cause  string
	Kernel string // of kernels, the one with the most time; of exchanges, the kind
	Pos    string // "gpt.ptl:63:9", or the rule that asked for the exchange
	Bound  cost.Bound
	Time   machine.PS // of exchanges, hidden time too
}

// mostLines is how many lines a class keeps, those of the most time.
const mostLines = 32

// lines adds up the instructions of the step by their places in the source.
func (w *writer) lines() []Line {
	type key struct {
		cause int32
		pos   string
	}
	at := map[key]int{}
	var out []Line
	var most []machine.PS // of one kernel of the line
	add := func(k key, name string, bound cost.Bound, t machine.PS) {
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out, most = append(out, Line{Cause: w.Causes[k.cause], Pos: k.pos}), append(most, -1)
		}
		out[i].Time += t
		if t > most[i] {
			most[i], out[i].Kernel, out[i].Bound = t, name, bound
		}
	}
	for i := range w.prog.Instrs {
		in, times := &w.prog.Instrs[i], machine.PS(w.order.Times(i))
		switch c := in.Comm; {
		case c == nil:
			k := &w.kernels[in.Kernel]
			if k.none {
				continue
			}
			launches := machine.PS(w.order.Launches(i, int(times)))
			add(key{k.cause, in.Pos}, w.plan.Kernels[in.Kernel].Name, k.bound, k.time*times+w.model.Launch()*launches)
		case c.Kind != collective.Done && c.Kind != collective.ShardSlice:
			if x := w.exchange(i); x != nil {
				add(key{x.cause, c.Why}, c.Kind, "", x.Time*times)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Line) int { return cmp.Compare(b.Time, a.Time) })
	return out[:min(len(out), mostLines)]
}
