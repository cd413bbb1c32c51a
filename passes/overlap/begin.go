package overlap

import (
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// window is how many operations before a collective may be moved beside it: a
// layer's worth of the gradients of weights.
const window = 8

// begin splits collectives that have something to run beside into start and
// done, and returns how many.
func (o *options) begin(f *ir.Func) int {
	for i := range f.Ops {
		if o.movable(f.Ops[i]) {
			o.fill(f, i)
		}
	}
	first, leaves := readers(f), map[*ir.Value]bool{}
	for _, r := range f.Results {
		leaves[r.Value] = leaves[r.Value] || r.Role == ir.RoleParam || r.Role == ir.RoleState
	}
	var flights []*flight
	with := map[*ir.Value]*ir.Value{}
	open := map[string][]*flight{} // by mesh axes, oldest first
	layers := layersOf(f)
	for i, x := range f.Ops {
		if !o.movable(x) {
			continue
		}
		to, kept := len(f.Ops), false
		for _, r := range x.Results {
			to = min(to, first(r))
			kept = kept || leaves[r] // written over the old one, which others may still read
		}
		if shrinks(x) {
			to = min(to, layers.afterNext(i))
		}
		if to == i+1 || kept {
			continue
		}
		over := strings.Join(x.Attrs.Names("over"), ",")
		y := &flight{done: f.NewOp(op.Done, x.Results, nil, types(x)...), at: to}
		open[over] = append(landing(open[over], i), y)
		flights = append(flights, y)
		y.done.Scope, y.done.Pos = x.Scope, x.Pos
		for k, r := range x.Results {
			with[r] = y.done.Results[k]
		}
		x.Start = true
	}
	dones := map[int][]*ir.Op{} // by the operation that they stand before
	for _, y := range flights {
		dones[y.at] = append(dones[y.at], y.done)
	}
	f.Replace(with)
	out := make([]*ir.Op, 0, len(f.Ops)+len(flights))
	for i := 0; i <= len(f.Ops); i++ {
		out = append(out, dones[i]...)
		if i < len(f.Ops) {
			out = append(out, f.Ops[i])
		}
	}
	f.Ops = out
	return len(flights)
}

// flight is a started collective: its `done` stands before the operation at a
// place, that of its first reader or an earlier one.
type flight struct {
	done *ir.Op
	at   int
}

// landing are the flights, oldest first, that are still under way where the
// operation at i starts another one. Where there would be more than [MaxOpen],
// the oldest is waited for there: it has had the longest time, and what comes
// last would otherwise have nothing to run beside.
func landing(open []*flight, i int) []*flight {
	still := slices.DeleteFunc(open, func(y *flight) bool { return y.at <= i })
	if len(still) == MaxOpen {
		still[0].at = i
		still = still[1:]
	}
	return still
}

// readers gives the place of the first operation that reads a value; the end
// for one that only leaves the function.
func readers(f *ir.Func) func(*ir.Value) int {
	first := map[*ir.Value]int{}
	for i, x := range f.Ops {
		for _, a := range x.Args {
			if _, ok := first[a]; !ok {
				first[a] = i
			}
		}
	}
	return func(v *ir.Value) int {
		if i, ok := first[v]; ok {
			return i
		}
		return len(f.Ops)
	}
}

func types(x *ir.Op) []ir.Type {
	var out []ir.Type
	for _, r := range x.Results {
		out = append(out, r.Type.Clone())
	}
	return out
}

// fill moves kernels that the collective at i does not need from before it to
// behind it, where its result is read at once: they run beside it then. It
// stops at whatever else communicates, whose order stays.
func (o *options) fill(f *ir.Func, i int) {
	x := f.Ops[i]
	if i+1 >= len(f.Ops) || !reads(f.Ops[i+1], x) {
		return
	}
	need := map[*ir.Value]bool{}
	for _, a := range x.Args {
		need[a] = true
	}
	var keep, later []*ir.Op
	j := i
	for j > 0 && i-j < window && op.Has(f.Ops[j-1], op.Calls) {
		j--
		y := f.Ops[j]
		needed := false
		for _, r := range y.Results {
			needed = needed || need[r]
		}
		if !needed {
			later = append(later, y)
			continue
		}
		keep = append(keep, y)
		for _, a := range y.Args {
			need[a] = true
		}
	}
	if len(later) == 0 {
		return
	}
	k := j
	for n := len(keep) - 1; n >= 0; n-- {
		f.Ops[k] = keep[n]
		k++
	}
	f.Ops[k] = x
	k++
	for n := len(later) - 1; n >= 0; n-- {
		f.Ops[k] = later[n]
		k++
	}
}

// reads reports whether y reads a result of x.
func reads(y, x *ir.Op) bool {
	for _, a := range y.Args {
		if a.Def == x {
			return true
		}
	}
	return false
}
