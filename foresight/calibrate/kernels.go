package calibrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ptc/foresight/cost"
	"ptc/internal/dtype"
	"ptc/runtime/exec"
	"ptc/runtime/program"
)

// launched is what the launches of one instruction of a plan took.
type launched struct {
	parts     []cost.Part
	instances int64   // of the kernel in a launch
	seconds   float64 // of a launch
	share     float64 // of the step of its plan
}

// Steps of a plan that are left out, as their caches and pages are cold and the runtime tries numbers of threads; and how many
// are measured of either kind, as they run always and launch by launch.
const (
	warmUp    = 24
	leastRuns = 7
	mostRuns  = 200
)

// run measures the kernels of a plan of one device, for about so many seconds.
func run(ctx context.Context, p *program.Plan, threads int, seconds float64, model *cost.Model) ([]launched, error) {
	if n := p.Mesh.Ranks(); n != 1 {
		return nil, fmt.Errorf("the plan has %d devices, which compute at the same time on the same processors; plans of one device are measured", n)
	}
	if !strings.HasPrefix(p.Target, "cpu:") {
		return nil, fmt.Errorf("the plan is for the target %s; kernels are measured of plans for processors (ptc compile --target cpu)", p.Target)
	}
	m, err := exec.Open(p, exec.Options{Threads: threads})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	step := m.Program("step")
	if step == nil {
		return nil, fmt.Errorf("the plan has no training step: it was compiled for ptc sample")
	}
	if err := m.Initialize(1); err != nil {
		return nil, err
	}
	for _, f := range step.Fields() {
		n := 1
		for _, size := range f.Shape {
			n *= size
		}
		if err := step.Feed(f.Name, make([]byte, dtype.Bytes(f.DType, n))); err != nil {
			return nil, err
		}
	}
	r := &recorder{plan: p, spans: map[int][]float64{}}
	if err := r.measure(ctx, m, step, seconds); err != nil {
		return nil, err
	}
	return r.launches(model)
}

// recorder collects the times of a plan's launches.
type recorder struct {
	plan   *program.Plan
	at     []exec.Span // of each launch, of one step
	spans  map[int][]float64
	traced []float64 // seconds of all launches of a step
	plain  []float64 // seconds of a step that runs as always
}

// measure runs steps, as always and launch by launch in turns.
func (r *recorder) measure(ctx context.Context, m *exec.Machine, step *exec.Program, seconds float64) error {
	begin := time.Now()
	for i := 0; i < warmUp+mostRuns; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i >= warmUp+leastRuns && time.Since(begin).Seconds() > seconds {
			break
		}
		m.SetStep(int64(i + 1))
		from := time.Now()
		if err := step.Run(); err != nil {
			return err
		}
		took := time.Since(from).Seconds()
		if i < warmUp {
			if i == warmUp-1 {
				begin = time.Now()
			}
			continue
		}
		r.plain = append(r.plain, took)
		if err := r.trace(step); err != nil {
			return err
		}
	}
	return nil
}

// trace runs a step launch by launch.
func (r *recorder) trace(step *exec.Program) error {
	r.at = r.at[:0]
	sum := 0.0
	err := step.Trace(func(s exec.Span) {
		took := s.End.Sub(s.Start).Seconds()
		r.at = append(r.at, s)
		r.spans[s.Instr] = append(r.spans[s.Instr], took)
		sum += took
	})
	r.traced = append(r.traced, sum)
	return err
}

// launches are the times of launches. Each includes the way into native code, which a step takes once: together they are at most
// as long as a step.
func (r *recorder) launches(model *cost.Model) ([]launched, error) {
	if len(r.plain) == 0 {
		return nil, fmt.Errorf("no step was measured")
	}
	plain, sum := quartile(r.plain), 0.0
	for _, list := range r.spans {
		sum += quartile(list)
	}
	scale := 1.0
	if sum > plain {
		scale = plain / sum
	}
	known := map[int][]cost.Part{}
	var out []launched
	for _, s := range r.at {
		if s.In.Comm != nil {
			continue
		}
		k := &r.plan.Kernels[s.In.Kernel]
		parts, ok := known[s.In.Kernel]
		if !ok {
			var err error
			if parts, err = model.PartsOf(k.Name, k.IR, nil); err != nil {
				return nil, err
			}
			known[s.In.Kernel] = parts
		}
		t := quartile(r.spans[s.Instr]) * scale
		out = append(out, launched{parts: parts, instances: instances(&s, k), seconds: t, share: t / plain})
	}
	return out, nil
}

// instances is how many instances of a kernel a launch computes, by its work.
func instances(s *exec.Span, k *program.Kernel) int64 {
	switch {
	case k.Flops > 0:
		return max(s.Flops/k.Flops, 1)
	case k.Bytes > 0:
		return max(s.Bytes/k.Bytes, 1)
	}
	return 1
}

// quartile is the value below which a quarter of the list lies: what other work on the host delays is above it.
func quartile(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	return s[(len(s)-1)/4]
}
