package forecast

import (
	"math"
	"testing"

	"ptc/foresight/machine"
	"ptc/runtime/program"
)

func given(v float64) machine.Sourced { return machine.Sourced{Value: v, Source: "test"} }

// plan has a parameter of 1,000 elements on each of 4 devices, and a state that is sharded over them.
func plan() *program.Plan {
	axis := program.Axis{Name: "a", Size: 1000, Global: 1000}
	shard := program.Axis{Name: "a", Size: 250, Global: 1000, Mesh: []string{"dp"}}
	return &program.Plan{
		Mesh: program.Mesh{{Name: "dp", Size: 4}},
		Devices: []program.Device{{
			Arena: 10_000,
			Buffers: []program.Buffer{
				{Space: program.Params, Bytes: 4000, DType: "f32", Axes: []program.Axis{axis}},
				{Space: program.Optimizer, Offset: 4032, Bytes: 1000, DType: "f32", Axes: []program.Axis{shard}},
			},
			Tensors: []program.Tensor{{Path: "w", Buffer: 0}, {Path: "w/m", Buffer: 1}},
		}},
	}
}

// TestResilience: checkpoints have each tensor once, and the best interval makes more progress than others.
func TestResilience(t *testing.T) {
	c := &machine.Cluster{Machine: &machine.Machine{MTBF: given(4e6), Host: machine.Host{Devices: 4, Disk: given(800)}}}
	r := resilience(plan(), c, 100)
	if r.Bytes != 8000 || r.Checkpoint != 10 || r.MTBF != 1e6 {
		t.Fatalf("%+v", r)
	}
	if want := math.Sqrt(2 * 10 * 1e6); r.Young != want || math.Abs(r.Daly/want-1) > 0.01 {
		t.Errorf("intervals %g and %g, by Young's formula %g", r.Young, r.Daly, want)
	}
	share := func(interval float64) float64 {
		return interval / (r.MTBF * math.Exp(r.Restart/r.MTBF) * math.Expm1((interval+r.Checkpoint)/r.MTBF))
	}
	for _, x := range []float64{0.3, 0.8, 1.25, 3} {
		if share(x*r.Daly) > r.Share {
			t.Errorf("%g times the interval makes more progress: %g, %g", x, share(x*r.Daly), r.Share)
		}
	}
	if resilience(plan(), &machine.Cluster{Machine: &machine.Machine{}}, 100) != nil {
		t.Error("a machine without failures has a goodput")
	}
}

// TestFit: what does not fit comes with what would make it fit.
func TestFit(t *testing.T) {
	c := &machine.Cluster{Machine: &machine.Machine{Device: machine.Device{Memory: given(9_000), Reserve: given(500)}}}
	m := memoryOf(plan(), c, nil)
	if m.Fits || m.Bytes != 10_000 || m.Capacity != 8_500 || len(m.Advice) < 2 {
		t.Errorf("%+v", m)
	}
	if n := replicated(plan()); n != 1 {
		t.Errorf("the state is there %d times", n)
	}
	whole := plan()
	whole.Devices[0].Buffers[1].Axes[0].Mesh = nil
	if n := replicated(whole); n != 4 {
		t.Errorf("a state that is not sharded is there %d times", n)
	}
	c.Device.Memory = given(10_500)
	if m := memoryOf(plan(), c, nil); !m.Fits || m.Advice != nil {
		t.Errorf("%+v", m)
	}
}

// TestKnobs: a changed machine leaves the first one as it was.
func TestKnobs(t *testing.T) {
	m, err := machine.Named("h100")
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.On("2x8")
	if err != nil {
		t.Fatal(err)
	}
	peak, latency := m.Device.Peak["bf16"], m.Levels[0].Latency["simple"]
	for _, k := range knobs(c.Machine, "bf16") {
		other, changed := copied(c), 0
		k.of(other.Machine, func(s machine.Sourced) machine.Sourced {
			changed++
			s.Value *= 2
			return s
		})
		if changed == 0 || m.Device.Peak["bf16"] != peak || m.Levels[0].Latency["simple"] != latency {
			t.Errorf("%s: %d numbers changed, or those of the machine itself", k.name, changed)
		}
	}
}
