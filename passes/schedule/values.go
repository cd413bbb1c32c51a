package schedule

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ptc/ir"
)

// traffic is what devices need of each other. It is found before any program is built, so that
// senders know.
type traffic struct {
	// home is the device that makes each value, and that keeps each parameter and
	// state. Data and the numbers of the step are everywhere (no entry).
	home   map[*ir.Value]int
	wanted map[*ir.Value]map[int]bool // the other devices that read a value
	// tags are those of messages, by what is sent: few, as those of each microbatch are
	// as many further on, and transports end at 2^24.
	tags map[*ir.Value]int
	// hops are the messages between stages that follow one another, where devices stand for others.
	hops map[*ir.Value]*hop
}

// programs builds those of all devices: each makes its own copies of what every device does for
// itself, and receives what others make.
func (s *split) programs(keeps *keepers, works []*work) []*program {
	x := &traffic{home: map[*ir.Value]int{}, wanted: map[*ir.Value]map[int]bool{}, tags: map[*ir.Value]int{}}
	progs, read := make([]*program, s.devices), make([][]*ir.Value, s.devices)
	for d, w := range works {
		progs[d] = newProgram(s, d, w, x)
		for _, o := range w.ops() {
			read[d] = append(read[d], o.Args...)
			for _, r := range o.Results {
				x.home[r] = d
			}
		}
	}
	keeps.settle(x.home)
	for _, r := range s.f.Results {
		d := keeps.owner(r, x.home)
		progs[d].results = append(progs[d].results, r)
		read[d] = append(read[d], r.Value)
	}
	for d, p := range progs {
		p.remade = remade(d, x.reads(read[d], d, nil), x.home)
		for _, v := range x.reads(read[d], d, p.remade) {
			if x.wanted[v] == nil {
				x.wanted[v] = map[int]bool{}
			}
			x.wanted[v][d] = true
		}
	}
	for i, v := range slices.SortedFunc(maps.Keys(x.wanted), func(a, b *ir.Value) int { return cmp.Compare(a.ID, b.ID) }) {
		x.tags[v] = i
	}
	s.hops(x)
	for d, p := range progs {
		if s.stands.Compiled(d) {
			p.build(works[d])
		}
	}
	return progs
}

// keepers says which device keeps each parameter and state: a state is where its parameter is.
type keepers struct {
	s       *split
	args    ir.Named
	results map[[2]string]*ir.Value // the new values of parameters and states
	first   map[*ir.Value]int       // the earliest virtual stage that reads a value
	kept    map[string]int          // by role and path, as the functions before this one have it
}

func newKeepers(s *split, kept map[string]int) *keepers {
	k := &keepers{s, s.f.Named(), map[[2]string]*ir.Value{}, map[*ir.Value]int{}, kept}
	for _, r := range s.f.Results {
		if at := [2]string{r.Role, r.Path}; k.results[at] == nil {
			k.results[at] = r.Value
		}
	}
	for _, o := range s.f.Ops {
		at, ok := o.Stage.Get()
		if !ok {
			continue
		}
		for _, a := range o.Args {
			if first, known := k.first[a]; !known || at < first {
				k.first[a] = at
			}
		}
	}
	return k
}

// settle adds the parameters and states to home, and has later functions keep them there.
func (k *keepers) settle(home map[*ir.Value]int) {
	for _, a := range k.s.f.Args {
		if a.Role == ir.RoleParam || a.Role == ir.RoleState {
			home[a.Value] = k.device(a)
		}
	}
	for _, a := range k.s.f.Args {
		if d, ok := home[a.Value]; ok {
			k.kept[a.Role+" "+a.Path] = d
		}
	}
}

// device is that of a parameter or state: the one that functions before
// this one have, else a state's parameter's, else the one that makes its next
// value, else the first that reads it.
func (k *keepers) device(a *ir.Arg) int {
	if d, known := k.kept[a.Role+" "+a.Path]; known {
		return d
	}
	if path, _, ok := strings.Cut(a.Path, "/"); ok && a.Role == ir.RoleState {
		if p := k.args.Arg(ir.RoleParam, path); p != nil {
			return k.device(p)
		}
	}
	if v := k.results[[2]string{a.Role, a.Path}]; v != nil && v.Def != nil {
		if d, ok := k.s.on(v.Def); ok {
			return d
		}
	}
	return k.s.place.Device(k.first[a.Value])
}

// keeper is the device that makes v or keeps it; false where all do.
func (k *keepers) keeper(v *ir.Value) (int, bool) {
	if v.Def != nil {
		return k.s.on(v.Def)
	}
	for _, a := range k.s.f.Args {
		if a.Value == v && (a.Role == ir.RoleParam || a.Role == ir.RoleState) {
			return k.device(a), true
		}
	}
	return 0, false
}

// owner is the device that a result leaves from: where its parameter or state
// is, also where another device, or any, computes it; else the one that makes it,
// and the last for what any device could compute.
func (k *keepers) owner(r ir.Result, home map[*ir.Value]int) int {
	role := r.Role
	if role == ir.RoleGrad {
		role = ir.RoleParam
	}
	if a := k.args.Arg(role, r.Path); a != nil {
		return home[a.Value]
	}
	if d, ok := home[r.Value]; ok {
		return d
	}
	return k.s.devices - 1
}

// reads are the values of those in vs, and of what operations that every device does for itself and those
// that are remade read for them, that device d needs of another one.
func (x *traffic) reads(vs []*ir.Value, d int, remade map[*ir.Value]bool) (out []*ir.Value) {
	seen := map[*ir.Value]bool{}
	var need func(vs []*ir.Value)
	need = func(vs []*ir.Value) {
		for _, v := range vs {
			if seen[v] {
				continue
			}
			seen[v] = true
			if from, ok := x.home[v]; ok && !remade[v] {
				if from != d {
					out = append(out, v)
				}
			} else if v.Def != nil {
				need(v.Def.Args)
			}
		}
	}
	need(vs)
	return out
}
