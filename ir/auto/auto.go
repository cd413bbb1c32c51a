package auto

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir/layout"
)

// Layout is an auto layout as the source has it.
type Layout struct {
	Name string
	Pos  diag.Pos // of the name
	// Machine is a name, or the path of a .ptm file as written where File is true. Levels are
	// how many units each level of it has, outermost first: 16 nodes of 8 devices.
	Machine    string
	File       bool
	MachinePos diag.Pos
	Levels     []int
	Keep       []Kept    // in the order of the source
	Allow      []Allowed // one for each word that the source has, in its order
	// Memory is how many bytes of a device a plan may use; 0: what the machine has.
	Memory    int64
	MemoryPos diag.Pos
	// Minimize are names of Objectives, the most important first: at least one.
	Minimize []string
}

// Kept is a directive that every layout has, entirely as the source has it: what it leaves
// out has its default.
type Kept struct {
	Word string // shard
	// Text is the directive as `ptc fmt` writes it, without the indentation of its first line
	// and without a line end; it may be several lines.
	Text string
	// Axes and Mesh are the axes of tensors and of the mesh that it names, in their order.
	Axes, Mesh []string
	// Rule is what it says, with the parameters that its paths select. It is nil for
	// `precision`, which Precision has.
	Rule      layout.Rule
	Precision *layout.Precision
	Pos       diag.Pos
}

// Allowed restricts the choices for one word of `allow`; one of Numbers, Values and Sets
// has what stood behind `in`.
type Allowed struct {
	Word string
	// Least and Most bound a number, both included; 0 is no bound. For `= N` both are N.
	Least, Most int
	Numbers     []int      // of a word for numbers
	Values      []string   // of a word for words
	Sets        [][]string // of a word for lists of axes
	Pos         diag.Pos
}

// Devices is how many devices the machine has.
func (l *Layout) Devices() int {
	n := 1
	for _, x := range l.Levels {
		n *= x
	}
	return n
}

// Allowed is what the layout says of a word; nil where it says nothing, so that every value
// is allowed.
func (l *Layout) Allowed(word string) *Allowed {
	for i := range l.Allow {
		if l.Allow[i].Word == word {
			return &l.Allow[i]
		}
	}
	return nil
}

// Kept are the kept directives of a word.
func (l *Layout) Kept(word string) (out []Kept) {
	for _, k := range l.Keep {
		if k.Word == word {
			out = append(out, k)
		}
	}
	return out
}

// Number is whether a number is allowed; nil allows all.
func (a *Allowed) Number(n int) bool {
	return a == nil || n >= a.Least && (a.Most == 0 || n <= a.Most) && (a.Numbers == nil || slices.Contains(a.Numbers, n))
}

// Value is whether a word is allowed; nil allows all.
func (a *Allowed) Value(word string) bool { return a == nil || slices.Contains(a.Values, word) }

// Set is whether a list of axes is allowed; nil allows all. The order counts in an order,
// and not in a set.
func (a *Allowed) Set(axes []string) bool {
	if a == nil {
		return true
	}
	w := WordOf(a.Word)
	ordered := w != nil && w.Kind == Orders
	return slices.ContainsFunc(a.Sets, func(s []string) bool {
		if ordered {
			return slices.Equal(s, axes)
		}
		return slices.Equal(slices.Sorted(slices.Values(s)), slices.Sorted(slices.Values(axes)))
	})
}

// Range are the least and the most number that are allowed; 0 for a side without a bound.
func (a *Allowed) Range() (least, most int) {
	switch {
	case a == nil:
		return 0, 0
	case len(a.Numbers) > 0:
		return slices.Min(a.Numbers), slices.Max(a.Numbers)
	}
	return a.Least, a.Most
}
