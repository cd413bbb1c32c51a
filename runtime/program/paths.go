package program

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ptc/internal/openpath"
)

// openPath checks that the number is open in a path where, and only where, it is
// that of every instance of a stack, or of every microbatch; nothing else in it may be taken for a number.
func openPath(path string, each bool, count int) error {
	p, open := openpath.Parse(path)
	switch {
	case open != each:
		return fmt.Errorf("path %q: the number is open where, and only where, there is one of every instance", path)
	case !open:
		return nil
	case p.Times > math.MaxInt32 || p.Plus > math.MaxInt32-p.Times || p.Times > (math.MaxInt32-p.Plus)/count:
		return fmt.Errorf("path %q: numbers that are too large", path)
	case path != p.Before+openpath.Open(p.Times, p.Plus)+p.After, strings.ContainsAny(p.After, "{}"), strings.Contains(p.Before, "}"),
		len(p.Before) > 0 && isDigit(p.Before[len(p.Before)-1]), len(p.After) > 0 && isDigit(p.After[0]):
		return fmt.Errorf("path %q has an open number in another form", path)
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// paths holds what goes by paths of some kind, and finds what goes by the same one:
// a path with an open number is those of all instances. What is added must have
// passed [openPath].
type paths[T any] struct {
	// meet is told two that have a path in common, for instance i of the first and
	// j of the second; what both are called.
	meet  func(a, b T, what string, i, j int) error
	first map[string]T        // by kind, path and count
	ones  []entry[T]          // without an open number
	open  map[string][]family // families by kind and path with all numbers left out
	all   []entry[T]          // families
}

type entry[T any] struct {
	kind, path string
	v          T
}

// family is a path with an open number.
type family struct {
	openpath.Path
	count, at int
	slot      int // how many numbers stand before the open one
}

func (p *paths[T]) add(kind, path string, count int, v T) error {
	if p.first == nil {
		p.first, p.open = map[string]T{}, map[string][]family{}
	}
	key := kind + " " + path
	x, isOpen := openpath.Parse(path)
	if isOpen {
		key += " " + strconv.Itoa(count)
	}
	if old, known := p.first[key]; known {
		return p.meet(old, v, kind+" "+path, 0, 0)
	}
	p.first[key] = v
	if !isOpen {
		p.ones = append(p.ones, entry[T]{kind, path, v})
		return nil
	}
	outline, numbers := outlineOf(x.Before)
	rest, _ := outlineOf(x.After)
	key = kind + " " + outline + "#" + rest
	p.open[key] = append(p.open[key], family{x, count, len(p.all), len(numbers)})
	p.all = append(p.all, entry[T]{kind, path, v})
	return nil
}

// outlineOf is a path with a sign for each number, and the numbers' ends.
func outlineOf(path string) (outline string, numbers [][2]int) {
	if !strings.ContainsAny(path, "0123456789") {
		return path, nil
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if !isDigit(path[i]) {
			b.WriteByte(path[i])
			continue
		}
		from := i
		for i+1 < len(path) && isDigit(path[i+1]) {
			i++
		}
		numbers = append(numbers, [2]int{from, i + 1})
		b.WriteByte('#')
	}
	return b.String(), numbers
}

// compare tells meet all that have a path in common and are not written alike.
func (p *paths[T]) compare() error {
	if len(p.all) == 0 {
		return nil
	}
	for _, one := range p.ones {
		outline, numbers := outlineOf(one.path)
		for _, x := range p.open[one.kind+" "+outline] {
			if i, ok := x.instance(one.path, numbers); ok {
				if err := p.meet(p.all[x.at].v, one.v, one.kind+" "+one.path, i, once); err != nil {
					return err
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, e := range p.all {
		x, _ := openpath.Parse(e.path)
		before, _ := outlineOf(x.Before)
		after, _ := outlineOf(x.After)
		key := e.kind + " " + before + "#" + after
		if seen[key] {
			continue
		}
		seen[key] = true
		if err := p.overlaps(e.kind, p.open[key]); err != nil {
			return err
		}
	}
	return nil
}

// instance is the one of x that goes by a path with these numbers.
func (x *family) instance(path string, numbers [][2]int) (int, bool) {
	at := numbers[x.slot]
	n, err := strconv.Atoi(path[at[0]:at[1]])
	i := (n - x.Plus) / x.Times
	return i, err == nil && n >= x.Plus && i < x.count && x.Of(i) == path
}

// overlaps tells meet which families of one outline have paths in common. It goes
// through them by their first numbers: instances of a pipeline's stages follow one
// another, so few are open at a time.
func (p *paths[T]) overlaps(kind string, list []family) error {
	list = slices.Clone(list)
	last := func(x *family) int { return x.Times*(x.count-1) + x.Plus }
	slices.SortStableFunc(list, func(a, b family) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After), cmp.Compare(a.Plus, b.Plus))
	})
	slots := list[0].slot != list[len(list)-1].slot
	var now []family
	pairs := 0
	for _, b := range list {
		keep := now[:0]
		for _, a := range now {
			same := a.slot == b.slot && a.Before == b.Before && a.After == b.After
			if !slots && (!same || last(&a) < b.Plus) {
				continue
			}
			keep = append(keep, a)
			if pairs++; pairs > maxPairs {
				return invalid("%w", within(CountLimit, "%d pairs of paths to compare", int64(pairs), maxPairs))
			}
			if i, j, ok := a.shares(&b); ok {
				if err := p.meet(p.all[a.at].v, p.all[b.at].v, kind+" "+a.Of(i), i, j); err != nil {
					return err
				}
			}
		}
		now = append(keep, b)
	}
	return nil
}

// maxPairs bounds the families of one outline that are compared with one another.
const maxPairs = 1 << 22

// shares finds instances i of a and j of b that go by one path.
func (a *family) shares(b *family) (i, j int, ok bool) {
	if a.slot == b.slot {
		if a.Before != b.Before || a.After != b.After {
			return 0, 0, false
		}
		i, j, ok = meeting(a.Times, a.Plus, b.Times, b.Plus)
		return i, j, ok && i < a.count && j < b.count
	}
	// Each has a number where the other's is open.
	outside := func(x, y *family) (int, bool) {
		path := y.Of(0)
		_, numbers := outlineOf(path)
		at := numbers[x.slot]
		n, err := strconv.Atoi(path[at[0]:at[1]])
		i := (n - x.Plus) / x.Times
		return i, err == nil && n >= x.Plus && i < x.count
	}
	i, ok = outside(a, b)
	j, ok2 := outside(b, a)
	return i, j, ok && ok2 && a.Of(i) == b.Of(j)
}

// meeting gives the least i and j from 0 on for which s·i + p = t·j + q. Products of
// two of the four are below 2^62.
func meeting(s, p, t, q int) (i, j int, ok bool) {
	g, x := gcd(s, t) // s·x = g modulo t
	c := q - p
	if c%g != 0 {
		return 0, 0, false
	}
	m := t / g // i is known modulo m
	i = (c / g % m) * (x % m) % m
	if i < 0 {
		i += m
	}
	if least := (c + s - 1) / s; c > 0 && i < least { // j is not negative
		i += (least - i + m - 1) / m * m
	}
	return i, (s*i - c) / t, true
}

// gcd is the greatest common divisor of a and b, both positive, with an x for which
// a·x is it modulo b.
func gcd(a, b int) (g, x int) {
	x, y := 1, 0
	for b != 0 {
		n := a / b
		a, b, x, y = b, a-n*b, y, x-n*y
	}
	return a, x
}
