package certify

import (
	"math/bits"
	"slices"
	"strings"

	"ptc/foresight/certificate"
	"ptc/internal/wide"
)

// tabled is the level from which on tables say something: all that the time of a block depends on is chosen above it.
const tabled = scheduleLevel

// forms checks that each leaf has the fields of its reason, and a source of its numbers that its part can have.
func (k *checker) forms() error {
	for i := range k.c.Leaves {
		l, p := &k.c.Leaves[i], k.parts[i]
		k.verdict.Leaves[l.Why]++
		want := certificate.Leaf{At: l.At, Why: l.Why, By: l.By} // with the fields that it may have
		switch l.Why {
		case certificate.Illegal:
			want.Code = l.Code
		case certificate.Over:
			want.Bytes = l.Bytes
		case certificate.Bound:
			want.Bound = l.Bound
		case certificate.Exact:
			want.PS, want.Bytes = l.PS, l.Bytes
		default:
			return k.leafFault(Form, i, "`%s` is no reason: expected illegal, over, bound or exact", l.Why)
		}
		if *l != want {
			return k.leafFault(Form, i, "a leaf with the reason %s has a field that belongs to another reason", l.Why)
		}
		if l.Why == certificate.Illegal && l.Code == "" {
			return k.leafFault(Form, i, "the code of the compiler's error is missing")
		}
		if err := k.source(i, l, p); err != nil {
			return err
		}
	}
	return nil
}

// source checks what the numbers of a leaf are from. A probe is of a layout. A part above the level of tables has its numbers from
// the model alone; one below it, from all tables that there are; and one at this level, from the first ones of these, or none.
func (k *checker) source(i int, l *certificate.Leaf, p *part) error {
	if l.By == certificate.Probe || l.Why == certificate.Illegal || l.Why == certificate.Exact {
		switch {
		case l.Why == certificate.Bound:
			return k.leafFault(Form, i, "a bound is not by %s", l.By)
		case l.By != certificate.Probe:
			return k.leafFault(Form, i, "the reason %s is by %s, not by %s", l.Why, certificate.Probe, l.By)
		case len(p.words) < levels:
			return k.leafFault(Form, i, "this is no layout that could be probed: it has %d of %d choices", len(p.words), levels)
		}
		return nil
	}
	if !slices.Contains(sources, l.By) {
		return k.leafFault(Form, i, "`%s` is no source of numbers: expected facts, rows, table, tables or probe", l.By)
	}
	may := []certificate.By{certificate.Facts}
	if len(p.words) >= tabled {
		for _, b := range k.blocksOf(p) {
			may = append(may, b.by)
		}
	}
	if len(p.words) > tabled {
		may = may[len(may)-1:]
	}
	if !slices.Contains(may, l.By) {
		return k.leafFault(Form, i, "its numbers are by %s; of this part of the space they are by %s", l.By, list(may))
	}
	return nil
}

// sources are what numbers of a part may be from.
var sources = []certificate.By{certificate.Facts, certificate.Rows, certificate.OneTable, certificate.Tables}

func list(all []certificate.By) string {
	var words []string
	for _, x := range all {
		words = append(words, string(x))
	}
	return strings.Join(words, " or ")
}

// byFacts checks the numbers that follow from the model alone.
func (k *checker) byFacts() error { return k.bounds(certificate.Facts, Facts) }

// byTables checks the numbers that follow from tables.
func (k *checker) byTables() error {
	for _, by := range sources[1:] {
		if err := k.bounds(by, Blocks); err != nil {
			return err
		}
	}
	return nil
}

// bounds checks the leaves whose numbers are from one source: that the numbers are the verifier's own, and that they exclude the
// part.
func (k *checker) bounds(by certificate.By, check Check) error {
	for i := range k.c.Leaves {
		l := &k.c.Leaves[i]
		if l.By != by {
			continue
		}
		x := k.bound(k.parts[i], k.c.Slack, k.tables(i)...)
		switch l.Why {
		case certificate.Over:
			switch {
			case l.Bytes != x.bytes:
				return k.leafFault(check, i, "bytes is %d; by the verifier's formula it is %d", l.Bytes, x.bytes)
			case l.Bytes <= k.c.Memory:
				return k.leafFault(check, i, "%d bytes are not more than the limit of %d", l.Bytes, k.c.Memory)
			}
		case certificate.Bound:
			if l.Bound != x.time {
				return k.leafFault(check, i, "bound is %d ps; by the verifier's formula it is %d ps", l.Bound, x.time)
			}
			if w := k.c.Winner; k.better(k.value(i, x), k.valueOf(w)) {
				return k.leafFault(check, i, "this part may have a better layout than leaves[%d], the winner: it takes at least %d ps and %d bytes; the winner takes %d ps and %d bytes (a search that was interrupted leaves such parts)",
					w, x.time, x.bytes, k.c.Leaves[w].PS, k.c.Leaves[w].Bytes)
			}
		}
	}
	return nil
}

// best checks that the winner is the first of the best leaves that were evaluated. Without one, no leaf may leave open whether a
// layout fits.
func (k *checker) best() error {
	w := k.c.Winner
	if w < -1 || w >= len(k.c.Leaves) {
		return fault(Winner, "winner is %d; there are %d leaves", w, len(k.c.Leaves))
	}
	if w >= 0 && k.c.Leaves[w].Why != certificate.Exact {
		return k.leafFault(Winner, w, "the winner's reason is %s; it must be %s", k.c.Leaves[w].Why, certificate.Exact)
	}
	for i := range k.c.Leaves {
		l := &k.c.Leaves[i]
		switch {
		case w < 0 && (l.Why == certificate.Exact || l.Why == certificate.Bound):
			return k.leafFault(Winner, i, "winner is -1, but the reason %s does not say that no layout of this part fits", l.Why)
		case l.Why == certificate.Exact && l.Bytes > k.c.Memory:
			return k.leafFault(Winner, i, "the layout takes %d bytes, more than the limit of %d", l.Bytes, k.c.Memory)
		case l.Why == certificate.Exact && i != w && k.better(k.valueOf(i), k.valueOf(w)):
			return k.leafFault(Winner, i, "the layout is better than leaves[%d], the winner: it takes %d ps and %d bytes; the winner takes %d ps and %d bytes",
				w, l.PS, l.Bytes, k.c.Leaves[w].PS, k.c.Leaves[w].Bytes)
		}
	}
	return nil
}

// value is what layouts are compared by.
type value struct {
	least
	devices int
	leaf    int // its number: leaves are in the tree's order
}

func (k *checker) value(i int, x least) value { return value{x, k.parts[i].devices, i} }

func (k *checker) valueOf(i int) value {
	return k.value(i, least{k.c.Leaves[i].PS, k.c.Leaves[i].Bytes})
}

// better reports whether a is better than b by the first objective in which they differ or, where they are equal, comes first.
// Every device has the same price and power, so that cost and energy are as devices times seconds.
func (k *checker) better(a, b value) bool {
	for _, o := range k.auto.Minimize {
		var x, y [2]uint64
		switch o {
		case "memory":
			x[1], y[1] = uint64(a.bytes), uint64(b.bytes)
		case "devices":
			x[1], y[1] = uint64(a.devices), uint64(b.devices)
		case "cost", "energy":
			x[0], x[1] = bits.Mul64(uint64(a.time), uint64(a.devices))
			y[0], y[1] = bits.Mul64(uint64(b.time), uint64(b.devices))
		default:
			x[1], y[1] = uint64(a.time), uint64(b.time)
		}
		if x != y {
			return x[0] < y[0] || x[0] == y[0] && x[1] < y[1]
		}
	}
	return a.leaf < b.leaf
}

// near reports whether the steps of the winner and of a leaf that was evaluated differ by at most 1% of the winner's.
func (k *checker) near(i int) bool {
	w := k.c.Winner
	if w < 0 || k.c.Leaves[i].Why != certificate.Exact {
		return false
	}
	a, b := k.c.Leaves[i].PS, k.c.Leaves[w].PS
	return max(a, b)-min(a, b) <= wide.MulDiv(b, 1, 100)
}
