package compiler

import (
	"strings"
	"testing"
)

// The squares and the updates of all layers are one launch each; what adds the squares
// up is one for each layer.
func TestLayersInOneLaunch(t *testing.T) {
	launches := func(set string) (optimizer, all int) {
		p, _, err := Compile(Options{File: "deep.ptl", Source: []byte(deep), Layout: "single", Target: "ref:f32", Set: []string{set}})
		if err != nil {
			t.Fatal(err)
		}
		d := &p.Devices[0]
		step := &d.Progs[0]
		o := d.Order(step)
		for i := range step.Instrs {
			n := o.Launches(i, o.Times(i))
			if all += n; strings.HasPrefix(step.Instrs[i].Scope, "optimizer") {
				optimizer += n
			}
		}
		return optimizer, all
	}
	few, allFew := launches("layers=6")
	many, allMany := launches("layers=60")
	if many-few != 54 {
		t.Errorf("%d launches of the optimizer for 6 layers, %d for 60, want 54 more", few, many)
	}
	t.Logf("%d launches for 6 layers, %d for 60; of the optimizer %d and %d", allFew, allMany, few, many)
}
