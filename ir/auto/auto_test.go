package auto

import (
	"slices"
	"testing"
)

// What a layout allows, in each of its forms.
func TestAllowed(t *testing.T) {
	l := &Layout{Levels: []int{16, 8}, Allow: []Allowed{
		{Word: "tp", Least: 2, Most: 8}, {Word: "dp", Numbers: []int{4, 2}}, {Word: "zero", Values: []string{"1", "3"}},
		{Word: "tensor", Sets: [][]string{{"heads", "ffn"}}}, {Word: "placement", Sets: [][]string{{"pp", "dp", "tp"}}}, {Word: "pp", Least: 4},
	}}
	for _, c := range []struct {
		what      string
		got, want bool
	}{
		{"tp = 1", l.Allowed("tp").Number(1), false}, {"tp = 2", l.Allowed("tp").Number(2), true}, {"tp = 8", l.Allowed("tp").Number(8), true},
		{"tp = 9", l.Allowed("tp").Number(9), false}, {"pp = 1000", l.Allowed("pp").Number(1000), true}, {"cp = 7", l.Allowed("cp").Number(7), true},
		{"dp = 2", l.Allowed("dp").Number(2), true}, {"dp = 3", l.Allowed("dp").Number(3), false},
		{"zero 3", l.Allowed("zero").Value("3"), true}, {"zero 0", l.Allowed("zero").Value("0"), false}, {"offload", l.Allowed("offload").Value("none"), true},
		{"a set in another order", l.Allowed("tensor").Set([]string{"ffn", "heads"}), true}, {"a part of a set", l.Allowed("tensor").Set([]string{"ffn"}), false},
		{"an order", l.Allowed("placement").Set([]string{"pp", "dp", "tp"}), true}, {"another order", l.Allowed("placement").Set([]string{"dp", "pp", "tp"}), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v", c.what, c.got)
		}
	}
	if least, most := l.Allowed("dp").Range(); least != 2 || most != 4 || l.Devices() != 128 {
		t.Errorf("dp from %d to %d of %d devices", least, most, l.Devices())
	}
	if least, most := l.Allowed("cp").Range(); least != 0 || most != 0 {
		t.Errorf("cp from %d to %d", least, most)
	}
}

// A word names one row, and a choice has values.
func TestWords(t *testing.T) {
	for i, w := range Words {
		if WordOf(w.Name) != &Words[i] || w.What == "" || (w.Kind == Choice) != (len(w.From) > 1) {
			t.Errorf("the row of `%s` is %+v", w.Name, w)
		}
	}
	for _, m := range Mesh {
		if w := WordOf(m); w == nil || w.Kind != Sizes {
			t.Errorf("`allow` has no size of the mesh axis `%s`", m)
		}
	}
	if names := ObjectiveNames(); len(names) != len(slices.Compact(slices.Sorted(slices.Values(names)))) || WordOf("speed") != nil {
		t.Errorf("objectives %v", names)
	}
}
