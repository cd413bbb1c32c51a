package program

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSet: another value is in the config, in what is computed of it and in the ports; the
// plan that it was set in is as it was.
func TestSet(t *testing.T) {
	p := sample()
	q, err := p.Set(map[string]float64{"layers": 6})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]KV{{"layers", "6"}, {"seed", "7"}}, q.Config); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Setting{{"layers", 6, true, ""}, {"deep", 7, false, "layers + 1"}}, q.Settings); diff != "" {
		t.Error(diff)
	}
	if v, err := q.Setting(&q.Devices[0].Ports[11], "f32"); v != 3 || err != nil {
		t.Errorf("the port holds %v, %v", v, err)
	}
	if err := q.Validate(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(sample(), p); diff != "" {
		t.Error(diff)
	}
	if same, err := p.Set(nil); same != p || err != nil {
		t.Error("nothing was set")
	}
	if diff := cmp.Diff([]string{"layers"}, p.Ports()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeSet(t *testing.T) {
	for say, values := range map[string]map[string]float64{
		"the plan is for values of which `layers > 1` is true, which does not hold of layers=1": {"layers": 1},
		"layers is 2.5, and has to be a whole number":                                           {"layers": 2.5},
		"heads, width is no port of the plan; its ports are layers":                             {"width": 1, "heads": 2, "layers": 3},
		"deep is no port of the plan":                                                           {"deep": 4},
		"has to be a number that f32 has":                                                       {"layers": 1e300},
	} {
		if q, err := sample().Set(values); q != nil && err == nil || err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v: %v; expected %s", values, err, say)
		}
	}
	p := sample()
	p.Settings, p.Guards = nil, nil
	if _, err := p.Set(map[string]float64{"lr": 1}); err == nil || !strings.Contains(err.Error(), "it has no ports") {
		t.Error(err)
	}
}
