package validate

import "fmt"

// Different is a result that two modules compute otherwise.
type Different struct {
	Result Result
	Before string // what the first computes where they part; empty: no such result
	After  string
}

func (d *Different) Error() string {
	switch {
	case d.Before == "":
		return fmt.Sprintf("%s is new", d.Result)
	case d.After == "":
		return fmt.Sprintf("%s is gone", d.Result)
	}
	return fmt.Sprintf("%s is computed otherwise: from %s, which was %s", d.Result, d.After, d.Before)
}

// Same returns nil if both modules, numbered by this table, have the same
// results, or the first that differs.
func (t *Table) Same(before, after *Numbered) error {
	for _, r := range before.Order {
		a, b := before.Of[r], Number(-1)
		if n, ok := after.Of[r]; ok {
			b = n
		} else {
			return &Different{Result: r, Before: t.nodes[a].what}
		}
		if a != b {
			x, y := t.part(a, b)
			return &Different{r, x, y}
		}
	}
	for _, r := range after.Order {
		if _, ok := before.Of[r]; !ok {
			return &Different{Result: r, After: t.nodes[after.Of[r]].what}
		}
	}
	return nil
}

// part is where two expressions part: it follows, as long as both do the same,
// the first operands that differ.
func (t *Table) part(a, b Number) (string, string) {
	for {
		x, y := t.nodes[a], t.nodes[b]
		if x.what != y.what || len(x.args) != len(y.args) {
			return x.what, y.what
		}
		for i := range x.args {
			if x.args[i] != y.args[i] {
				a, b = x.args[i], y.args[i]
				break
			}
		}
	}
}
