package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ptc/internal/diag"
)

// Split parts what a command line names, `a100_80:384x8` or `file.ptm:16x8`, into machine and sizes of levels. The
// sizes are empty where there are none.
func Split(spec string) (name, levels string) {
	if i := strings.LastIndexByte(spec, ':'); i >= 0 && !IsFile(spec) {
		return spec[:i], spec[i+1:]
	}
	return spec, ""
}

// On is the machine with sizes of levels as a command line has them, outermost first: "384x8", "4x3125x8". Without
// any it is one device.
func (m *Machine) On(levels string) (*Cluster, error) {
	if levels == "" {
		return m.Sized()
	}
	var sizes []int
	for text := range strings.SplitSeq(levels, "x") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || text[0] == '+' {
			return nil, misfit("sizes of levels, outermost first, such as `16x8`", "", "`%s` is not a list of sizes", levels)
		}
		sizes = append(sizes, n)
	}
	return m.Sized(sizes...)
}

// Sized is the machine with these sizes of levels, outermost first; further levels outside of them are not used.
// A level may be smaller than the file says, if its size divides that.
func (m *Machine) Sized(sizes ...int) (*Cluster, error) {
	c := &Cluster{Machine: m}
	if len(sizes) > len(m.Levels) {
		return nil, misfit(m.shape(), "", "`%s` has %s, and %d sizes were given", m.Name, levelCount(len(m.Levels)), len(sizes))
	}
	devices := 1
	for i, l := range m.Levels {
		n := 1
		if i < len(sizes) {
			n = sizes[len(sizes)-1-i]
		}
		switch {
		case n < 1:
			return nil, misfit("1 or more", "", "a size of %d for level `%s`", n, l.Name)
		case l.Ranks > 0 && l.Ranks%n != 0:
			return nil, misfit(fmt.Sprintf("a number that divides %d", l.Ranks), "", "level `%s` of `%s` has %d ranks, which %d does not divide", l.Name, m.Name, l.Ranks, n)
		case l.Most > 0 && n > l.Most:
			return nil, misfit(fmt.Sprintf("at most %d", l.Most), "", "a size of %d for level `%s` of `%s`", n, l.Name, m.Name)
		case n > maxRanks/devices:
			return nil, misfit(fmt.Sprintf("at most %d", maxRanks), "", "sizes that multiply to too many devices")
		}
		devices *= n
		c.Sizes = append(c.Sizes, n)
	}
	return c, nil
}

// shape is how sizes are given for the machine, in words: "sizes of pods, fabric and node, outermost first".
func (m *Machine) shape() string {
	var names []string
	for _, l := range slices.Backward(m.Levels) {
		names = append(names, "`"+l.Name+"`")
	}
	switch len(names) {
	case 0:
		return "its name alone, for one device"
	case 1:
		return "the size of " + names[0]
	}
	return "at most the sizes of " + strings.Join(names, ", ") + ", in this order"
}

func levelCount(n int) string {
	switch n {
	case 0:
		return "no levels"
	case 1:
		return "1 level"
	}
	return fmt.Sprintf("%d levels", n)
}

// misfit is the error for a machine that there is not, or sizes that it cannot have.
func misfit(want, hint, format string, args ...any) error {
	return diag.List{{Code: "E0810", Msg: fmt.Sprintf(format, args...), Want: want, Hint: hint}}
}
