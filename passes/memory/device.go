package memory

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
)

// device is what functions of one device have in common, as [Check] finds it:
// they run one after the other in one arena.
type device struct {
	first *ir.Func
	// top is the end of the highest buffer of any function, rounded up to Align:
	// the exact number of bytes that the device needs.
	top int64
	// at is the place of each argument by role and path; kept are those that
	// have to be there when another function runs.
	at   map[string]span
	kept []string
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
	for _, f := range m.Funcs {
		if f.Attrs.Text("class") == "kernel" {
			continue
		}
		entries = append(entries, f)
		stage := f.Attrs.Int("stage", 0)
		if of[stage] == nil {
			of[stage] = &device{first: f, at: map[string]span{}}
		}
		of[stage].arguments(f, bug)
	}
	var most int64
	for _, f := range entries {
		d := of[f.Attrs.Int("stage", 0)]
		d.results(f, bug)
	}
	for _, f := range entries {
		d := of[f.Attrs.Int("stage", 0)]
		if arena := f.Attrs.Int("arena", 0); arena != d.top {
			bug(f, "the arena has %d bytes, and its buffers end at %d", arena, d.top)
		}
		most = max(most, d.top)
	}
	if t := m.MetaTerm("arena"); t != nil && len(entries) > 0 && t.Args.Int("bytes", 0) != most {
		bug(entries[0], "the arenas need %d bytes, the module says %d", most, t.Args.Int("bytes", 0))
	}
	return bugs
}

// persists says whether a role's arguments stay in memory between functions.
func persists(role string) bool {
	return role == ir.RoleParam || role == ir.RoleState || role == ir.RoleCoord
}

func (d *device) arguments(f *ir.Func, bug func(*ir.Func, string, ...any)) {
	for _, a := range f.Args {
		lo := a.Attrs.Int("at", 0)
		s := span{lo, lo + int64(a.Value.Type.Bytes())}
		d.top = max(d.top, aligned(s.hi))
		key := a.Role + " " + a.Path
		old, known := d.at[key]
		switch {
		case !known:
			d.at[key] = s
			if persists(a.Role) {
				d.kept = append(d.kept, key)
			}
		case old.lo != s.lo || persists(a.Role) && old != s:
			bug(f, "%s %q is at %d..%d, and at %d..%d in @%s", a.Role, a.Path, s.lo, s.hi, old.lo, old.hi, d.first.Name)
		}
	}
}

// results checks the places that f writes: of what is kept, only its own new
// values' (see checker.run for whether rightly).
func (d *device) results(f *ir.Func, bug func(*ir.Func, string, ...any)) {
	own := map[*ir.Value]string{}
	for _, r := range f.Results {
		if a := f.Arg(r.Role, r.Path); a != nil && persists(r.Role) {
			own[r.Value] = r.Role + " " + r.Path
		}
	}
	for _, o := range f.Ops {
		for j, lo := range o.Attrs.Ints("at") {
			v := o.Results[j]
			s := span{lo, lo + int64(v.Type.Bytes())}
			d.top = max(d.top, aligned(s.hi))
			for _, key := range d.kept {
				if k := d.at[key]; s.lo < k.hi && k.lo < s.hi && own[v] != key {
					bug(f, "%%%d at %d..%d is in the place of a parameter or state, at %d..%d", v.ID, s.lo, s.hi, k.lo, k.hi)
				}
			}
		}
	}
	for _, a := range f.Args {
		mine := a.Role + " " + a.Path
		s := d.at[mine]
		for _, key := range d.kept {
			if k := d.at[key]; key != mine && s.lo < k.hi && k.lo < s.hi {
				bug(f, "argument %%%d at %d..%d is in the place of a parameter or state, at %d..%d", a.Value.ID, s.lo, s.hi, k.lo, k.hi)
			}
		}
	}
}
