package overlap

import (
	"slices"
	"strings"

	"ptc/ir"
)

// layerOf is a module path up to the number of its outermost repeated module.
func layerOf(scope string) string {
	if l := repeated(scope); l != "" {
		return l
	}
	return scope
}

// repeated is layerOf, empty of what is in no repeated module.
func repeated(scope string) string {
	parts := strings.Split(scope, ".")
	for i, s := range parts {
		if s != "" && s[0] >= '0' && s[0] <= '9' {
			return strings.Join(parts[:i+1], ".")
		}
	}
	return ""
}

// layers are the stretches of a text outside of runs whose kernels are of one layer
// each, in order: where they begin, and of which layer they are; and where its runs
// stand, each of which is many.
type layers struct {
	at   []int
	name []string
	runs []int
}

func layersOf(t *text) *layers {
	out := &layers{}
	for i, x := range t.ops {
		if t.runs[x] != nil {
			out.runs = append(out.runs, i)
		}
		l := repeated(x.Scope)
		if x.Callee == nil || l == "" || len(out.name) > 0 && out.name[len(out.name)-1] == l {
			continue
		}
		out.at, out.name = append(out.at, i), append(out.name, l)
	}
	return out
}

// afterNext is the place where the second layer begins that is another than the
// one at i, or the next run: a layer's work has gone by. Without one, it is beyond all.
func (l *layers) afterNext(i int) int {
	run := 1 << 62
	if r, _ := slices.BinarySearch(l.runs, i); r < len(l.runs) {
		run = l.runs[r]
	}
	k, found := slices.BinarySearch(l.at, i)
	if !found {
		k--
	}
	here, next := "", ""
	if k >= 0 {
		here = l.name[k]
	}
	for k++; k < len(l.at); k++ {
		switch name := l.name[k]; {
		case name == here || name == next:
		case next == "":
			next = name
		default:
			return min(run, l.at[k])
		}
	}
	return run
}

// shrinks reports whether x leaves less than it reads, such as a reduce_scatter:
// what it reads stays in memory until it is done, and is freed a layer later
// rather than where the optimizer reads what is left of it.
func shrinks(x *ir.Op) bool {
	read, left := 0, 0
	for _, a := range x.Args {
		read += a.Type.Bytes()
	}
	for _, r := range x.Results {
		left += r.Type.Bytes()
	}
	return left < read
}
