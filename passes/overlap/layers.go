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

// layers are the runs of a function's kernels that are of one layer each, in
// order: where they begin, and of which layer they are.
type layers struct {
	at   []int
	name []string
}

func layersOf(f *ir.Func) *layers {
	out := &layers{}
	for i, x := range f.Ops {
		l := repeated(x.Scope)
		if x.Callee == nil || l == "" || len(out.name) > 0 && out.name[len(out.name)-1] == l {
			continue
		}
		out.at, out.name = append(out.at, i), append(out.name, l)
	}
	return out
}

// afterNext is the place where the second layer begins that is another than the
// one at i: a layer's work has gone by. Without one, it is beyond all.
func (l *layers) afterNext(i int) int {
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
			return l.at[k]
		}
	}
	return 1 << 62
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
