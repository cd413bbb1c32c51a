package openpath

import (
	"strconv"
	"strings"
)

// Path is a path with an open number: that of instance i is
// Before, Times·i + Plus, After.
type Path struct {
	Before, After string
	Times, Plus   int
}

// Of is the path of instance i.
func (p Path) Of(i int) string { return p.Before + strconv.Itoa(p.Times*i+p.Plus) + p.After }

// Parse reads a path with an open number; false where none is open.
func Parse(path string) (Path, bool) {
	before, rest, ok := strings.Cut(path, "{")
	open, after, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return Path{}, false
	}
	times, plus, ok := number(open)
	return Path{before, after, times, plus}, ok
}

// Of is the path of instance i; the path itself where no number is open.
func Of(path string, i int) string {
	p, ok := Parse(path)
	if !ok {
		return path
	}
	return p.Of(i)
}

// Open is what stands for the number times·i + plus of instance i.
func Open(times, plus int) string {
	s := "i"
	if times != 1 {
		s = strconv.Itoa(times) + s
	}
	if plus != 0 {
		s += "+" + strconv.Itoa(plus)
	}
	return "{" + s + "}"
}

// number reads what [Open] writes between braces.
func number(s string) (times, plus int, ok bool) {
	a, b, ok := strings.Cut(s, "i")
	times, err := 1, error(nil)
	if a != "" {
		times, err = strconv.Atoi(a)
	}
	if ok && err == nil && b != "" {
		plus, err = strconv.Atoi(strings.TrimPrefix(b, "+"))
		ok = b[0] == '+'
	}
	return times, plus, ok && err == nil && times > 0 && plus >= 0
}
