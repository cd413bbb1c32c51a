package pipeline

import "slices"

// Needs is how many places a device needs for what microbatches keep in its slots, for each set of kinds of slots of one of its
// stages in which something may be in use, and for all slots at all stages. Devices whose Kinds are equal have one list of sets.
type Needs struct {
	Kinds  []bool // by chunk and kind: whether there are such slots
	Places []int  // by set
}

// Covers reports whether u is enough for a device that needs v, in all sets.
func (u *Needs) Covers(v *Needs) bool {
	for i, n := range v.Places {
		if u.Places[i] < n {
			return false
		}
	}
	return true
}

// All is the sum over all sets.
func (u *Needs) All() (n int) {
	for _, x := range u.Places {
		n += x
	}
	return n
}

// Needs are those of each device. What is in use in a slot is there by then, or, as what is received ahead, from the slot before
// on: both are counted.
func (s *Schedule) Needs() []Needs {
	out := make([]Needs, len(s.Devices))
	for d, slots := range s.Devices {
		stages := s.Place.Stages(d)
		u := &out[d]
		u.Kinds = make([]bool, kinds*len(stages))
		turns := make([]Turn, len(slots))
		for i, x := range slots {
			at := kinds*slices.Index(stages, x.Stage) + int(x.Kind)
			turns[i], u.Kinds[at] = Turn{at, x.Microbatch}, true
		}
		in := make([]Use, len(u.Kinds))
		count := func(since Use, of []int) {
			clear(in)
			for _, i := range of {
				in[i] = since
			}
			u.Places = append(u.Places, Places(turns, s.Shape.Microbatches, in))
		}
		var all []int
		for c := range stages {
			for set := range 1 << kinds {
				of, there := setOf(set, c, u.Kinds)
				if !there || len(of) == 0 {
					continue
				}
				if count(Before, of); len(of) > 1 {
					count(InTurn, of)
				}
				if len(of) == 1 {
					all = append(all, of[0])
				}
			}
		}
		if len(stages) > 1 {
			count(Before, all)
		}
	}
	return out
}

// setOf are the kinds of a set, by bits, at a chunk; false where a device has no slots of one.
func setOf(set, chunk int, has []bool) (of []int, there bool) {
	for k := range kinds {
		if set>>k&1 == 0 {
			continue
		}
		i := kinds*chunk + k
		if !has[i] {
			return nil, false
		}
		of = append(of, i)
	}
	return of, true
}
