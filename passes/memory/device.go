package memory

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/excerpt"
	"ptc/ir/op"
)

// device is what functions of one device have in common, as [Check] finds it:
// they run one after the other in one arena for each memory.
type device struct {
	first *ir.Func
	// top is, by memory, the end of the highest buffer of any function, rounded up
	// to Align: the exact number of bytes that the device needs.
	top map[ir.Memory]int64
	// at is the place of each argument by role and path; kept are those that
	// have to be there when another function runs.
	at   map[string]family
	kept []string
}

// place is where a value is, for which its memory grows.
func (d *device) place(x excerpt.Placed) family {
	d.top[x.Memory] = max(d.top[x.Memory], aligned(x.Hull().Hi))
	return familyOf(x)
}

// devices proves what no function shows alone: that all functions of a device
// find an argument in the same place, that none writes where another's
// parameters, states or coordinates lie, and that the arena is exactly as large
// as what is in it.
func devices(m *ir.Module) diag.List {
	var bugs diag.List
	bug := func(f *ir.Func, format string, args ...any) {
		bugs = append(bugs, &diag.Error{Code: "E0391", Msg: fmt.Sprintf("@%s: ", f.Name) + fmt.Sprintf(format, args...)})
	}
	of := map[int64]*device{}
	var entries []*ir.Func
	for _, f := range told(m) {
		entries = append(entries, f)
		stage := int64(f.Stage.Or(0))
		if of[stage] == nil {
			of[stage] = &device{first: f, top: map[ir.Memory]int64{}, at: map[string]family{}}
		}
		of[stage].arguments(f, bug)
	}
	for _, f := range entries {
		of[int64(f.Stage.Or(0))].results(f, bug)
	}
	most := map[ir.Memory]int64{}
	for _, f := range entries {
		d := of[int64(f.Stage.Or(0))]
		for _, mem := range memories {
			if arena := f.Attrs.Int(sizeName(mem, "arena"), 0); arena != d.top[mem] {
				bug(f, "the arena has %d bytes, and its buffers end at %d", arena, d.top[mem])
			}
			most[mem] = max(most[mem], d.top[mem])
		}
	}
	if t := m.MetaTerm("arena"); t != nil && len(entries) > 0 {
		for _, mem := range memories {
			if n := t.Args.Int(sizeName(mem, "bytes"), 0); n != most[mem] {
				bug(entries[0], "the arenas need %d bytes, the module says %d", most[mem], n)
			}
		}
	}
	return bugs
}

// told are the entry functions. Where functions of one device have other names for the
// same arguments, since not all have the same runs, they are written out.
func told(m *ir.Module) []*ir.Func {
	var out []*ir.Func
	of := map[int][]*ir.Func{}
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel {
			out = append(out, f)
			of[f.Stage.Or(0)] = append(of[f.Stage.Or(0)], f)
		}
	}
	differ := map[int]bool{}
	for stage, fs := range of {
		differ[stage] = namesOf(fs).differ()
	}
	for i, f := range out {
		if differ[f.Stage.Or(0)] {
			out[i] = f.Unrolled()
		}
	}
	return out
}

// sizeName is the attribute that says how large the arena in a memory is; own is
// that of the device's own.
func sizeName(memory ir.Memory, own string) string {
	if memory == ir.Device {
		return own
	}
	return memory.String()
}

// arenas is the bytes of the arena of each memory, as f says.
func arenas(f *ir.Func) map[ir.Memory]int64 {
	out := map[ir.Memory]int64{}
	for _, mem := range memories {
		out[mem] = f.Attrs.Int(sizeName(mem, "arena"), 0)
	}
	return out
}

// persists says whether a role's arguments stay in memory between functions.
func persists(role string) bool {
	return role == ir.RoleParam || role == ir.RoleState || role == ir.RoleCoord || role == ir.RoleIndex || role == ir.RoleSetting
}

func (d *device) arguments(f *ir.Func, bug func(*ir.Func, string, ...any)) {
	for i, x := range excerpt.Places(f)[:len(f.Args)] {
		a, s := f.Args[i], d.place(x)
		key := a.Role + " " + a.Path
		old, known := d.at[key]
		switch {
		case !known:
			d.at[key] = s
			if persists(a.Role) {
				d.kept = append(d.kept, key)
			}
		case old.memory != s.memory || old.Place != s.Place || persists(a.Role) && old != s:
			x, y := s.hull(), old.hull()
			bug(f, "%s %q is at %d..%d, and at %d..%d in @%s", a.Role, a.Path, x.Lo, x.Hi, y.Lo, y.Hi, d.first.Name)
		}
	}
}

// results checks the places that f writes: of what is kept, only its own new
// values' (see checker.run for whether rightly).
func (d *device) results(f *ir.Func, bug func(*ir.Func, string, ...any)) {
	own := map[*ir.Value]string{}
	number := map[*ir.Value]int{} // of what is done, among the results
	for _, o := range f.Ops {
		for i, v := range o.Results {
			number[v] = i
		}
	}
	var mark func(v *ir.Value, key string) // v, and what is in its place
	mark = func(v *ir.Value, key string) {
		own[v] = key
		switch x := v.Def; {
		case x == nil:
		case op.Has(x, op.Joins):
			for _, a := range x.Args {
				mark(a, key)
			}
		case op.Has(x, op.Completes):
			mark(x.Args[number[v]], key)
		}
	}
	args := f.Named()
	for _, r := range f.Results {
		if a := args.Arg(r.Role, r.Path); a != nil && persists(r.Role) {
			mark(r.Value, r.Role+" "+r.Path)
		}
	}
	kept := d.keeps()
	for _, x := range excerpt.Places(f)[len(f.Args):] {
		v := x.Value
		if op.Has(v.Def, op.Views) || ends(v.Def) {
			continue // nothing writes it, and it is in what it is of
		}
		for _, i := range kept.meeting(d.place(x)) {
			if own[v] != d.kept[i] {
				x, k := x.Hull(), d.at[d.kept[i]].hull()
				bug(f, "%%%d at %d..%d is in the place of a parameter or state, at %d..%d", v.ID, x.Lo, x.Hi, k.Lo, k.Hi)
			}
		}
	}
	for _, a := range f.Args {
		mine := a.Role + " " + a.Path
		for _, i := range kept.meeting(d.at[mine]) {
			if d.kept[i] != mine {
				x, k := d.at[mine].hull(), d.at[d.kept[i]].hull()
				bug(f, "argument %%%d at %d..%d is in the place of a parameter or state, at %d..%d", a.Value.ID, x.Lo, x.Hi, k.Lo, k.Hi)
			}
		}
	}
}

// keeper finds what is kept in a place.
type keeper struct {
	places []family
	index  spotIndex
}

func (d *device) keeps() *keeper {
	k := &keeper{}
	var spots []excerpt.Spot
	for _, key := range d.kept {
		x := d.at[key]
		k.places, spots = append(k.places, x), append(spots, x.spot())
	}
	k.index = indexOf(spots)
	return k
}

// spot is all bytes of the instances, and those between.
func (x family) spot() excerpt.Spot {
	return excerpt.Spot{Memory: x.memory, Span: x.hull(), Wide: x.hull()}
}

// meeting are those that share bytes with x, in ascending order.
func (k *keeper) meeting(x family) []int {
	var out []int
	for _, i := range k.index.meeting(x.spot(), nil) {
		if k.places[i].meets(x) {
			out = append(out, i)
		}
	}
	return out
}
