package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ptc/compiler"
	"ptc/foresight/forecast"
	"ptc/foresight/machine"
	"ptc/runtime/program"
)

// subject is a plan that is predicted and run.
type subject struct {
	name, model string
	layouts     bool // one of the ten layouts of one model
	calibrates  bool // its kernels are measured, to predict other models
	plan        *program.Plan
	folder      string // of its source

	measured, predicted float64 // seconds of a step
}

// examples are the models with the layouts that their files have; the first runs on one device.
var examples = []struct {
	model   string
	layouts []string
}{
	{"mlp", []string{"single", "tensor"}},
	{"gpt", []string{"single", "data", "three_d"}},
	{"llama", []string{"single", "two_d"}},
	{"lora", []string{"single", "two_d"}},
	{"moe", []string{"single", "ep"}},
}

// ordered are layouts of one model, to see whether they are predicted in their order.
var ordered = []struct{ name, rules string }{
	{"one device", ""},
	{"recompute", "recompute Block"},
	{"bf16", "precision { compute = bf16 }"},
	{"dp 2", "mesh dp = 2\nshard batch over dp"},
	{"dp 8, zero 1", "mesh dp = 8\nshard batch over dp\nzero 1 over dp"},
	{"dp 4, zero 3", "mesh dp = 4\nshard batch over dp\nzero 3 over dp"},
	{"tp 4", "mesh tp = 4\nshard heads, ffn, vocab over tp"},
	{"pp 4", "mesh pp = 4\npipeline blocks over pp { schedule = 1f1b  microbatches = 8 }"},
	{"pp 2, recompute", "mesh pp = 2\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }\nrecompute Block"},
	{"dp 2, pp 2, tp 2", "mesh dp = 2, pp = 2, tp = 2\nshard batch over dp\nshard heads, ffn, vocab over tp\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }\nzero 1 over dp"},
}

// subjects compiles all plans for this host's processors.
func subjects() ([]*subject, error) {
	var out []*subject
	for _, x := range examples {
		for i, layout := range x.layouts {
			s := &subject{name: x.model + ", " + layout, model: x.model, calibrates: i == 0}
			if err := s.compile(x.model, layout, ""); err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	for _, x := range ordered {
		s := &subject{name: x.name, model: "ten layouts", layouts: true}
		if err := s.compile("gpt", "ordered", "\nlayout ordered {\n"+x.rules+"\n}\n", "batch=8", "seq=64"); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// compile compiles an example under a layout, with text after its own, and other sizes.
func (s *subject) compile(model, layout, more string, set ...string) error {
	s.folder = filepath.Join("examples", model)
	file := filepath.Join(s.folder, model+".ptl")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	read := func(path string) ([]byte, error) { return os.ReadFile(filepath.Join(s.folder, path)) }
	s.plan, _, err = compiler.Compile(compiler.Options{File: file, Source: append(text, more...), Layout: layout, Target: "cpu", Set: set, Read: read})
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if !strings.HasPrefix(s.plan.Target, "cpu:") {
		return fmt.Errorf("%s is compiled for %s: native code takes libLLVM (ptc doctor)", s.name, s.plan.Target)
	}
	return nil
}

// predict simulates the plan on a machine.
func (s *subject) predict(m *machine.Machine) error {
	c, err := m.Sized(s.plan.Mesh.Ranks())
	if err != nil {
		return err
	}
	f, _, err := forecast.Of(s.plan, c, forecast.Options{})
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.predicted = f.StepS
	return nil
}
