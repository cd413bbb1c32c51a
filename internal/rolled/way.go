package rolled

import "iter"

// Once is the number of the instance, or of the microbatch, of what is there once.
const Once = -1

// Way is a way through the instances of a stack.
type Way struct {
	Count int
	Down  bool // from the last instance to the first
}

// Number is the number in the stack of the n-th instance of the way, and the other way about.
func (w Way) Number(n int) int {
	if w.Down {
		return w.Count - 1 - n
	}
	return n
}

// Ends are the numbers of the first instance of the way and of the last one.
func (w Way) Ends() (first, last int) { return w.Number(0), w.Number(w.Count - 1) }

// Follows reports whether what enters each instance, at the places in, is where the instance before left
// it, at the places out, for microbatch m; if not, it gives the number of an instance where it is not.
//
// Both places are constant, periodic or linear in the number of the instance. If they are the same in one
// period of both and for two instances more, they are the same everywhere.
func (w Way) Follows(in, out Place, m int) (k int, ok bool) {
	period := in.period(w.Count) * out.period(w.Count)
	for n := 1; n < w.Count && n <= period+2; n++ {
		if k := w.Number(n); in.Of(k, m) != out.Of(w.Number(n-1), m) {
			return k, false
		}
	}
	return 0, true
}

// Aheads are the least and the most that operations are ahead.
func Aheads(ops int, ahead func(i int) int) (least, most int) {
	for i := range ops {
		if a := ahead(i); i == 0 {
			least, most = a, a
		} else {
			least, most = min(least, a), max(most, a)
		}
	}
	return least, most
}

// Order yields the operations of a run as they are issued, each with the place of its instance on the way: in
// iteration t, each for instance t + ahead, if there is one, until every instance has had all of them.
func (w Way) Order(ops int, ahead func(i int) int) iter.Seq2[int, int] {
	return func(yield func(i, n int) bool) {
		least, most := Aheads(ops, ahead)
		for iteration := -most; iteration < w.Count-least; iteration++ {
			for i := range ops {
				if n := iteration + ahead(i); n >= 0 && n < w.Count && !yield(i, n) {
					return
				}
			}
		}
	}
}

// Few is how many instances stand for count, if their rings have a period in common, operations are so far
// ahead of one another, and rows reach over so many places: see the theorem. It is count where that is less.
func Few(count, period, ahead, reach int) int {
	few := 2*period + ahead + reach + 4
	few += ((count-few)%period + period) % period
	return min(few, count)
}

// Common is the least common multiple of a and b, both positive, or most if it is more than that.
func Common(a, b, most int) int {
	g, r := a, b
	for r != 0 {
		g, r = r, g%r
	}
	if a/g > most/b {
		return most
	}
	return min(a/g*b, most)
}
