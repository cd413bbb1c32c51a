package kernel

import (
	"strings"
	"testing"
)

func TestJoin(t *testing.T) {
	sum := finish(t, rowSum("sum"))
	k, err := Join("both", 3, []Section{{Kernel: sum, Args: []int{0, 1}}, {Kernel: sum, Args: []int{0, 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if k.Tasks != 6 || len(k.Bodies()) != 1 || k.Sections[1].First != 3 || len(k.Args()) != 3 {
		t.Errorf("joined:\n%s", k)
	}
	for _, c := range []struct {
		args     int
		sections []Section
		want     string
	}{
		{2, []Section{{Kernel: sum, Args: []int{0, 1}}, {Kernel: sum, Args: []int{0, 1}}}, "argument 1"}, // both write it
		{3, []Section{{Kernel: sum, Args: []int{0, 1}}, {Kernel: sum, Args: []int{1, 2}}}, "argument 1"}, // one reads what the other writes
		{3, []Section{{Kernel: sum, Args: []int{0, 1}}}, "no section has argument 2"},
		{2, []Section{{Kernel: sum, Args: []int{0}}}, "is given 1"},
		{3, []Section{{Kernel: k, Args: []int{0, 1, 2}}}, "has sections"},
	} {
		if _, err := Join("k", c.args, c.sections); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
