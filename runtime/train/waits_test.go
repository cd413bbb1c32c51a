package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"ptc/internal/collective"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
)

// newTalking is the toy on two devices, which at the end of a step agree on the learning
// rate that both have.
func newTalking() *program.Plan {
	p := newToyOn(2)
	d := &p.Devices[0]
	for _, x := range d.Ports {
		if x.Path == "lr" {
			d.Progs[0].Instrs = append(d.Progs[0].Instrs, program.Instr{Bufs: []int{x.Buffer, x.Buffer},
				Comm: &program.Comm{Kind: collective.AllReduce, Over: []string{"tp"}, Reduce: "max", DType: "f32", Outer: 1, Inner: 1}})
		}
	}
	return p
}

// TestWaits: the device that is late waits least, and rank 0 tells the waits of all, of one
// process with all devices and of processes.
func TestWaits(t *testing.T) {
	const late, steps = 20 * time.Millisecond, 3
	f := func(symbol string, rank int, _ [][]float32) {
		if symbol == "residual" && rank == 1 {
			time.Sleep(late)
		}
	}
	afterKernel.Store(&f)
	defer afterKernel.Store(nil)

	var one bytes.Buffer
	if _, err := Run(context.Background(), newTalking(), Options{Steps: steps, Threads: 2, Log: metrics.NewJSON(&one)}); err != nil {
		t.Fatal(err)
	}
	errs, logs := jobT(t, context.Background(), func(int) *program.Plan { return newTalking() }, func(int) Options { return Options{Steps: steps} })
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for name, log := range map[string]string{"one process": one.String(), "processes": logs[0]} {
		told, sum := 0, [2]float64{}
		for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
			var e struct {
				Event  string
				Ms     float64
				WaitMs []float64 `json:"wait_ms"`
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			if e.Event != "step" {
				continue
			}
			told++
			if len(e.WaitMs) != 2 || e.WaitMs[0] < 0 || e.WaitMs[1] < 0 || e.WaitMs[0] > e.Ms {
				t.Fatalf("%s: %s", name, line)
			}
			sum[0], sum[1] = sum[0]+e.WaitMs[0], sum[1]+e.WaitMs[1]
		}
		if told != steps || sum[0] < ms(late) || sum[0] <= sum[1] {
			t.Errorf("%s: in %d steps the first device waited %g ms, and the second, which was late, %g", name, told, sum[0], sum[1])
		}
	}

	var alone bytes.Buffer
	if _, err := Run(context.Background(), newToy(), Options{Steps: 1, Log: metrics.NewJSON(&alone)}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(alone.String(), "wait_ms") {
		t.Errorf("one device waits for others: %s", alone.String())
	}
}
