package compiler

import (
	"context"
	"testing"

	"ptc/runtime/program"
	"ptc/runtime/train"
)

// TestPaddedRowsRun: a whole plan with rows that are padded, in the memory that is planned for them, computes to the
// last bit what it does without: the reference runs both.
func TestPaddedRowsRun(t *testing.T) {
	set := append([]string{"steps=2", "vocab=261"}, small["gpt"]...)
	var losses [2]float64
	var bytes [2]int64
	for i, forms := range []string{"", "cuda:sm_80"} {
		p := compileAs(t, "gpt", "ref", forms, set)
		padded := 0
		for _, b := range p.Devices[0].Buffers {
			if b.Pad > 0 {
				padded++
			}
		}
		if (padded > 0) != (i == 1) {
			t.Fatalf("forms %q: %d buffers of padded rows", forms, padded)
		}
		got, err := train.Run(context.Background(), p, train.Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		losses[i], bytes[i] = got.Loss, arena(p)
	}
	if losses[0] != losses[1] {
		t.Errorf("losses %v", losses)
	}
	if bytes[1] <= bytes[0] || bytes[1] > bytes[0]+bytes[0]/8 {
		t.Errorf("%d bytes with padding, %d without", bytes[1], bytes[0])
	}
}

func arena(p *program.Plan) int64 { return p.Devices[0].Arena }
