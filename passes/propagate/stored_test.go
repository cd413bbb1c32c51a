package propagate

import (
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/passes/propagate/factor"
)

// Zero shards one axis over all of its mesh axes wherever one divides, in the order of the mesh, and others
// where none does.
func TestZeroShardsOneAxis(t *testing.T) {
	for _, c := range []struct{ sizes, rules, zero, want string }{
		{"64 64", "", "dp cp", "dp cp|"},
		{"64 64", "b:tp", "dp cp", "dp cp|tp"},
		{"64 64", "a:tp", "dp cp", "tp|dp cp"}, // one that no rule shards
		{"3 64", "b:tp", "dp cp", "|tp dp cp"}, // or behind what one does
		{"4 2", "", "dp cp", "dp|cp"},          // none divides by both
		{"4 2 8", "", "dp cp", "||dp cp"},      // the third does
		{"64 64", "a:cp", "dp cp", "cp|dp"},    // a rule has one of them
		{"64 64", "", "dp cp ep", "dp cp ep|"}, // three
		{"8 64", "b:tp", "dp cp ep", "|tp dp cp ep"},
		{"8 6", "", "dp cp ep", "dp cp|ep"}, // as many as divide
		{"3", "", "dp cp", ""},
	} {
		l := &layout{claims: map[string][]claim{}, zero: strings.Fields(c.zero), mesh: factor.Mesh{
			{Name: "tp", Size: 2}, {Name: "dp", Size: 4}, {Name: "cp", Size: 2}, {Name: "ep", Size: 2}}}
		if axis, m, some := strings.Cut(c.rules, ":"); some {
			l.claims[axis] = []claim{{mesh: m}}
		}
		if got := shardsOf(l.stored("w", sized(c.sizes), true)); got != c.want {
			t.Errorf("%s, %s, zero over %s: %s, want %s", c.sizes, c.rules, c.zero, got, c.want)
		}
	}
}

// So a parameter has no fewer shards than with one mesh axis after the other.
func TestZeroShardsAll(t *testing.T) {
	several := 0
	for seed := range int64(2000) {
		r := rand.New(rand.NewSource(seed))
		l := &layout{claims: map[string][]claim{}}
		for _, name := range []string{"tp", "dp", "cp", "ep"} {
			l.mesh = append(l.mesh, ir.MeshAxis{Name: name, Size: []int{2, 2, 3, 4}[r.Intn(4)]})
		}
		l.zero = []string{"dp", "cp", "ep"}[:2+r.Intn(2)]
		typ := ir.Type{DType: ir.F32}
		for i := range 1 + r.Intn(3) {
			typ.Axes = append(typ.Axes, ir.Axis{Name: string(rune('a' + i)), Size: []int{2, 3, 4, 8, 12, 24, 96}[r.Intn(7)]})
		}
		if r.Intn(2) == 0 {
			l.claims["a"] = []claim{{mesh: "tp"}}
		}
		got, each := l.stored("w", typ, true), l.stored("w", typ, false)
		for _, m := range l.zero {
			l.shardFirst(each, []string{m})
		}
		if x, y := l.shards(got), l.shards(each); x < y {
			t.Errorf("seed %d: %s is in %d shards, one after the other in %d", seed, got, x, y)
		}
		for _, a := range got.Axes {
			if a.Size%l.mesh.Shards(a.Mesh) != 0 {
				t.Errorf("seed %d: %s does not divide", seed, got)
			}
			if len(a.Mesh) > 1 {
				several++
			}
		}
	}
	if several < 500 {
		t.Errorf("%d axes over several mesh axes", several)
	}
}

func (l *layout) shards(t ir.Type) int {
	n := 1
	for _, a := range t.Axes {
		n *= l.mesh.Shards(a.Mesh)
	}
	return n
}

func sized(sizes string) ir.Type {
	t := ir.Type{DType: ir.F32}
	for i, n := range strings.Fields(sizes) {
		size, err := strconv.Atoi(n)
		if err != nil {
			panic(err)
		}
		t.Axes = append(t.Axes, ir.Axis{Name: string(rune('a' + i)), Size: size})
	}
	return t
}

func shardsOf(t ir.Type) string {
	var out []string
	for _, a := range t.Axes {
		out = append(out, strings.Join(a.Mesh, " "))
	}
	return strings.Join(out, "|")
}
