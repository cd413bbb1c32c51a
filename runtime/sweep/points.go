package sweep

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// MaxPoints bounds a sweep, far above any that is meant.
const MaxPoints = 100_000

// Axis is a name and the values that it takes in turn.
type Axis struct {
	Name   string
	Values []string
}

// Setting is a name with one value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Point is a combination of values.
type Point struct {
	Number   int // from 1
	Settings []Setting
}

// String is as the command line has it: lr=1e-3 seed=2.
func (p Point) String() string {
	var parts []string
	for _, s := range p.Settings {
		parts = append(parts, s.Name+"="+s.Value)
	}
	return strings.Join(parts, " ")
}

var (
	axisName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	span     = regexp.MustCompile(`^(-?[0-9]+)\.\.(-?[0-9]+)$`)
)

// ParseAxis reads name=value,value… A value a..b of whole numbers is all from a to b.
// Commas within quotes and brackets are of a value.
func ParseAxis(text string) (Axis, error) {
	name, list, ok := strings.Cut(text, "=")
	if !ok || !axisName.MatchString(name) {
		return Axis{}, fmt.Errorf("`%s` is not an axis of a sweep: expected name=value,value…", text)
	}
	a := Axis{Name: name}
	for _, v := range split(list) {
		if v = strings.TrimSpace(v); v == "" {
			return Axis{}, fmt.Errorf("`%s` has an empty value", text)
		}
		m := span.FindStringSubmatch(v)
		if m == nil {
			a.Values = append(a.Values, v)
			continue
		}
		from, err1 := strconv.ParseInt(m[1], 10, 64)
		to, err2 := strconv.ParseInt(m[2], 10, 64)
		if err1 != nil || err2 != nil || to < from || uint64(to)-uint64(from) >= MaxPoints {
			return Axis{}, fmt.Errorf("`%s` is not a range of integers, the smaller first, of at most %d", v, MaxPoints)
		}
		for n := from; ; n++ {
			a.Values = append(a.Values, strconv.FormatInt(n, 10))
			if n == to {
				break
			}
		}
	}
	seen := map[string]bool{}
	for _, v := range a.Values {
		if seen[v] {
			return Axis{}, fmt.Errorf("`%s` has the value %s twice", text, v)
		}
		seen[v] = true
	}
	return a, nil
}

// split cuts at the commas that are in no quotes and in no brackets.
func split(list string) (out []string) {
	depth, quoted, from := 0, false, 0
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			out = append(out, list[from:i])
			from = i + 1
		}
	}
	return append(out, list[from:])
}

// Points is every combination, the values of the last axis in turn first.
func Points(axes []Axis) ([]Point, error) {
	n := 1
	for i, a := range axes {
		for _, b := range axes[:i] {
			if a.Name == b.Name {
				return nil, fmt.Errorf("%s is an axis twice", a.Name)
			}
		}
		if n *= len(a.Values); n > MaxPoints {
			return nil, fmt.Errorf("the sweep has more than %d points", MaxPoints)
		}
	}
	out := make([]Point, n)
	for k := range out {
		p := Point{Number: k + 1, Settings: make([]Setting, len(axes))}
		for i, rest := len(axes)-1, k; i >= 0; i-- {
			v := axes[i].Values
			p.Settings[i] = Setting{axes[i].Name, v[rest%len(v)]}
			rest /= len(v)
		}
		out[k] = p
	}
	return out, nil
}
