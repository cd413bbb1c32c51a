package memory

import (
	"slices"
	"strconv"
	"strings"

	"ptc/ir"
)

// named are the paths of the instances of an argument, of a stack or one for each
// microbatch: text with a mark where numbers are, and the numbers of instance i,
// times·i + plus, of count of them.
type named struct {
	text    string // with the role
	numbers []affine
	count   int
}

type affine struct{ times, plus int }

// namedBy are the names of an argument of a function with micro microbatches.
func namedBy(a *ir.Arg, micro int) named {
	n := named{count: a.Value.Count()}
	if a.Value.Micro {
		n.count = micro
	}
	var text strings.Builder
	text.WriteString(a.Role + " ")
	first, second := ir.OfInstance(a.Path, 0), ir.OfInstance(a.Path, 1)
	for first != "" {
		x, y := digits(first), digits(second)
		if x == 0 {
			text.WriteByte(first[0])
			first, second = first[1:], second[1:]
			continue
		}
		p, _ := strconv.Atoi(first[:x])
		q, _ := strconv.Atoi(second[:y])
		text.WriteByte('#')
		n.numbers = append(n.numbers, affine{q - p, p})
		first, second = first[x:], second[y:]
	}
	n.text = text.String()
	return n
}

// digits is how many s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// open is which of the numbers is that of the instance, or -1.
func (x named) open() int {
	return slices.IndexFunc(x.numbers, func(a affine) bool { return a.times != 0 })
}

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

// names are the arguments of some functions by their text.
type names map[string][]named

// namesOf lists those of which there is one for each instance, and those that are one
// of these in another function.
func namesOf(funcs []*ir.Func) names {
	out := names{}
	add := func(x named) {
		if !slices.ContainsFunc(out[x.text], x.same) {
			out[x.text] = append(out[x.text], x)
		}
	}
	for _, f := range funcs {
		for _, a := range f.Args {
			if many(a) {
				add(namedBy(a, f.Micro))
			}
		}
	}
	if len(out) == 0 {
		return out
	}
	for _, f := range funcs {
		for _, a := range f.Args {
			if x := namedBy(a, f.Micro); !many(a) && slices.ContainsFunc(out[x.text], x.meets) {
				add(x)
			}
		}
	}
	return out
}

// many reports whether there is such an argument for each instance or microbatch.
func many(a *ir.Arg) bool { return a.Value.Each != nil || a.Value.Micro }

// differ reports whether an argument has several names.
func (n names) differ() bool {
	for _, list := range n {
		for i, x := range list {
			if slices.ContainsFunc(list[:i], x.meets) {
				return true
			}
		}
	}
	return false
}
