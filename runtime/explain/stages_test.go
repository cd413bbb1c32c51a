package explain

import (
	"testing"

	"ptc/runtime/program"
)

// TestStagesRoughly: of a step that is not followed, each part is what it ever holds and no part before it has held, so
// that parts add up, and validation is what the step does not touch.
func TestStagesRoughly(t *testing.T) {
	d := program.Device{Arena: 1024, Buffers: []program.Buffer{
		{Space: program.Params, Bytes: 128},
		{Space: program.Activations, Offset: 64, Bytes: 128}, // half of it where parameters lie
		{Space: program.Grads, Offset: 128, Bytes: 256},
		{Space: program.Activations, Offset: 320, Bytes: 128},
		{Space: program.Activations, Offset: 512, Bytes: 256}, // of validation alone
		{Space: program.Activations, Offset: 0, Bytes: 1024, Memory: program.Host},
	}, Tensors: []program.Tensor{{Path: "w", Buffer: 0}}, Progs: []program.Program{
		{Name: "step", Instrs: []program.Instr{{Bufs: []int{0, 1}}, {Bufs: []int{2, 3}}, {Bufs: []int{5}}}},
		{Name: "eval", Instrs: []program.Instr{{Bufs: []int{0, 4}}, {Bufs: []int{3}}}},
	}}
	s := Stage{Arena: d.Arena, Validation: touched(&d, nil) - touched(&d, &d.Progs[0])}
	s.ever(&d, &d.Progs[0])
	if s.Params != 128 || s.Grads != 256 || s.Activations != 64 || s.Validation != 256 || s.held() != 448 {
		t.Errorf("%+v", s)
	}
}

// TestBlockOf: an instance of a block is a scope up to its first number.
func TestBlockOf(t *testing.T) {
	for scope, want := range map[string]string{"blocks.3.attn": "blocks.3", "blocks.3": "blocks.3", "a.b.12.c.4": "a.b.12", "loss": "", "": "", "x1.y": ""} {
		if got := blockOf(scope); got != want {
			t.Errorf("%q is in %q; expected %q", scope, got, want)
		}
	}
}
