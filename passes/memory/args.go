package memory

import (
	"slices"
	"strconv"
	"strings"

	"ptc/ir"
)

// placeArgs gives arguments their places: the same for the same role and path
// in every entry function, apart from the temporaries. Where several in a row are of
// one stack, those of its first instance come first, then those of the second.
func (p *planner) placeArgs(f *ir.Func) {
	for i := 0; i < len(f.Args); {
		j := i + 1
		for s := f.Args[i].Value.Each; s != nil && j < len(f.Args) && f.Args[j].Value.Each == s; {
			j++
		}
		for _, mem := range memories {
			p.placeRow(f.Args[i:j], mem)
		}
		i = j
	}
}

// placeRow places those of one stack, or one alone, that are in a memory.
func (p *planner) placeRow(args []*ir.Arg, memory ir.Memory) {
	var row []*ir.Arg
	var step int64
	for _, a := range args {
		if a.Memory != memory {
			continue
		}
		key := a.Role + " " + a.Path
		if old := p.fixed[key]; old != nil {
			a.At, a.Spread = old.At, old.Spread
			continue
		}
		p.fixed[key] = a
		row = append(row, a)
		step += aligned(int64(max(1, a.Value.Type.Bytes())))
	}
	at := p.top[memory]
	for _, a := range row {
		a.At, a.Spread = ir.OffsetOf(at), ir.Spread{}
		if s := a.Value.Each; s != nil {
			a.Spread = ir.Spread{Step: step, Ring: s.Count}
		}
		at += aligned(int64(max(1, a.Value.Type.Bytes())))
	}
	if len(row) > 0 {
		p.top[memory] += step * int64(row[0].Value.Count())
	}
}

// agree writes the functions of a device out where they do not repeat the same
// arguments: a path that stands for itself in one, and for an instance in another,
// would be in two places.
func (p *planner) agree() {
	if p.agreed() {
		return
	}
	for i, f := range p.entries {
		g := f.Unrolled()
		p.m.Funcs[slices.Index(p.m.Funcs, f)], p.entries[i] = g, g
	}
}

// agreed reports whether no two paths of different text name the same argument.
func (p *planner) agreed() bool {
	of := map[string][]named{} // by role and path without numbers
	for _, f := range p.entries {
		for _, a := range f.Args {
			if s := a.Value.Each; s != nil {
				x := namedBy(a.Path, s.Count)
				key := a.Role + " " + x.text
				if slices.ContainsFunc(of[key], x.same) {
					continue
				}
				if slices.ContainsFunc(of[key], x.meets) {
					return false
				}
				of[key] = append(of[key], x)
			}
		}
	}
	for _, f := range p.entries {
		for _, a := range f.Args {
			if x := namedBy(a.Path, 1); a.Value.Each == nil && slices.ContainsFunc(of[a.Role+" "+x.text], x.meets) {
				return false
			}
		}
	}
	return true
}

// named are the paths of the instances of an argument: text with a mark where numbers
// are, and the numbers of instance i, times·i + plus, of count of them.
type named struct {
	text    string
	numbers []affine
	count   int
}

type affine struct{ times, plus int }

func namedBy(path string, count int) named {
	n := named{count: count}
	var text strings.Builder
	first, second := ir.OfInstance(path, 0), ir.OfInstance(path, 1)
	for first != "" {
		a, b := digits(first), digits(second)
		if a == 0 {
			text.WriteByte(first[0])
			first, second = first[1:], second[1:]
			continue
		}
		x, _ := strconv.Atoi(first[:a])
		y, _ := strconv.Atoi(second[:b])
		text.WriteByte('#')
		n.numbers = append(n.numbers, affine{y - x, x})
		first, second = first[a:], second[b:]
	}
	n.text = text.String()
	return n
}

// digits is how many s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

func (x named) same(y named) bool { return x.count == y.count && slices.Equal(x.numbers, y.numbers) }

// meets reports whether x and y, of the same text, name the same argument.
func (x named) meets(y named) bool {
	lo, hi := [2]int{0, 0}, [2]int{x.count - 1, y.count - 1} // instances that are left
	for i, a := range x.numbers {
		b := y.numbers[i]
		if a.times == 0 && b.times == 0 && a.plus != b.plus {
			return false
		}
		if a.times != 0 && b.times != 0 {
			if !x.common(y, a, b) {
				return false
			}
			continue
		}
		for side, of := range [2][2]affine{{a, b}, {b, a}} {
			if t, by := of[0].times, of[1].plus-of[0].plus; t != 0 {
				if by%t != 0 {
					return false
				}
				lo[side], hi[side] = max(lo[side], by/t), min(hi[side], by/t)
			}
		}
	}
	return lo[0] <= hi[0] && lo[1] <= hi[1]
}

// common reports whether a of some instance of x is b of one of y.
func (x named) common(y named, a, b affine) bool {
	from := max(0, (b.plus-a.plus+a.times-1)/a.times)
	for k := from; k < min(x.count, from+b.times+1); k++ {
		if j := a.times*k + a.plus - b.plus; j >= 0 && j%b.times == 0 && j/b.times < y.count {
			return true
		}
	}
	return false
}
