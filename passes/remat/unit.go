package remat

import "ptc/ir"

// unit is what one instance decides: a region, or those that an instance of a run has
// in a row, such as blocks that alternate. There are count of it, one after the other.
type unit struct {
	regions []*region
	fronts  []front // of each region
	all     front   // of the unit
	count   int
	stage   int
	once    int64 // what the first instance keeps besides
}

// unitsOf joins regions that follow one another in a run.
func unitsOf(regions []*region, fronts []front) (out []unit) {
	for i, r := range regions {
		if n := len(out) - 1; n >= 0 && r.run != nil && out[n].regions[0].run == r.run && out[n].stage == r.stage {
			u := &out[n]
			u.regions, u.fronts, u.once = append(u.regions, r), append(u.fronts, fronts[i]), u.once+r.once
			continue
		}
		u := unit{regions: []*region{r}, fronts: []front{fronts[i]}, count: 1, stage: r.stage, once: r.once}
		if r.run != nil {
			u.count = r.run.Stack.Count
		}
		out = append(out, u)
	}
	return out
}

// maxJoined is how many options a unit of several regions has at most.
const maxJoined = 1 << 10

// join finds the front of the unit: all ways to take an option of each region. With
// one microbatch at a time (alone), the backward phase of a region runs when those
// behind it have been released; else what they keep and rematerialize adds up, the
// latter in full where a microbatch waits for gradients of weights.
func (u *unit) join(alone, waits bool) {
	u.all = u.fronts[0]
	for i, next := range u.fronts[1:] {
		var list []option
		for k, a := range u.all.options {
			parts := a.parts
			if i == 0 {
				parts = []int{k}
			}
			for j, b := range next.options {
				x := option{keep: a.keep + b.keep, flops: a.flops + b.flops, parts: append(parts[:i+1:i+1], j)}
				switch {
				case alone:
					x.work = max(a.work, a.keep+b.work)
				case waits:
					x.work = a.work + b.work
				default:
					x.work = x.keep + max(a.work-a.keep, b.work-b.keep)
				}
				list = append(list, x)
			}
		}
		list = thin(list, 0)
		slack := u.all.slack + next.slack
		for delta := list[0].flops>>14 + 1; len(list) > maxJoined; delta *= 2 {
			list = thin(list, delta)
			slack += delta
		}
		u.all = front{options: list, slack: slack}
	}
}

// join finds the fronts of all units.
func (d *device) join() {
	one := d.one()
	for i := range d.units {
		u := &d.units[i]
		u.join(one, d.flight[u.stage].pending > 0)
	}
}

// option is the option of region i where the unit has its option k.
func (u *unit) option(i, k int) option {
	if parts := u.all.options[k].parts; parts != nil {
		k = parts[i]
	}
	return u.fronts[i].options[k]
}

// stack is what the unit is of, or nil.
func (u *unit) stack() *ir.Stack {
	if run := u.regions[0].run; run != nil {
		return run.Stack
	}
	return nil
}

// number is that of the n-th instance in the order of the forward phase.
func (u *unit) number(n int) int {
	if run := u.regions[0].run; run != nil && run.Down {
		return u.count - 1 - n
	}
	return n
}

// exact is the most instances that are decided one by one.
const exact = 8

// groups are how many instances, in the order of the forward phase, have the same
// option. Where instances may differ and there are many, groups are small at both ends
// and large between them, so that their number grows with the logarithm of count: sums
// of sizes from either end give all numbers, and the best choice is in general one
// option for the first ones and another for the others (see [device]).
func groups(count int, apart bool) (out []int) {
	if !apart {
		return []int{count}
	}
	var ends []int
	for size := 1; count > exact && 4*size <= count; size *= 2 {
		ends = append(ends, size)
		count -= 2 * size
	}
	out = append(out, ends...)
	size := 1
	if len(ends) > 0 {
		size = ends[len(ends)-1]
	}
	for ; count > 0; count -= size {
		out = append(out, min(size, count))
	}
	for i := len(ends) - 1; i >= 0; i-- {
		out = append(out, ends[i])
	}
	return out
}
