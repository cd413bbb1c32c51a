package schedule

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"

	"ptc/ir"
)

// expand builds the programs: walks each device's operations, making its own
// copies of what every device does for itself and receiving what others make.
func (s *splitter) expand(works []*work) {
	order := make([][]*ir.Op, s.devices)
	for d, w := range works {
		order[d] = w.ops()
	}
	home := s.homes(order)
	// What each device reads from others, found before any program is built so
	// that senders know.
	wanted := map[*ir.Value]map[int]bool{}
	read := make([][]*ir.Value, s.devices)
	for d, ops := range order {
		for _, o := range ops {
			read[d] = append(read[d], o.Args...)
		}
	}
	for _, r := range s.f.Results {
		p := s.progs[s.owner(r, home)]
		p.results = append(p.results, r)
		read[p.d] = append(read[p.d], r.Value)
	}
	for d, p := range s.progs {
		p.remade = s.remade(d, s.reads(read[d], d, home, nil), home)
		for _, v := range s.reads(read[d], d, home, p.remade) {
			if wanted[v] == nil {
				wanted[v] = map[int]bool{}
			}
			wanted[v][d] = true
		}
	}
	s.tags = map[*ir.Value]int{}
	for i, v := range slices.SortedFunc(maps.Keys(wanted), func(a, b *ir.Value) int { return cmp.Compare(a.ID, b.ID) }) {
		s.tags[v] = i
	}
	for d, p := range s.progs {
		p.home, p.wanted = home, wanted
		p.build(works[d])
	}
}

// homes is the device that makes each value, and that keeps each parameter and
// state: a state is where its parameter is. Data and the numbers of the step are
// everywhere (no entry).
func (s *splitter) homes(order [][]*ir.Op) map[*ir.Value]int {
	home := map[*ir.Value]int{}
	for d, ops := range order {
		for _, o := range ops {
			for _, r := range o.Results {
				home[r] = d
			}
		}
	}
	s.readers()
	for _, a := range s.f.Args {
		if a.Role == ir.RoleParam || a.Role == ir.RoleState {
			home[a.Value] = s.keeps(a)
		}
	}
	for _, a := range s.f.Args {
		if d, ok := home[a.Value]; ok {
			s.kept[a.Role+" "+a.Path] = d
		}
	}
	return home
}

// keeps is the device of a parameter or state: the one that functions before
// this one have, else a state's parameter's, else the one that makes its next
// value, else the first that reads it.
func (s *splitter) keeps(a *ir.Arg) int {
	if d, known := s.kept[a.Role+" "+a.Path]; known {
		return d
	}
	if path, _, ok := strings.Cut(a.Path, "/"); ok && a.Role == ir.RoleState {
		if p := s.args.Arg(ir.RoleParam, path); p != nil {
			return s.keeps(p)
		}
	}
	if v := s.results[[2]string{a.Role, a.Path}]; v != nil && v.Def != nil {
		if d, ok := s.on(v.Def); ok {
			return d
		}
	}
	return s.device(s.first[a.Value])
}

// readers notes the arguments, the new values of parameters and states, and the earliest virtual
// stage that reads each value.
func (s *splitter) readers() {
	s.args = s.f.Named()
	s.results, s.first = map[[2]string]*ir.Value{}, map[*ir.Value]int{}
	for _, r := range s.f.Results {
		if k := [2]string{r.Role, r.Path}; s.results[k] == nil {
			s.results[k] = r.Value
		}
	}
	for _, o := range s.f.Ops {
		at, ok := o.Stage.Get()
		if !ok {
			continue
		}
		for _, a := range o.Args {
			if first, known := s.first[a]; !known || at < first {
				s.first[a] = at
			}
		}
	}
}

// owner is the device that a result leaves from: where its parameter or state
// is, also where another device, or any, computes it; else the one that makes it,
// and the last for what any device could compute.
func (s *splitter) owner(r ir.Result, home map[*ir.Value]int) int {
	role := r.Role
	if role == ir.RoleGrad {
		role = ir.RoleParam
	}
	if a := s.args.Arg(role, r.Path); a != nil {
		return home[a.Value]
	}
	if d, ok := home[r.Value]; ok {
		return d
	}
	return s.devices - 1
}

// reads are the values of those in vs, and of what operations that every device does for itself and those
// that are remade read for them, that device d needs of another one.
func (s *splitter) reads(vs []*ir.Value, d int, home map[*ir.Value]int, remade map[*ir.Value]bool) (out []*ir.Value) {
	seen := map[*ir.Value]bool{}
	var need func(vs []*ir.Value)
	need = func(vs []*ir.Value) {
		for _, v := range vs {
			if seen[v] {
				continue
			}
			seen[v] = true
			if from, ok := home[v]; ok && !remade[v] {
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

// readers lists the devices that want v, in order.
func readers(wanted map[int]bool) []int {
	var out []int
	for d := range wanted {
		out = append(out, d)
	}
	sort.Ints(out)
	return out
}
