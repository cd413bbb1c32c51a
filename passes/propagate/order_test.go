package propagate

import (
	"strings"
	"testing"

	"ptc/ir"
)

// Mesh axes come as the mesh lists them, where no rule wants another order; what
// two axes share comes last, and what zero cuts over after what other rules do.
func TestOrder(t *testing.T) {
	for _, c := range []struct{ mesh, rules, want string }{
		{"dp ep tp", "", "dp ep tp"},
		{"dp ep", "batch:dp,ep experts:ep", "dp ep"},
		{"dp ep", "batch:dp,ep experts:dp", "ep dp"},
		{"ep dp", "batch:dp,ep experts:ep", "dp ep"},
		{"node ep", "batch:node,ep experts:node,ep", "node ep"},
		{"ep tp node", "batch:node,ep experts:node,ep", "tp node ep"},
		{"a b", "x:a,b y:b,a", "a b"},         // the first list counts
		{"a b", "x:a,b y:a z:a,b w:b", "b a"}, // and the first that shares
		{"a b c", "x:a,b,c y:b z:a", "c a b"}, // c is nobody's but x's
		{"a b c", "x:c,b,a y:b,c,a", "c b a"},
		{"dp tp", "batch:dp ffn:tp zero:dp", "tp dp"},
		{"dp cp tp", "batch:dp seq:cp ffn:tp zero:dp,cp", "tp dp cp"},
		{"dp cp tp", "batch:dp seq:cp ffn:tp zero:cp,dp", "tp cp dp"},
		{"dp ep", "batch:dp,ep experts:ep zero:dp", "dp ep"}, // what is shared comes first
	} {
		var mesh []ir.MeshAxis
		for _, n := range strings.Fields(c.mesh) {
			mesh = append(mesh, ir.MeshAxis{Name: n, Size: 2})
		}
		lists, axes, zero := map[string][]string{}, []string{}, []string(nil)
		for _, r := range strings.Fields(c.rules) {
			axis, over, _ := strings.Cut(r, ":")
			if axis == "zero" {
				zero = strings.Split(over, ",")
				continue
			}
			axes, lists[axis] = append(axes, axis), strings.Split(over, ",")
		}
		var got []string
		for _, a := range order(mesh, lists, axes, zero) {
			got = append(got, a.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("mesh %s, %s: %v, want %s", c.mesh, c.rules, got, c.want)
		}
	}
}
