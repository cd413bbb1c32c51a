package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"ptc/foresight/cost"
	"ptc/foresight/machine"
)

// TestWaits: the waits of a class do not overlap, each lies in a turn, and those of a cause last as long as the result says,
// which counts the time after the class's own end too.
func TestWaits(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for i := range randomCases {
		s, sizes := randomShape(r, 64)
		c := cluster(r, sizes...)
		c.Device.Occupies = given(0) // kernels that an exchange slows down do not wait
		name := fmt.Sprintf("case %d: %+v on %v", i, s, sizes)
		j, err := New(planOf(s), work(1e6+r.Int64N(1e9), 1e6, 1e6, r.Int64N(1e9)), cost.New(c, cost.Software{}), Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		waits, until, turned := make([]map[string]machine.PS, len(j.Classes)), make([]machine.PS, len(j.Classes)), make([]machine.PS, len(j.Classes))
		for c := range waits {
			waits[c] = map[string]machine.PS{}
		}
		got, err := Run(j, How{Trace: func(s Span) {
			switch {
			case s.Waits:
				if s.Begin < until[s.Class] || s.End <= s.Begin {
					t.Errorf("%s: %+v follows a wait that ended at %d", name, s, until[s.Class])
				}
				until[s.Class] = s.End
				waits[s.Class][s.Cause] += s.End - s.Begin
			case s.Task >= 0:
				if s.Begin != turned[s.Class] || until[s.Class] > s.End {
					t.Errorf("%s: %+v follows a turn that ended at %d, and a wait that ended at %d", name, s, turned[s.Class], until[s.Class])
				}
				turned[s.Class] = s.End
			}
		}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for c, x := range got.Classes {
			if turned[c] != x.End {
				t.Errorf("%s: class %d ends at %d, its last turn at %d", name, c, x.End, turned[c])
			}
			if len(j.Classes[c].turns) > 1 {
				waits[c]["bubble"] += got.Step - x.End
			}
			for cause, spent := range x.ByCause {
				if n := j.Causes[cause]; cause != int(causeHost) && n[:4] != "comp" && waits[c][n] != spent {
					t.Errorf("%s: class %d waits %d ps for %s, and spends %d", name, c, waits[c][n], n, spent)
				}
			}
		}
	}
}
