package tune_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"ptc/backend/tile/schedule"
	"ptc/compiler"
	"ptc/compiler/tune"
	"ptc/runtime/program"
)

func plan(t *testing.T, o compiler.Options) *program.Plan {
	t.Helper()
	if os.Getenv("PTC_LLVM") == "none" {
		t.Skip("PTC_LLVM=none")
	}
	text, err := os.ReadFile("../../examples/mlp/mlp.ptl")
	if err != nil {
		t.Fatal(err)
	}
	o.File, o.Source = "mlp.ptl", text
	p, _, err := compiler.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// found is a small plan, and what is found of it; it is measured once.
func found(t *testing.T) (*program.Plan, *tune.Report) {
	t.Helper()
	p := plan(t, compiler.Options{})
	if report == nil {
		before := encode(t, p)
		var err error
		report, err = tune.Plan(t.Context(), p, tune.Options{Threads: 2, Seconds: 0.001, Done: func(r *tune.Report, k *tune.Kernel) error {
			if _, ok := r.Table.Of(k.Key); !ok {
				t.Errorf("kernel %s is told of before its schedule is in the table", k.Name)
			}
			told++
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, encode(t, p)) {
			t.Error("the search changed the plan")
		}
	}
	return p, report
}

var (
	report *tune.Report
	told   int
)

// TestPlan measures the kernels of a small plan, and compiles it with what was found:
// the plan says by which schedules it was cut, and is rebuilt from itself alone.
func TestPlan(t *testing.T) {
	p, r := found(t)
	if told != len(r.Kernels) || told < 4 || len(r.Table.Keys()) != told {
		t.Fatalf("found %d kernels told of, %d reported, %d in the table; expected the same number, 4 or more", told, len(r.Kernels), len(r.Table.Keys()))
	}
	for _, k := range r.Kernels {
		if k.Choices < 2 || k.OwnSeconds <= 0 || k.BestSeconds > k.OwnSeconds || k.Best == k.Own && k.Gain() != 1 || k.NotMeasured != "" {
			t.Errorf("found %+v", *k)
		}
		if k.Best != k.Own && k.Gain() < 1/(1-tune.MinGain)-1e-9 {
			t.Errorf("%s: another schedule for a gain of %.3f", k.Name, k.Gain())
		}
	}
	var back tune.Report
	if text, err := json.Marshal(r); err != nil || json.Unmarshal(text, &back) != nil || back.Kernels[0].Best != r.Kernels[0].Best {
		t.Errorf("the report is not read back: %v", err)
	}

	again := plan(t, compiler.Options{Schedules: r.Table})
	if len(again.Schedules) != told {
		t.Errorf("found %d schedules in the plan; expected %d", len(again.Schedules), told)
	}
	rebuilt, _, err := compiler.Rebuild(again, "")
	if err != nil || !bytes.Equal(encode(t, rebuilt), encode(t, again)) {
		t.Errorf("the plan is not rebuilt from itself: %v, %v", err, compiler.Differences(again, rebuilt))
	}

	known, err := schedule.ParseTable(r.Table.String())
	if err != nil {
		t.Fatal(err)
	}
	known.Set(strings.Repeat("f", 32), schedule.Schedule{Rows: 7}, "of another plan")
	rest, err := tune.Plan(t.Context(), p, tune.Options{Threads: 1, Seconds: 0.001, Known: known})
	if err != nil || len(rest.Kernels) != 0 || rest.Known != told || rest.Table.String() != known.String() {
		t.Errorf("found %d kernels measured again, %v; expected none, and all that was known", len(rest.Kernels), err)
	}
}

// TestOwn gives every kernel the schedule that the compiler takes by itself: the code is
// the same.
func TestOwn(t *testing.T) {
	p, r := found(t)
	own := schedule.NewTable(p.Target)
	for _, k := range r.Kernels {
		own.Set(k.Key, k.Own, "")
	}
	again := plan(t, compiler.Options{Schedules: own})
	for i, c := range again.Code {
		if !bytes.Equal(c.Data, p.Code[i].Data) {
			t.Errorf("object %d differs", i)
		}
	}
}

// TestStop ends a search after its first kernel.
func TestStop(t *testing.T) {
	p := plan(t, compiler.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := tune.Plan(ctx, p, tune.Options{Threads: 1, Seconds: 0.001, Done: func(*tune.Report, *tune.Kernel) error { cancel(); return nil }})
	if !errors.Is(err, context.Canceled) || r == nil || len(r.Kernels) != 1 || len(r.Table.Keys()) != 1 {
		t.Errorf("found %v", err)
	}
	full := errors.New("no room")
	if _, err := tune.Plan(t.Context(), p, tune.Options{Threads: 1, Seconds: 0.001, Done: func(*tune.Report, *tune.Kernel) error { return full }}); !errors.Is(err, full) {
		t.Errorf("found %v; expected the callback's error", err)
	}
}

// TestRefused compiles with schedules that it cannot have.
func TestRefused(t *testing.T) {
	p, r := found(t)
	other := schedule.NewTable("cpu:other")
	wrong, none := schedule.NewTable(p.Target), schedule.NewTable(p.Target)
	wrong.Set(r.Kernels[0].Key, schedule.Schedule{Dot: schedule.Dot{M: 100, N: 64}}, "")
	none.Set(strings.Repeat("0", 32), schedule.Schedule{}, "")
	text, err := os.ReadFile("../../examples/mlp/mlp.ptl")
	if err != nil {
		t.Fatal(err)
	}
	try := func(s *schedule.Table) ([]string, error) {
		_, report, err := compiler.Compile(compiler.Options{File: "mlp.ptl", Source: text, Schedules: s})
		return report.Warnings, err
	}
	if _, err := try(other); err == nil || !strings.Contains(err.Error(), "schedules for the target `cpu:other`") {
		t.Errorf("found %v", err)
	}
	if _, err := try(wrong); err == nil || !strings.Contains(err.Error(), "100x64") {
		t.Errorf("found %v", err)
	}
	if warnings, err := try(none); err != nil || len(warnings) == 0 || !strings.Contains(warnings[len(warnings)-1], "none of the schedules") {
		t.Errorf("found %q, %v", warnings, err)
	}
}

func encode(t *testing.T, p *program.Plan) []byte {
	t.Helper()
	data, err := program.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
