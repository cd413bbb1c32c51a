package sim

import (
	"testing"

	"ptc/foresight/cost"
	"ptc/foresight/machine"
)

// TestHostAhead: a device waits for the launch of a kernel where the host has not come to it, and the host goes ahead while the
// device works.
func TestHostAhead(t *testing.T) {
	for _, x := range []struct {
		kernels []int64 // picoseconds
		want    machine.PS
	}{
		{[]int64{1, 1, 1}, 301},      // each waits for its launch
		{[]int64{500, 1, 1}, 602},    // the first hides the launches of the others
		{[]int64{1, 1, 500}, 800},    // which the last one cannot
		{[]int64{100, 100, 50}, 350}, // as fast as the host
	} {
		s := &segment{slow: full}
		for _, k := range x.kernels {
			s.issued(100)
			s.add(1, machine.PS(k), true)
		}
		if s.device != x.want || s.total != x.want {
			t.Errorf("kernels of %v ps end after %d, expected %d", x.kernels, s.device, x.want)
		}
	}
}

// TestHostOfUpdates: what is once a step does not wait for the host if that launches it at once.
func TestHostOfUpdates(t *testing.T) {
	p := planOf(shape{dp: 1, pp: 1, tp: 1, micro: 2, schedule: "gpipe"})
	c := cluster(nil, 1)
	w := work(10, 10, 10, 10)
	step := func(o Options) machine.PS {
		j, err := New(p, w, cost.New(c, cost.Software{HostLaunch: true, HostKernel: 100e-12}), o)
		if err != nil {
			t.Fatal(err)
		}
		return runOf(t, "host", j).Step
	}
	if all, some := step(Options{}), step(Options{UpdateAtOnce: true}); all-some != 100 {
		t.Errorf("a step takes %d ps, and %d without the host's launch of the update; expected 100 less", all, some)
	}
}
