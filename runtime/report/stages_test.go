package report

import (
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/runtime/explain"
	"ptc/runtime/program"
	"ptc/runtime/timeline"
)

// TestStages: the parts of a stage add up to its arena, parameters and states are all that the device has of them, and
// what each device communicates is what the busiest has in all.
func TestStages(t *testing.T) {
	for _, layout := range every {
		p := planOf(t, layout)
		d := explain.Describe(p)
		if len(d.Memory.Stages) != len(p.Devices) {
			t.Fatalf("%s: %d stages of %d classes of devices", layout, len(d.Memory.Stages), len(p.Devices))
		}
		activations := int64(0)
		for _, s := range d.Memory.Stages {
			parts := []int64{s.Params, s.Optimizer, s.Grads, s.Activations, s.Temporaries, s.Inputs, s.Validation, s.Unused}
			sum := int64(0)
			for _, n := range parts {
				sum += n
				if n < 0 {
					t.Errorf("%s: a part below zero: %v", layout, parts)
				}
			}
			if sum != s.Arena || s.Arena != d.Memory.Peak[s.Class] || !s.Exact {
				t.Errorf("%s: parts %v of %d bytes", layout, parts, s.Arena)
			}
			own := map[program.Space]int64{}
			for _, x := range p.Devices[s.Class].Tensors {
				if b := &p.Devices[s.Class].Buffers[x.Buffer]; b.Memory == "" {
					own[b.Space] += b.Bytes * int64(p.Devices[s.Class].Count(b.Stack))
				}
			}
			if own[program.Params] != s.Params || own[program.Optimizer] != s.Optimizer {
				t.Errorf("%s: %d bytes of parameters and %d of states; expected %d and %d", layout, s.Params, s.Optimizer, own[program.Params], own[program.Optimizer])
			}
			of := int64(0)
			for _, m := range s.Modules {
				of += m.Bytes
			}
			if of != s.Activations {
				t.Errorf("%s: activations of %d bytes, by module of %d", layout, s.Activations, of)
			}
			activations += s.Activations
		}
		if activations == 0 {
			t.Errorf("%s: no activations", layout)
		}
		most := int64(0)
		for i := range p.Devices {
			sum := int64(0)
			for _, l := range d.Communication {
				if l.Class == i {
					sum += l.Bytes
				}
			}
			most = max(most, sum)
		}
		if most != d.Sends.Bytes {
			t.Errorf("%s: the busiest device communicates %d bytes, and by level %d", layout, d.Sends.Bytes, most)
		}
	}
}

// TestLevels: what a device sends is that of rings, and groups lie where the mesh has them: its last axis is the nearest.
func TestLevels(t *testing.T) {
	near := map[string]int{"tp": 2, "pp": 4, "dp": 8}
	seen := map[string]bool{}
	for _, l := range explain.Describe(planOf(t, "pipe")).Communication {
		seen[l.Axis] = true
		if l.Within != near[l.Axis] && !strings.Contains(l.Axis, ",") {
			t.Errorf("%s over %s lies in %d devices", l.Kind, l.Axis, l.Within)
		}
		want := map[string]int64{collective.AllReduce: l.Bytes, collective.ReduceScatter: l.Bytes / 2, collective.AllGather: l.Bytes / 2, collective.Send: l.Bytes}[l.Kind]
		if !strings.Contains(l.Axis, ",") && (l.Sent < want || l.Sent > want+int64(l.Count)) {
			t.Errorf("%s over %s of 2 devices sends %d bytes of %d", l.Kind, l.Axis, l.Sent, l.Bytes)
		}
	}
	for axis := range near {
		if !seen[axis] {
			t.Errorf("nothing over %s", axis)
		}
	}
}

// TestIdle: the idle share of 1F1B is that of its closed form, (p-1)/(m+p-1), whether it is drawn or not, and a large one
// is warned of.
func TestIdle(t *testing.T) {
	const pipe = "layout pipe { mesh pp = 4  pipeline blocks over pp { schedule = 1f1b  microbatches = "
	for _, c := range []struct {
		micro string
		want  float64
		warns bool
	}{{"4", 3. / 7, true}, {"8", 3. / 11, true}, {"16", 3. / 19, false}} {
		p := piped(t, pipe+c.micro+" } }", c.micro)
		d := explain.Describe(p)
		if diff := d.Idle - c.want; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s microbatches: idle for %v of a step; expected %v", c.micro, d.Idle, c.want)
		}
		text := explain.Text(p, "summary")
		if (explain.IdleWarning(p) != "") != c.warns || strings.Contains(text, "warning: devices are idle for") != c.warns {
			t.Errorf("%s microbatches: warns %q, and\n%s", c.micro, explain.IdleWarning(p), text)
		}
		if x := timeline.Of(p); x == nil || x.Idle != d.Idle {
			t.Error("the timeline says otherwise")
		}
	}
	if p := planOf(t, "single"); explain.Describe(p).Idle != 0 || explain.IdleWarning(p) != "" {
		t.Error("one device is idle")
	}
}
